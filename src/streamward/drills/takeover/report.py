"""A takeover drill as people and programs read it."""

import json
from dataclasses import asdict

from streamward.drills.figures import Row, Spread, columns, facts, objectives
from streamward.drills.takeover.account import Account, Takeover


def as_json(account: Account) -> str:
    """One document."""
    spreads = {name: asdict(each) for name, each in account.spreads().items()}
    parts = {name: asdict(each) for name, each in account.parts().items()}
    return json.dumps(asdict(account) | {"spreads": spreads, "parts": parts}, ensure_ascii=False)


def table(account: Account) -> str:
    """Several tables, the objectives last."""
    fenced = account.fenced
    head = facts([
        ("fleet", f"{account.runners} runners, {account.cameras} cameras, {account.database}, {account.bus}"),
        ("leases", f"last {account.ttl:g} s, renewed every {account.renew_every:g} s; seed {account.seed}"),
        ("keyframes", _keyframes(account)),
        ("ran for", f"{account.seconds:.0f} s"),
        ("load of the machine", _loads(account)),
        ("detections", f"{fenced.live:,} live, {fenced.late:,} late, {fenced.refused:,} refused"),
        ("", f"{fenced.repeated:,} brought again by the bus"),
    ])
    return "\n\n".join([head, _each(account), _times(account), objectives(account.objectives)])


def line(takeover: Takeover) -> str:
    """One blow, in one line."""
    spread = takeover.streaming
    times = f"P50 {spread.p50:.2f} s, P95 {spread.p95:.2f} s, longest {spread.longest:.2f} s"
    return f"{takeover.number:>3}  {takeover.how} {takeover.victim}: {_back(takeover)} cameras, {times}"


def _each(account: Account) -> str:
    rows: list[Row] = [("blow", "runner", "cameras", "p50", "p95", "longest", "load")]
    for each in account.takeovers:
        times = (f"{value:.2f} s" for value in (each.streaming.p50, each.streaming.p95, each.streaming.longest))
        rows.append((f"{each.number}", each.victim, _back(each), *times, f"{each.load:.1f}"))
    return columns(rows)


def _times(account: Account) -> str:
    rows: list[Row] = [("seconds", "p50", "p95", "longest", "count")]
    rows += [(name, *_cells(each)) for name, each in account.spreads().items()]
    rows += [(f"  {name}", *_cells(each)) for name, each in account.parts().items()]
    return columns(rows)


def _cells(spread: Spread) -> tuple[str, ...]:
    return (*(f"{value:.3f}" for value in (spread.p50, spread.p95, spread.longest)), f"{spread.count}")


def _back(takeover: Takeover) -> str:
    back = sum(each.streaming_after is not None for each in takeover.moved)
    return f"{back} of {len(takeover.moved)}"


def _keyframes(account: Account) -> str:
    if account.key_every is None:
        return "each second, and the recorder sends who dials the latest"
    return f"every {account.key_every} s, and who dials waits for the next"


def _loads(account: Account) -> str:
    loads = [each.load for each in account.takeovers]
    return f"{min(loads):.1f} to {max(loads):.1f}" if loads else "–"
