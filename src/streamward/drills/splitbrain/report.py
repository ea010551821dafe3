"""A split-brain drill as people and programs read it."""

import json
from dataclasses import asdict

from streamward.drills.figures import Row, columns, facts, objectives
from streamward.drills.splitbrain.account import Account, Round


def as_json(account: Account) -> str:
    """One document."""
    return json.dumps(asdict(account), ensure_ascii=False)


def table(account: Account) -> str:
    """Several tables, the objectives last."""
    fenced = account.fenced
    head = facts([
        ("fleet", f"{account.runners} runners, {account.cameras} cameras, {account.database}, {account.bus}"),
        ("leases", f"last {account.ttl:g} s, renewed every {account.renew_every:g} s; seed {account.seed}"),
        ("on control loss", account.on_control_loss),
        ("ran for", f"{account.seconds:.0f} s, load {account.load[0]:.1f} to {account.load[1]:.1f}"),
        ("detections", f"{fenced.live:,} live, {fenced.late:,} late, {fenced.refused:,} refused"),
        ("", f"{fenced.repeated:,} brought again by the bus"),
    ])
    return "\n\n".join([head, _each(account), objectives(account.objectives)])


def line(each: Round) -> str:
    """One round, in one line."""
    tried = f"{each.late} late, {each.refused} refused"
    return f"{each.number:>3}  {each.split} of {each.victim}: {each.moved} of {each.cameras} cameras moved, {tried}"


def _each(account: Account) -> str:
    rows: list[Row] = [("round", "split", "runner", "moved", "late", "refused")]
    rows += [
        (
            f"{each.number}",
            each.split,
            each.victim,
            f"{each.moved} of {each.cameras}",
            f"{each.late}",
            f"{each.refused}",
        )
        for each in account.rounds
    ]
    return columns(rows)
