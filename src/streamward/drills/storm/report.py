"""A dial storm as people and programs read it."""

import json
from dataclasses import asdict

from streamward.drills.figures import Row, columns, facts, objectives
from streamward.drills.storm.account import Account, Cause


def as_json(account: Account) -> str:
    """One document."""
    return json.dumps(asdict(account) | {"until_streaming": asdict(account.until_streaming)}, ensure_ascii=False)


def table(account: Account) -> str:
    """Several tables, the objectives last."""
    shares = ", ".join(f"{runner} {cameras}" for runner, cameras in sorted(account.shares.items()))
    head = facts([
        ("cameras", f"{account.cameras}, {_why(account)}; {shares}"),
        ("budget", f"{account.capacity} at once, {account.per_minute:g} a minute"),
        ("recorder", f"takes {account.answers_after:g} s for an answer"),
        ("ran for", f"{account.seconds:.0f} s, load {account.load[0]:.1f} to {account.load[1]:.1f}"),
        ("dials", f"{account.dials}, up to {account.most_at_once} at once"),
    ])
    return "\n\n".join([head, _times(account), objectives(account.objectives)])


def _why(account: Account) -> str:
    if account.cause is Cause.ADDED:
        return "added at once"
    return f"whose recorder was away for {account.down_for:g} s"


def _times(account: Account) -> str:
    each = account.until_streaming
    rows: list[Row] = [("seconds", "p50", "p95", "longest", "count")]
    cells = (f"{value:.2f}" for value in (each.p50, each.p95, each.longest))
    return columns([*rows, ("until STREAMING", *cells, str(each.count))])
