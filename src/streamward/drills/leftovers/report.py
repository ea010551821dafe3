"""A drill of kills as people and programs read it."""

import json
from dataclasses import asdict

from streamward.drills.figures import Row, columns, facts, objectives, seconds
from streamward.drills.leftovers.account import Account, Kill, Left, Part


def as_json(account: Account) -> str:
    """One document."""
    spreads = {f"{part}, {left}": asdict(each) for (part, left), each in account.spreads().items()}
    return json.dumps(asdict(account) | {"spreads": spreads}, ensure_ascii=False)


def table(account: Account) -> str:
    """Several tables, the objectives last."""
    steady = sum(each.was_steady for each in account.kills)
    head = facts([
        ("fleet", f"{account.runners} runners, {account.cameras} cameras, {account.database}, {account.bus}"),
        ("kills", f"{steady} of a steady fleet, {len(account.kills) - steady} of one that starts; seed {account.seed}"),
        ("ran for", f"{account.seconds:.0f} s, load {account.load[0]:.1f} to {account.load[1]:.1f}"),
    ])
    return "\n\n".join([head, _each(account), objectives(account.objectives)])


def line(kill: Kill) -> str:
    """One kill, in one line."""
    gone = ", ".join(f"{kill.had[left]} {left} {seconds(kill.gone_after[left])}" for left in Left if kill.had[left])
    return f"{kill.number:>3}  {kill.part} of {kill.runner}: {gone}"


def _each(account: Account) -> str:
    rows: list[Row] = [("killed", "left behind", "were there", "p50", "p95", "longest")]
    spreads = account.spreads()
    for part in Part:
        kills = [each for each in account.kills if each.part is part]
        for left in Left:
            found = spreads[part, left]
            times = (seconds(each) for each in (found.p50, found.p95, found.longest))
            rows.append((f"{part} ({len(kills)})", left, str(sum(each.had[left] for each in kills)), *times))
    return columns(rows)
