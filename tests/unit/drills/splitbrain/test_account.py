"""What a split-brain drill comes to."""

import json
from dataclasses import replace

import pytest

from streamward.drills.splitbrain import report
from streamward.drills.splitbrain.account import Account, Round, Split, judge
from streamward.drills.takeover.account import Fenced

CLEAN = Fenced(live=100, late=3, refused=7, repeated=0, stale=0, shared=0)
CUT = Round(number=1, split=Split.RENEWALS, victim="runner-a", cameras=2, moved=2, late=0, refused=7)
ASLEEP = Round(number=2, split=Split.SLEEP, victim="runner-b", cameras=2, moved=2, late=3, refused=0)


def an_account(*rounds: Round, fenced: Fenced = CLEAN, on_control_loss: str = "continue-fenced") -> Account:
    return Account(
        cameras=2,
        runners=2,
        ttl=8.0,
        renew_every=2.0,
        on_control_loss=on_control_loss,
        seed=7,
        database="SQLite",
        bus="the embedded bus",
        seconds=10.0,
        load=(1.0, 1.0),
        rounds=list(rounds),
        fenced=fenced,
    )


@pytest.mark.parametrize(
    ("account", "names"),
    [
        (an_account(CUT, ASLEEP), []),
        (an_account(CUT), []),
        (an_account(), ["cameras that another took"]),
        (an_account(replace(CUT, moved=1)), ["cameras that another took"]),
        (an_account(CUT, fenced=replace(CLEAN, stale=1)), ["stale detections taken for live"]),
        (an_account(CUT, fenced=replace(CLEAN, shared=1)), ["generations that share a moment"]),
        (an_account(CUT, replace(ASLEEP, late=0)), ["attempts of old owners, sleep"]),
        (an_account(replace(CUT, refused=0)), ["attempts of old owners, renewals"]),
        (an_account(replace(CUT, refused=0), on_control_loss="stop"), []),
    ],
)
def test_what_was_missed_is_named(account: Account, names: list[str]):
    assert [each.name for each in judge(account) if not each.is_met] == names


def test_it_is_shown_to_people_and_programs():
    account = an_account(CUT, ASLEEP)
    shown = report.table(replace(account, objectives=judge(account)))
    assert "100 live, 3 late, 7 refused" in shown
    assert report.line(CUT) == "  1  renewals of runner-a: 2 of 2 cameras moved, 0 late, 7 refused"
    assert json.loads(report.as_json(account))["rounds"][1]["late"] == 3
