"""A reconfiguration drill as people and programs read it."""

import json
from dataclasses import asdict

from streamward.drills.figures import Row, columns, facts, objectives, seconds
from streamward.drills.reconfig.account import Account, Step


def as_json(account: Account) -> str:
    """One document."""
    spreads = {name: asdict(each) for name, each in account.spreads().items()}
    return json.dumps(asdict(account) | {"spreads": spreads}, ensure_ascii=False)


def table(account: Account) -> str:
    """Several tables, the objectives last."""
    head = facts([
        ("fleet", f"{account.runners} runners, {account.cameras} cameras, {account.database}, {account.bus}"),
        ("ran for", f"{account.seconds:.0f} s, load {account.load[0]:.1f} to {account.load[1]:.1f}"),
        ("pictures not told", f"{account.unread}"),
    ])
    return "\n\n".join([head, _each(account), objectives(account.objectives)])


def line(step: Step) -> str:
    """One order, in one line."""
    others = f"others: {step.others.lost} pictures lost, {step.others.dials} connections"
    return f"{step.number:>3}  {step.order} {step.camera}: {seconds(step.done_after)}; {others}"


def _each(account: Account) -> str:
    head = ("order", "camera", "done", "after token", "connections", "of others", "pictures lost", "begun", "moved")
    rows: list[Row] = [head]
    for each in account.steps:
        others = (each.others.dials, each.others.lost, each.others.begun, each.others.moved)
        token = "–" if each.after_token is None else seconds(each.after_token)
        rows.append((each.order, each.camera, seconds(each.done_after), token, str(each.dials), *map(str, others)))
    return columns(rows)
