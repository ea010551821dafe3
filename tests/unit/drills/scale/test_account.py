"""What a scale drill comes to."""

import json
from dataclasses import replace

import pytest

from streamward.drills.scale import report
from streamward.drills.scale.account import Account, Moved, Scrape, Start, Window, judge
from streamward.drills.scale.layout import Layout
from streamward.drills.scale.pages import Calls

RENEW = Calls("/v1/leases/cameras/renew", 125, 0.004, 0.02)
MANY = Window(
    cameras=1000,
    runners=25,
    seconds=600.0,
    load=2.0,
    control_cpu=0.3,
    control_mb=100.0,
    runner_cpu=0.05,
    runner_cameras=40.0,
    runner_mb=120.0,
    statements=150.0,
    calls=[RENEW],
    expired=0,
    granted=0,
    changed=0,
    detections=250.0,
    statuses=200.0,
)
FEW = replace(MANY, cameras=100, runners=3, control_cpu=0.04, runner_cpu=0.045, runner_cameras=33.3)
WELL = Account(
    layout=Layout(),
    ttl=8.0,
    renew_every=2.0,
    database="SQLite",
    bus="the embedded bus",
    seconds=900.0,
    few=FEW,
    many=MANY,
    start=Start(owned_after=12.0, streaming_after=14.0, shares={"runner-01": 40}, grants=900, calls=[RENEW]),
    scrapes=[Scrape(0.4, 0.2, 3_000_000, 1000), Scrape(0.6, 0.2, 3_000_000, 1000)],
    moved=[Moved(camera="cam-1", streaming_after=2.0, parts={"dial token": 1.0})],
)
LOST = Moved(camera="cam-2", streaming_after=None, parts={})


@pytest.mark.parametrize(
    ("account", "names"),
    [
        (WELL, []),
        (replace(WELL, start=replace(WELL.start, owned_after=61.0)), ["until every camera is owned"]),
        (replace(WELL, start=replace(WELL.start, owned_after=None)), ["until every camera is owned"]),
        (replace(WELL, many=replace(MANY, expired=1)), ["leases that ran out"]),
        (replace(WELL, many=replace(MANY, changed=1)), ["cameras that changed owner"]),
        (replace(WELL, many=replace(MANY, granted=1)), ["cameras that changed owner"]),
        (replace(WELL, moved=[*WELL.moved, LOST]), ["cameras that stream again"]),
        (replace(WELL, moved=[]), ["cameras that stream again"]),
        (
            replace(WELL, moved=[replace(LOST, streaming_after=13.0)]),
            ["until STREAMING, P95"],
        ),
        (
            replace(WELL, moved=[replace(LOST, streaming_after=21.0)]),
            ["until STREAMING, P95", "until STREAMING, longest"],
        ),
        (replace(WELL, scrapes=[Scrape(1.1, 0.2, 1, 1000)]), ["one scrape of everything"]),
        (replace(WELL, scrapes=[Scrape(0.1, 0.1, 1, 999)]), ["cameras in a scrape"]),
        (replace(WELL, many=replace(MANY, control_cpu=0.5)), ["control plane's CPU for 10 × the cameras"]),
        (replace(WELL, many=replace(MANY, runner_cpu=0.1)), ["a runner's CPU for each camera"]),
        (replace(WELL, layout=replace(WELL.layout, kills=0), moved=[]), []),
    ],
)
def test_each_objective_is_missed_by_itself(account, names):
    assert [each.name for each in judge(account) if not each.is_met] == names


def test_people_read_tables_and_programs_one_document():
    shown = report.table(replace(WELL, objectives=judge(WELL)))
    assert "1,000 over 50 sites of 10 tenants" in shown
    assert "/v1/leases/cameras/renew  125" in shown
    assert "MISSED" not in shown
    told = json.loads(report.as_json(WELL))
    assert told["takeover"]["p95"] == 2.0
    assert told["parts"]["dial token"]["longest"] == 1.0
    assert told["many"]["calls"][0]["route"] == RENEW.route


def test_a_fleet_of_which_nobody_was_killed_and_nothing_known_is_shown_too():
    empty = replace(WELL, moved=[], scrapes=[], few=replace(FEW, runner_cameras=0.0, control_cpu=0.0), start=NOTHING)
    assert "never after the last runner registered" in report.table(empty)
    judge(empty)


NOTHING = Start(owned_after=None, streaming_after=None, shares={}, grants=0, calls=[])
