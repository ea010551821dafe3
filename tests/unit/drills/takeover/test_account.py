"""What a takeover drill comes to."""

import json
from dataclasses import replace

import pytest

from streamward.drills.takeover import report
from streamward.drills.takeover.account import Account, Fenced, How, Moved, Takeover, goals, judge

CLEAN = Fenced(live=100, late=3, refused=2, repeated=1, stale=0, shared=0)


def an_account(
    *after: float | None,
    how: How = How.KILL,
    fenced: Fenced = CLEAN,
    ttl: float = 8.0,
    key_every: int | None = None,
) -> Account:
    moved = [
        Moved(
            camera=f"cam-{number}",
            generation=1,
            streaming_after=each,
            detected_after=each,
            gap=each,
            dated_ahead=0.0,
            parts={} if each is None else {"told on the bus": each},
        )
        for number, each in enumerate(after)
    ]
    return Account(
        how=how,
        cameras=len(after),
        runners=2,
        ttl=ttl,
        renew_every=2.0,
        key_every=key_every,
        seed=7,
        database="SQLite",
        bus="the embedded bus",
        seconds=10.0,
        takeovers=[Takeover(number=1, how=how, victim="runner-a", load=1.0, moved=moved)],
        fenced=fenced,
    )


def missed(account: Account) -> list[str]:
    return [each.name for each in judge(account) if not each.is_met]


@pytest.mark.parametrize(
    ("account", "names"),
    [
        (an_account(0.3, 0.3, 0.5), []),
        (an_account(0.8, 0.8), ["until STREAMING, P50"]),
        (an_account(0.3, 0.3, 3.5), ["until STREAMING, P95"]),
        (an_account(0.3, None), ["cameras that stream again"]),
        (an_account(), ["cameras that stream again"]),
        (an_account(8.5, 9.5, how=How.FREEZE), ["until STREAMING, P50"]),
        (an_account(7.5, 7.5, how=How.FREEZE, ttl=5.0), []),
        (an_account(*[11.5] * 40, how=How.CUT), []),
        (an_account(*[12.5] * 40), ["until STREAMING, P95"]),
        (an_account(60.0, key_every=4), []),
        (an_account(2.5, key_every=1), []),
        (an_account(3.5, how=How.SOFT), ["between two detections, P95"]),
        (an_account(2.5, how=How.DRAIN), []),
        (an_account(0.3, fenced=replace(CLEAN, stale=1)), ["stale detections taken for live"]),
        (an_account(0.3, fenced=replace(CLEAN, shared=1)), ["generations that share a moment"]),
    ],
)
def test_what_was_missed_is_named(account: Account, names: list[str]):
    assert missed(account) == names


def test_a_frozen_runners_leases_have_to_run_out_first():
    assert goals(How.KILL, 8.0, cameras=12) == (0.4, 1.0)
    assert goals(How.FREEZE, 8.0, cameras=12) == (9.0, 10.0)
    assert goals(How.CUT, 5.0, cameras=12) == (None, 8.0)
    assert goals(How.CUT, 3.0, cameras=12) == (None, 4.0)


def test_it_is_shown_to_people_and_programs():
    account = an_account(1.0, 3.5)
    shown = report.table(replace(account, objectives=judge(account)))
    assert "MISSED" in shown
    assert "100 live, 3 late, 2 refused" in shown
    assert report.line(account.takeovers[0]).startswith("  1  kill runner-a: 2 of 2 cameras")
    told = json.loads(report.as_json(account))
    assert told["spreads"]["until STREAMING"]["longest"] == 3.5
    assert told["parts"]["told on the bus"]["count"] == 2
    assert "–" in report.table(replace(account, takeovers=[]))
