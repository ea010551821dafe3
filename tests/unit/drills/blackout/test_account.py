"""What a blackout comes to."""

import json
from dataclasses import replace

import pytest

from streamward.drills.blackout import report
from streamward.drills.blackout.account import Account, Back, Camera, Later, Losses, judge
from streamward.drills.takeover.account import Fenced

SOON = Back(leased=0.1, streaming=0.4, detected=0.3)
STOPPED = Camera(camera="cam-1", made=30, last=6.1, gap=116.0, is_moved=False, back=SOON)
ON = Camera(camera="cam-1", made=600, last=119.9, gap=0.3, is_moved=False, back=SOON)

WELL = Account(
    cameras=1,
    runners=2,
    ttl=8.0,
    renew_every=2.0,
    on_control_loss="stop",
    database="SQLite",
    bus="the embedded bus",
    away_for=120.0,
    served_after=2.0,
    seconds=150.0,
    load=(1.0, 2.0),
    each=[STOPPED],
    sessions_until=6.3,
    losses=Losses(workers_ended=0, detections_lost=0, detections_doubled=0),
    later=Later(live=29, late=1, refused=0),
    fenced=Fenced(live=100, late=1, refused=0, repeated=0, stale=0, shared=0),
)
FENCED = replace(WELL, on_control_loss="continue-fenced", each=[ON], sessions_until=119.9)


@pytest.mark.parametrize(
    ("account", "names"),
    [
        (WELL, []),
        (FENCED, []),
        (replace(WELL, each=[replace(STOPPED, last=None)]), []),
        (replace(WELL, each=[replace(STOPPED, last=6.8)]), ["last detection dated after the kill"]),
        (replace(WELL, sessions_until=8.1), ["last camera session after the kill"]),
        (replace(FENCED, each=[replace(ON, gap=8.0)]), ["cameras that went on"]),
        (replace(WELL, each=[replace(STOPPED, back=replace(SOON, leased=None))]), ["cameras that are back"]),
        (replace(WELL, each=[replace(STOPPED, back=replace(SOON, detected=5.1))]), ["steady after the return"]),
        (replace(WELL, losses=replace(WELL.losses, workers_ended=1)), ["Workers that ended"]),
        (replace(WELL, losses=replace(WELL.losses, detections_lost=1)), ["detections lost"]),
        (replace(WELL, losses=replace(WELL.losses, detections_doubled=1)), ["detections doubled"]),
        (replace(FENCED, later=Later(live=9, late=0, refused=1)), ["made meanwhile and accepted"]),
        (replace(FENCED, later=Later(live=0, late=0, refused=0)), ["made meanwhile and accepted"]),
        (replace(WELL, fenced=replace(WELL.fenced, stale=1)), ["stale detections taken for live"]),
    ],
)
def test_what_was_missed_is_named(account: Account, names: list[str]):
    assert [each.name for each in judge(account) if not each.is_met] == names


def test_what_was_made_of_a_camera_that_another_took_may_be_refused():
    taken = replace(FENCED, each=[replace(ON, is_moved=True)], later=Later(live=0, late=3, refused=1))
    assert all(each.is_met for each in judge(taken))


def test_a_camera_is_back_when_all_of_it_is():
    assert SOON.after == 0.4
    assert replace(SOON, streaming=None).after is None


def test_it_is_shown_to_people_and_programs():
    shown = report.table(replace(WELL, objectives=judge(WELL)))
    assert "control plane and database, for 120 s; served 2.00 s later" in shown
    assert "29 live, 1 late, 0 refused, judged later" in shown
    assert "control plane, the database stayed" in report.table(replace(WELL, database="PostgreSQL"))
    assert json.loads(report.as_json(WELL))["each"][0]["back"]["leased"] == 0.1
