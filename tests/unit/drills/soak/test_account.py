"""What a soak comes to."""

from dataclasses import replace

import pytest

from streamward.drills.figures import Spread, spread
from streamward.drills.soak import report
from streamward.drills.soak.account import Account, Ends, judge, resources, weathered
from streamward.drills.soak.ledger import Gaps, Sample, Trouble
from streamward.drills.soak.plan import TRIALS

MUTE, AWAY = TRIALS[:2]
GOOD = Spread(100, 0.01, 0.05, 0.1, 0.3)


def a_trouble(noticed: float | None, *, back: float = 18.0) -> Trouble:
    trouble = Trouble("recorder away", ("cam-1", "cam-2"), 10.0, AWAY, cleared_at=17.0)
    trouble.noticed_at = {"cam-1": 10.1} | ({} if noticed is None else {"cam-2": noticed})
    trouble.streaming_at = {"cam-1": 17.5, "cam-2": back}
    return trouble


def an_account(*troubles: Trouble) -> Account:
    names = ("prediction to consumer", "status to consumer", "between two statuses", "age of the last frame")
    samples = [Sample(at=float(at), rss=100 << 20, files=20, threads=8) for at in range(60)]
    return Account(
        seconds=60.0,
        cameras=2,
        bus="the embedded bus",
        load=(1.0, 1.0),
        events={"cam-1": 100, "cam-2": 90},
        repeated=0,
        redelivered=0,
        doubled=0,
        missing=0,
        lost=0,
        unmatched=0,
        spreads=dict.fromkeys(names, GOOD),
        calm=Gaps(1000, 1, 0.5),
        beside=Gaps(1000, 2, 0.5),
        disturbances=[],
        faults=[weathered(each) for each in troubles],
        resources=resources(samples),
        ends=Ends(ready_after=5.0, streaming=2, exit_code=0, drained_in=1.0),
    )


def missed(account: Account) -> list[str]:
    return [each.name for each in judge(account) if not each.is_met]


def test_percentiles_are_of_what_came():
    assert spread([each / 100 for each in range(100)]) == Spread(100, 0.5, 0.95, 0.99, 0.99)
    assert spread([]) == Spread(0, 0.0, 0.0, 0.0, 0.0)


def test_the_slowest_camera_counts_for_a_fault_of_all():
    seen = weathered(a_trouble(10.4))
    assert (seen.noticed_after, seen.streaming_after, seen.is_of_all) == (0.4, 1.0, True)
    assert weathered(a_trouble(None)).noticed_after is None


def test_a_soak_in_which_all_was_well_misses_nothing():
    account = an_account(a_trouble(10.4))
    assert missed(account) == []
    shown = report.table(replace(account, objectives=judge(account)))
    assert "MISSED" not in shown
    assert "recorder away" in shown
    assert '"cam-2": 90' in report.as_json(account)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"repeated": 1}, "events that came twice"),
        ({"missing": 1}, "events that never came"),
        ({"events": {"cam-1": 1}}, "cameras without events"),
        ({"disturbances": ["cam-1: FRAME_STALL"]}, "well cameras disturbed"),
        ({"beside": Gaps(1000, 4, 0.5)}, "long gaps beside a fault"),
        ({"ends": Ends(ready_after=None, streaming=2, exit_code=0, drained_in=1.0)}, "ready"),
        ({"ends": Ends(ready_after=1.0, streaming=1, exit_code=0, drained_in=1.0)}, "streaming in the end"),
        ({"ends": Ends(ready_after=1.0, streaming=2, exit_code=1, drained_in=1.0)}, "drained"),
    ],
)
def test_each_objective_can_be_missed(change, name):
    assert missed(replace(an_account(a_trouble(10.4)), **change)) == [name]


@pytest.mark.parametrize(
    ("trouble", "name"),
    [
        (a_trouble(16.0), "faults noticed (1 of 1), slowest"),
        (a_trouble(None), "faults noticed (0 of 1), slowest"),
        (a_trouble(10.4, back=20.5), "recorder back, last camera streams"),
    ],
)
def test_a_fault_is_to_be_told_and_overcome_in_time(trouble, name):
    assert missed(an_account(trouble)) == [name]


def test_a_last_frame_that_grows_old_is_seen():
    account = an_account(a_trouble(10.4))
    old = account.spreads | {"age of the last frame": Spread(100, 0.1, 2.0, 2.5, 3.1)}
    assert missed(replace(account, spreads=old)) == ["age of the last frame, oldest"]


def test_what_grows_is_seen():
    samples = [Sample(at=float(at), rss=(100 + at) << 20, files=20 + at, threads=8 + at) for at in range(60)]
    account = replace(an_account(a_trouble(10.4)), resources=resources(samples))
    assert missed(account) == [f"{each}, middle to end" for each in ("memory", "descriptors", "threads")]


def test_a_fault_that_is_over_is_told_in_a_line():
    line = report.line(Trouble("mute", ("cam-1",), 10.0, MUTE, noticed_at={"cam-1": 14.0}), elapsed=60.0, events=1000)
    assert line == "    60 s     1,000 events  mute at cam-1: told after 4.00 s"
