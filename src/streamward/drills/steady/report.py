"""A drill in bad weather as people and programs read it."""

import json
from dataclasses import asdict

from streamward.drills.figures import facts, objectives
from streamward.drills.steady.account import Account


def as_json(account: Account) -> str:
    """One document."""
    return json.dumps(asdict(account), ensure_ascii=False)


def table(account: Account) -> str:
    """Two tables, the objectives last."""
    trouble, states = account.trouble, sorted(account.states.items())
    head = facts([
        ("fleet", f"{account.runners} runners, {account.cameras} cameras, {account.database}, {account.bus}"),
        ("leases", f"last {account.ttl:g} s, renewed every {account.renew_every:g} s"),
        ("bad weather for", f"{account.seconds:.0f} s, load {account.load[0]:.1f} to {account.load[1]:.1f}"),
        ("packets", f"{trouble.loss:.0%} lost each way, {trouble.delay * 1000:.0f} ms later there and back"),
        ("control plane", f"stands still for {trouble.stall_for:g} s every {trouble.stall_every:g} s"),
        ("processes at work", f"{trouble.busy}"),
        ("detections", f"{account.detections:,}"),
        ("reports of streams", ", ".join(f"{count:,} {state}" for state, count in states) or "none"),
        ("hands changed", ", ".join(f"{camera} {count}×" for camera, count in account.changes.items()) or "none"),
    ])
    return "\n\n".join([head, objectives(account.objectives)])
