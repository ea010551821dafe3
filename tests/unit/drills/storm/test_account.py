"""Dials as a recorder counts them, against a budget."""

from dataclasses import replace

import pytest

from streamward.drills.storm.account import Account, Cause, Dial, Heard, ahead, dials_in, firsts, judge, most_at_once
from streamward.leases.redialing import Pace
from streamward.model.status import StreamState
from streamward.nvr.tally import Count, Deed
from streamward.protocol.streams import StreamReport
from tests.support.builders import START

PACE = Pace(per_minute=120, burst=2)


def count(camera: str | None, deed: Deed, *times: float) -> Count:
    return Count(camera, "127.0.0.1", deed, len(times), times)


def an_account(**changes: object) -> Account:
    account = Account(
        cause=Cause.ADDED,
        cameras=2,
        runners=3,
        capacity=10,
        per_minute=120.0,
        answers_after=0.3,
        down_for=0.0,
        seconds=60.0,
        load=(1.0, 2.0),
        shares={"runner-a": 2},
        dials=2,
        most_at_once=2,
        ahead=-1.0,
        took={"cam-1": 1.0, "cam-2": 3.0},
        foreseen=2.0,
    )
    return replace(account, **changes)  # type: ignore[arg-type]


def missed(account: Account) -> list[str]:
    return [each.name for each in judge(account) if not each.is_met]


def test_a_dial_lasts_until_its_session_and_only_those_since_the_beginning_count():
    counts = [
        count(None, Deed.CONNECTED, 101.0),
        count("cam-1", Deed.DIALED, 99.0, 101.0, 103.0),
        count("cam-1", Deed.SESSION_OPENED, 99.5, 103.5),
        count("cam-2", Deed.DIALED, 102.0),
        count("cam-2", Deed.SESSION_REFUSED, 102.25),
        count("cam-3", Deed.DIALED, 104.0),
    ]
    assert dials_in(counts, since=100.0) == [
        Dial("cam-1", 1.0, 3.5),
        Dial("cam-2", 2.0, 2.25),
        Dial("cam-1", 3.0, 3.5),
        Dial("cam-3", 4.0, None),
    ]


def test_of_each_camera_one_dial_is_the_first():
    one, two, again = Dial("cam-1", 1.0, None), Dial("cam-2", 2.0, 2.25), Dial("cam-1", 3.0, 3.5)
    assert firsts([one, two, again]) == [one, two]


def test_those_under_way_are_counted_at_the_worst_moment():
    assert most_at_once([]) == 0
    assert most_at_once([Dial("a", 1.0, 3.0), Dial("b", 2.0, 4.0), Dial("c", 3.0, 5.0), Dial("d", 9.0, None)]) == 2


@pytest.mark.parametrize(
    ("instants", "beyond"),
    [([], 0.0), ([0.0, 0.0], 0.0), ([0.0, 0.0, 0.5, 1.0], 0.0), ([0.0, 0.0, 0.0, 9.0], 1.0), ([4.0], -9.0)],
)
def test_dials_are_held_against_burst_and_rate_since_the_beginning(instants: list[float], beyond: float):
    assert ahead([Dial("a", at, None) for at in instants], PACE) == beyond


def test_a_camera_streams_from_when_it_was_last_told_to():
    heard = Heard()
    for state, now in ((StreamState.STREAMING, 1.0), (StreamState.STREAMING, 2.0)):
        heard.heard_status(StreamReport(camera_uuid="cam-1", runner_id="r1", state=state, ts=START), now)
    assert heard.streaming == {"cam-1": 1.0}
    gone = StreamReport(camera_uuid="cam-1", runner_id="r1", state=StreamState.DISCONNECTED, ts=START)
    heard.heard_status(gone, 3.0)
    assert heard.streaming == {}


def test_all_is_well_if_the_budget_was_kept_and_used():
    assert missed(an_account()) == []
    assert missed(an_account(cause=Cause.REBOOT, foreseen=None)) == []


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"most_at_once": 11}, "dials under way at once"),
        ({"ahead": 0.5}, "dials ahead of the budget"),
        ({"took": {"cam-1": 1.0, "cam-2": None}}, "cameras that stream"),
        ({"foreseen": 8.5}, "all stream as the budget allows"),
        ({"took": {"cam-1": 1.0, "cam-2": 7.5}}, "all stream as the budget allows"),
        ({"foreseen": None}, "all stream"),
        ({"cause": Cause.REBOOT, "took": {"cam-1": 1.0, "cam-2": 61.0}}, "all back after the recorder is"),
    ],
)
def test_whatever_was_missed_is_told(changes: dict[str, object], name: str):
    assert missed(an_account(**changes)) == [name]
