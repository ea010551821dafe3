"""What a reconfiguration drill comes to."""

import json
from dataclasses import replace

import pytest

from streamward.drills.reconfig import report
from streamward.drills.reconfig.account import Account, Order, Others, Step, judge

QUIET = Others(lost=0, dials=0, begun=0, moved=0)
ADDED = Step(number=1, order=Order.ADD, camera="cam-9", done_after=0.4, after_token=0.3, dials=1, others=QUIET)
RENAMED = Step(number=2, order=Order.RENAME, camera="cam-1", done_after=0.0, after_token=None, dials=0, others=QUIET)


def an_account(*steps: Step) -> Account:
    return Account(
        cameras=4,
        runners=2,
        database="SQLite",
        bus="the embedded bus",
        seconds=10.0,
        load=(1.0, 1.0),
        unread=0,
        steps=list(steps),
    )


@pytest.mark.parametrize(
    ("account", "names"),
    [
        (an_account(ADDED, RENAMED), []),
        (an_account(), ["orders that were done"]),
        (an_account(replace(RENAMED, dials=1)), ["connections of a renamed camera"]),
        (an_account(replace(ADDED, after_token=3.1)), ["streams after its token (1 of 1), longest"]),
        (an_account(replace(ADDED, after_token=None)), ["streams after its token (0 of 1), longest"]),
        (an_account(replace(RENAMED, done_after=None)), ["orders that were done"]),
        (an_account(replace(ADDED, others=replace(QUIET, lost=1))), ["pictures lost by other cameras"]),
        (an_account(replace(ADDED, others=replace(QUIET, dials=1))), ["connections of other cameras"]),
        (an_account(replace(ADDED, others=replace(QUIET, moved=1))), ["other cameras begun anew or moved"]),
    ],
)
def test_what_was_missed_is_named(account: Account, names: list[str]):
    assert [each.name for each in judge(account) if not each.is_met] == names


def test_it_is_shown_to_people_and_programs():
    account = an_account(ADDED, RENAMED)
    shown = report.table(replace(account, objectives=judge(account)))
    assert "add     cam-9   400 ms  300 ms" in shown
    assert report.line(ADDED) == "  1  add cam-9: 400 ms; others: 0 pictures lost, 0 connections"
    assert json.loads(report.as_json(account))["spreads"]["add"]["longest"] == 0.4
