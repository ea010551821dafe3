"""What a drill of replaced Workers comes to."""

import json
from dataclasses import replace

import pytest

from streamward.drills.bluegreen import report
from streamward.drills.bluegreen.account import Account, Change, Replacement, judge
from streamward.drills.bluegreen.handovers import Handover

PASSED = Handover(camera="cam-1", pictures=6, doubled=0)
DONE = Replacement(number=1, runner="runner-a", took=1.4, change=Change.REPLACE, dials=1, handovers=[PASSED])
KILLED = replace(DONE, change=Change.KILL, dials=3, handovers=[replace(PASSED, pictures=40)])
DRAINED = replace(DONE, change=Change.DRAIN, handovers=[replace(PASSED, pictures=15)])


def an_account(*replacements: Replacement) -> Account:
    return Account(
        cameras=4,
        runners=2,
        database="SQLite",
        bus="the embedded bus",
        seconds=10.0,
        load=(1.0, 1.0),
        interval=5,
        unread=0,
        replacements=list(replacements),
    )


@pytest.mark.parametrize(
    ("account", "names"),
    [
        (an_account(DONE, KILLED, DRAINED), []),
        (
            an_account(replace(DRAINED, handovers=[replace(PASSED, pictures=16)])),
            ["pictures between two runners, at most"],
        ),
        (an_account(KILLED), []),
        (an_account(), ["replacements that were done"]),
        (an_account(replace(DONE, took=None)), ["replacements that were done"]),
        (an_account(replace(DONE, dials=2)), ["connections for each handover"]),
        (
            an_account(replace(DONE, handovers=[replace(PASSED, pictures=11)])),
            ["pictures between two Workers, at most"],
        ),
        (an_account(replace(DONE, handovers=[replace(PASSED, doubled=1)])), ["pictures that both looked at"]),
    ],
)
def test_what_was_missed_is_named(account: Account, names: list[str]) -> None:
    assert [each.name for each in judge(account) if not each.is_met] == names


def test_it_is_shown_to_people_and_programs() -> None:
    account = an_account(DONE, replace(KILLED, handovers=[]))
    shown = report.table(replace(account, objectives=judge(account)))
    assert "runner-a  1.40 s  1        6" in shown
    assert (
        report.line(DONE) == "  1  runner-a: 1.40 s, 1 cameras passed on, 6 pictures between at most, Workers replaced"
    )
    assert report.line(KILLED).endswith("Workers replaced, the old one killed")
    assert json.loads(report.as_json(account))["replacements"][0]["handovers"][0]["pictures"] == 6
