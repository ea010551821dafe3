"""What a drill of kills comes to."""

import json
from dataclasses import replace

import pytest

from streamward.drills.leftovers import report
from streamward.drills.leftovers.account import Account, Kill, Left, Part, judge

CLEAN = Kill(
    number=1,
    part=Part.WORKER,
    runner="runner-a",
    was_steady=True,
    had={Left.PROCESSES: 2, Left.PORTS: 1, Left.SESSIONS: 3},
    gone_after={Left.PROCESSES: 0.5, Left.PORTS: 0.1, Left.SESSIONS: 0.2},
)


def an_account(*kills: Kill) -> Account:
    return Account(
        cameras=4,
        runners=2,
        seed=7,
        database="SQLite",
        bus="the embedded bus",
        seconds=10.0,
        load=(1.0, 1.0),
        kills=list(kills),
    )


def gone(**after: float | None) -> Kill:
    return replace(CLEAN, gone_after=CLEAN.gone_after | {Left[name]: each for name, each in after.items()})


@pytest.mark.parametrize(
    ("account", "names"),
    [
        (an_account(CLEAN), []),
        (an_account(CLEAN, gone(PORTS=2.1)), ["listening ports gone (2), longest"]),
        (an_account(CLEAN, gone(SESSIONS=None)), ["camera sessions gone (6), longest"]),
        (an_account(replace(CLEAN, had=CLEAN.had | {Left.SESSIONS: 0})), ["camera sessions gone (0), longest"]),
    ],
)
def test_what_was_missed_is_named(account: Account, names: list[str]):
    assert [each.name for each in judge(account) if not each.is_met] == names


def test_it_is_shown_to_people_and_programs():
    account = an_account(CLEAN)
    shown = report.table(replace(account, objectives=judge(account)))
    assert "1 of a steady fleet, 0 of one that starts" in shown
    assert report.line(CLEAN).endswith("2 processes 500 ms, 1 listening ports 100 ms, 3 camera sessions 200 ms")
    assert json.loads(report.as_json(account))["spreads"]["Worker, processes"]["longest"] == 0.5
