"""A soak as people and programs read it."""

import json
from collections.abc import Iterable
from dataclasses import asdict

from streamward.drills.figures import Row, Spread, columns, facts, objectives
from streamward.drills.soak.account import Account, Weathered
from streamward.drills.soak.ledger import Gaps, Sample, Trouble


def as_json(account: Account) -> str:
    """One document."""
    return json.dumps(asdict(account), ensure_ascii=False)


def table(account: Account) -> str:
    """Several tables, the objectives last."""
    return "\n\n".join([_head(account), _times(account), _faults(account.faults), objectives(account.objectives)])


def line(trouble: Trouble, *, elapsed: float, events: int) -> str:
    """One fault that is over, in one line."""
    whose = trouble.cameras[0] if len(trouble.cameras) == 1 else f"{len(trouble.cameras)} cameras"
    after = max(trouble.noticed_at.values(), default=None)
    told = "nothing told" if after is None else f"told after {after - trouble.set_at:.2f} s"
    codes = f" ({', '.join(sorted(trouble.codes))})" if trouble.codes else ""
    return f"{elapsed:6.0f} s  {events:>8,} events  {trouble.name} at {whose}: {told}{codes}"


def _head(account: Account) -> str:
    events = sorted(account.events.values())
    each = f"{events[0]:,} to {events[-1]:,} a camera" if events else "none"
    sizes = " → ".join(_size(sample) for sample in account.resources.values())
    return facts([
        ("ran for", f"{account.seconds:.0f} s, {account.cameras} cameras, {account.bus}"),
        ("load of the machine", " → ".join(f"{load:.1f}" for load in account.load)),
        ("events", f"{sum(events):,}, {each}; {account.redelivered} brought again by the bus"),
        ("gaps, all well", _gaps(account.calm)),
        ("gaps beside a fault", _gaps(account.beside)),
        ("disturbed", ", ".join(account.disturbances[:10]) or "nobody"),
        ("the Worker's process", sizes or "–"),
    ])


def _times(account: Account) -> str:
    rows: list[Row] = [("seconds", "p50", "p95", "p99", "longest", "count")]
    rows += [(name, *_spread(each)) for name, each in account.spreads.items()]
    unmatched = f"\n(of {account.unmatched} pictures it is not known when they were sent)" if account.unmatched else ""
    return columns(rows) + unmatched


def _faults(faults: Iterable[Weathered]) -> str:
    rows: list[Row] = [("fault", "camera", "told after", "streaming after", "told as")]
    rows += [
        (
            each.name,
            each.cameras[0] if len(each.cameras) == 1 else "all",
            _after(each.noticed_after),
            _after(each.streaming_after),
            ", ".join(each.codes) or "–",
        )
        for each in faults
    ]
    return columns(rows)


def _spread(each: Spread) -> tuple[str, ...]:
    return (*(f"{value:.4f}" for value in (each.p50, each.p95, each.p99, each.longest)), f"{each.count:,}")


def _gaps(gaps: Gaps) -> str:
    return f"{gaps.over} of {gaps.count:,} too long, longest {gaps.longest:.2f} s"


def _size(sample: Sample) -> str:
    return f"{sample.rss / (1 << 20):.0f} MiB, {sample.files} descriptors, {sample.threads} threads"


def _after(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds:.2f} s"
