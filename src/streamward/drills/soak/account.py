"""What a soak comes to: figures, and what each is held against."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from streamward.drills.figures import Objective, Spread, seconds, spread, within
from streamward.drills.soak.ledger import Gaps, Ledger, Sample, Trouble
from streamward.drills.soak.plant import GRACE

READY_WITHIN = 15.0  # seconds (S0-086)
STATUS_WITHIN = 1.0  # S0-084
SUMMARY_EVERY = 5.0  # S0-048
SUMMARY_SLACK = 1.0
DELIVERED_WITHIN = 0.2  # S0-085
BACK_WITHIN = 3.0
FRESH_FOR = 3.0  # S0-103
GAPS_BESIDE = 0.001  # share of gaps that may come on top of twice those of calm times
_AROUND = 10  # samples that stand for one moment
_MORE_RSS = 0.05  # share by which memory may grow from the middle to the end, or:
_MORE_BYTES = 8 << 20
_MORE_FILES = 3
_MORE_THREADS = 2


@dataclass(frozen=True, slots=True)
class Weathered:
    """One fault, and how long it took to be told and to be over; seconds, None: it was not, or did not have to be."""

    name: str
    cameras: tuple[str, ...]
    codes: tuple[str, ...]
    noticed_after: float | None
    noticed_within: float | None  # what it is held against
    streaming_after: float | None  # since it was cleared, if it did not stream then
    is_of_all: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """What is known of a Worker's start and end, beside what it told."""

    ready_after: float | None  # seconds; None: it never was
    streaming: int  # cameras, after the last fault
    exit_code: int
    drained_in: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A soak in figures."""

    seconds: float
    cameras: int
    bus: str
    load: tuple[float, float]  # of the machine, over a minute, at the start and at the end
    events: dict[str, int]
    repeated: int
    redelivered: int
    doubled: int
    missing: int
    lost: int
    unmatched: int
    spreads: dict[str, Spread]
    calm: Gaps
    beside: Gaps
    disturbances: list[str]
    faults: list[Weathered]
    resources: dict[str, Sample]  # at the start, in the middle and at the end
    ends: Ends
    objectives: list[Objective] = field(default_factory=list)


def spreads(ledger: Ledger) -> dict[str, Spread]:
    """Every time that was measured, by its name."""
    return {
        "inference": spread(ledger.inference),
        "prediction to consumer": spread(ledger.delivery),
        "arrival to consumer": spread(ledger.path),
        "sent to consumer": spread(ledger.whole),
        "status to consumer": spread(ledger.status_delay),
        "between two statuses": spread(ledger.status_every),
        "age of the last frame": spread(ledger.frame_age),
    }


def weathered(trouble: Trouble) -> Weathered:
    """How a fault went; of several cameras the slowest counts."""
    noticed = [trouble.noticed_at.get(each) for each in trouble.cameras]
    told = [each for each in noticed if each is not None]
    cleared, trial = trouble.cleared_at, trouble.trial
    back = max(trouble.streaming_at.values(), default=None)
    return Weathered(
        name=trouble.name,
        cameras=trouble.cameras,
        codes=tuple(sorted(trouble.codes)),
        noticed_after=round(max(told) - trouble.set_at, 2) if told and len(told) == len(noticed) else None,
        noticed_within=trial.noticed_within if trial else None,
        streaming_after=None if back is None or cleared is None else round(back - cleared, 2),
        is_of_all=trial is not None and trial.is_of_all,
    )


def resources(samples: Sequence[Sample]) -> dict[str, Sample]:
    """At three moments, each the median of a few samples around it."""
    if not samples:
        return {}
    around = min(_AROUND, len(samples))
    middle = max(0, len(samples) // 2 - around // 2)
    places = {"start": samples[:around], "middle": samples[middle : middle + around], "end": samples[-around:]}
    return {name: _typical(some) for name, some in places.items()}


def judge(account: Account) -> list[Objective]:
    """Everything that is wanted of a Worker, and whether it was so."""
    return [*_of_ends(account), *_of_events(account), *_of_times(account), *_of_faults(account), *_of_growth(account)]


def _of_ends(account: Account) -> list[Objective]:
    ends = account.ends
    ready = ends.ready_after
    return [
        Objective("ready", seconds(ready), f"≤ {READY_WITHIN:g} s", ready is not None and ready <= READY_WITHIN),
        Objective(
            "streaming in the end",
            f"{ends.streaming} of {account.cameras}",
            "all",
            ends.streaming == account.cameras,
        ),
        Objective(
            "drained",
            f"code {ends.exit_code} after {ends.drained_in:.2f} s",
            f"code 0, ≤ {GRACE:g} s",
            ends.exit_code == 0 and ends.drained_in <= GRACE,
        ),
    ]


def _of_events(account: Account) -> list[Objective]:
    counted = {
        "events that came twice": account.repeated + account.doubled,
        "events that never came": account.missing + account.lost,
        "cameras without events": account.cameras - len(account.events),
        "well cameras disturbed": len(account.disturbances),
    }
    return [Objective(name, str(count), "0", count == 0) for name, count in counted.items()]


def _of_times(account: Account) -> list[Objective]:
    delivered, status = account.spreads["prediction to consumer"], account.spreads["status to consumer"]
    every, age = account.spreads["between two statuses"], account.spreads["age of the last frame"]
    calm, beside = _share(account.calm), _share(account.beside)
    most = 2 * calm + GAPS_BESIDE
    return [
        Objective("detection at the consumer, p99", *within(delivered.p99, DELIVERED_WITHIN)),
        Objective("status at the consumer, p99", *within(status.p99, STATUS_WITHIN)),
        Objective("between two statuses, p99", *within(every.p99, SUMMARY_EVERY + SUMMARY_SLACK)),
        Objective("age of the last frame, oldest", *within(age.longest, FRESH_FOR)),
        Objective("long gaps beside a fault", f"{beside:.3%}", f"≤ {most:.3%} (calm: {calm:.3%})", beside <= most),
    ]


def _of_faults(account: Account) -> list[Objective]:
    judged = []
    for goal_s in sorted({each.noticed_within for each in account.faults if each.noticed_within is not None}):
        after = [each.noticed_after for each in account.faults if each.noticed_within == goal_s]
        told = [each for each in after if each is not None]
        name = f"faults noticed ({len(told)} of {len(after)}), slowest"
        measured, goal, is_met = within(max(told, default=0.0), goal_s)
        judged.append(Objective(name, measured, goal, is_met and len(told) == len(after)))
    back = [each.streaming_after for each in account.faults if each.is_of_all]
    if back:
        slowest = max((each for each in back if each is not None), default=0.0)
        measured, goal, is_met = within(slowest, BACK_WITHIN)
        judged.append(Objective("recorder back, last camera streams", measured, goal, is_met and None not in back))
    return judged


def _of_growth(account: Account) -> list[Objective]:
    if not account.resources:
        return []
    middle, end = account.resources["middle"], account.resources["end"]
    most = max(int(middle.rss * _MORE_RSS), _MORE_BYTES)
    more = end.rss - middle.rss
    return [
        Objective("memory, middle to end", _mebibytes(more), f"≤ {_mebibytes(most)}", more <= most),
        *(
            Objective(f"{name}, middle to end", f"{grown:+d}", f"≤ +{most}", grown <= most)
            for name, grown, most in (
                ("descriptors", end.files - middle.files, _MORE_FILES),
                ("threads", end.threads - middle.threads, _MORE_THREADS),
            )
        ),
    ]


def _typical(samples: Sequence[Sample]) -> Sample:
    return Sample(
        at=samples[len(samples) // 2].at,
        rss=int(median(each.rss for each in samples)),
        files=int(median(each.files for each in samples)),
        threads=int(median(each.threads for each in samples)),
    )


def _share(gaps: Gaps) -> float:
    return gaps.over / gaps.count if gaps.count else 0.0


def _mebibytes(count: int) -> str:
    return f"{count / (1 << 20):+.1f} MiB"
