"""What a drill in bad weather comes to."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from streamward.drills.steady import report
from streamward.drills.steady.account import Account, Heard, Trouble, judge
from streamward.model.status import StreamState
from streamward.protocol.streams import StreamReport
from tests.support.builders import an_event

WELL = Account(
    cameras=4,
    runners=2,
    ttl=8.0,
    renew_every=2.0,
    database="SQLite",
    bus="the embedded bus",
    seconds=600.0,
    load=(1.0, 2.0),
    trouble=Trouble(),
    stalls=60,
    lost=5_000,
    changes={},
    runners_anew=0,
    detections=12_000,
    states={"STREAMING": 480},
)


@pytest.mark.parametrize(
    ("account", "names"),
    [
        (WELL, []),
        (replace(WELL, changes={"cam-1": 2}), ["cameras that changed hands"]),
        (replace(WELL, runners_anew=1), ["runners that began anew"]),
        (replace(WELL, stalls=0), ["stalls of the control plane"]),
        (replace(WELL, lost=0), ["packets lost"]),
    ],
)
def test_what_was_missed_is_named(account: Account, names: list[str]):
    assert [each.name for each in judge(account) if not each.is_met] == names


def test_it_is_shown_to_people_and_programs():
    shown = report.table(replace(WELL, changes={"cam-1": 2}, objectives=judge(WELL)))
    assert "10% lost each way, 300 ms later there and back" in shown
    assert "cam-1 2×" in shown
    assert json.loads(report.as_json(WELL))["trouble"]["stall_for"] == 2.0


def test_only_what_is_heard_in_bad_weather_is_counted():
    heard = Heard()
    for is_counted in (False, True):
        heard.is_counted = is_counted
        heard.heard_detection(an_event())
        at = datetime(2026, 11, 16, tzinfo=UTC)
        heard.heard_status(StreamReport(camera_uuid="a", runner_id="r", state=StreamState.STREAMING, ts=at), 1.0)
    assert heard.detections == 1
    assert heard.states == {StreamState.STREAMING: 1}
