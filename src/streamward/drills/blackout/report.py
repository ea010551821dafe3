"""A blackout as people and programs read it."""

import json
from dataclasses import asdict

from streamward.drills.blackout.account import Account
from streamward.drills.figures import Row, columns, facts, objectives, seconds

SQLITE = "SQLite"


def as_json(account: Account) -> str:
    """One document."""
    return json.dumps(asdict(account), ensure_ascii=False)


def table(account: Account) -> str:
    """Several tables, the objectives last."""
    fenced, later = account.fenced, account.later
    head = facts([
        ("fleet", f"{account.runners} runners, {account.cameras} cameras, {account.database}, {account.bus}"),
        ("leases", f"last {account.ttl:g} s, renewed every {account.renew_every:g} s"),
        ("on control loss", account.on_control_loss),
        ("away", f"{_what(account)}, for {account.away_for:.0f} s; served {seconds(account.served_after)} later"),
        ("ran for", f"{account.seconds:.0f} s, load {account.load[0]:.1f} to {account.load[1]:.1f}"),
        ("detections", f"{fenced.live:,} live, {fenced.late:,} late, {fenced.refused:,} refused"),
        ("of these meanwhile", f"{later.live:,} live, {later.late:,} late, {later.refused:,} refused, judged later"),
        ("cameras", f"{account.went_on} went on, {account.moved} changed hands"),
        ("camera sessions", f"seen until {seconds(account.sessions_until)} after the kill"),
    ])
    return "\n\n".join([head, _spreads(account), objectives(account.objectives)])


def _what(account: Account) -> str:
    is_alone = account.database != SQLITE
    return "control plane, the database stayed" if is_alone else "control plane and database"


def _spreads(account: Account) -> str:
    rows: list[Row] = [("of each camera", "cameras", "P50", "P95", "longest")]
    rows += [
        (name, str(each.count), *map(seconds, (each.p50, each.p95, each.longest)))
        for name, each in account.spreads().items()
    ]
    return columns(rows)
