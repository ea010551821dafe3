"""A drill of replaced Workers as people and programs read it."""

import json
from dataclasses import asdict

from streamward.drills.bluegreen.account import Account, Change, Replacement
from streamward.drills.figures import Row, columns, facts, objectives, seconds

_HOW = {
    Change.REPLACE: "Workers replaced",
    Change.KILL: "Workers replaced, the old one killed",
    Change.DRAIN: "runner drained",
}


def as_json(account: Account) -> str:
    """One document."""
    return json.dumps(asdict(account), ensure_ascii=False)


def table(account: Account) -> str:
    """Several tables, the objectives last."""
    head = facts([
        ("fleet", f"{account.runners} runners, {account.cameras} cameras, {account.database}, {account.bus}"),
        ("ran for", f"{account.seconds:.0f} s, load {account.load[0]:.1f} to {account.load[1]:.1f}"),
        ("looked at", f"one picture of {account.interval}; {account.unread} not told"),
    ])
    return "\n\n".join([head, _each(account), objectives(account.objectives)])


def line(done: Replacement) -> str:
    """One, in one line."""
    how = _HOW[done.change]
    passed = f"{len(done.handovers)} cameras passed on, {done.longest} pictures between at most"
    return f"{done.number:>3}  {done.runner}: {seconds(done.took)}, {passed}, {how}"


def _each(account: Account) -> str:
    rows: list[Row] = [("runner", "took", "cameras", "pictures between", "at most", "doubled", "connections", "how")]
    for each in account.replacements:
        between = sorted(handover.pictures for handover in each.handovers)
        median = str(between[len(between) // 2]) if between else "–"
        doubled = sum(handover.doubled for handover in each.handovers)
        rows.append((
            each.runner,
            seconds(each.took),
            str(len(between)),
            median,
            str(each.longest),
            str(doubled),
            str(each.dials),
            _HOW[each.change],
        ))
    return columns(rows)
