"""A scale drill as people and programs read it."""

import json
from dataclasses import asdict

from streamward.drills.figures import Row, Spread, columns, facts, objectives, seconds
from streamward.drills.scale.account import Account


def as_json(account: Account) -> str:
    """One document."""
    parts = {name: asdict(each) for name, each in account.parts().items()}
    return json.dumps(asdict(account) | {"takeover": asdict(account.takeover), "parts": parts}, ensure_ascii=False)


def table(account: Account) -> str:
    """Several tables, the objectives last."""
    layout, start = account.layout, account.start
    shares = sorted(start.shares.values())
    head = facts([
        ("fleet", f"{layout.runners} runners with room for {layout.capacity} each, {account.database}, {account.bus}"),
        ("cameras", f"{layout.cameras:,} over {layout.sites} sites of {len(layout.tenants)} tenants, empty pictures"),
        ("leases", f"last {account.ttl:g} s, renewed every {account.renew_every:g} s"),
        ("ran for", f"{account.seconds:.0f} s"),
        ("owned", f"{seconds(start.owned_after)} after the last runner registered"),
        ("streaming", f"{seconds(start.streaming_after)} after that"),
        ("grants", f"{start.grants:,} for {layout.cameras - layout.few:,} cameras"),
        ("cameras by runner", f"{shares[0]} to {shares[-1]}" if shares else "none"),
    ])
    tables = [head, _windows(account), _calls(account), _scrapes(account)]
    return "\n\n".join([*tables, *([_times(account)] if account.moved else []), objectives(account.objectives)])


def _windows(account: Account) -> str:
    both = (account.few, account.many)
    rows: list[Row] = [("steady", *(f"{each.cameras:,} cameras" for each in both))]
    rows += [
        ("for", *(f"{each.seconds:.0f} s, load {each.load:.1f}" for each in both)),
        ("runners", *(f"{each.runners}" for each in both)),
        ("control plane, of a core", *(f"{each.control_cpu:.1%}" for each in both)),
        ("  memory", *(f"{each.control_mb:.0f} MB" for each in both)),
        ("  statements a second", *(f"{each.statements:.1f}" for each in both)),
        ("  calls a second", *(f"{each.calls_per_second:.1f}" for each in both)),
        ("a runner, of a core", *(f"{each.runner_cpu:.1%}" for each in both)),
        ("  cameras", *(f"{each.runner_cameras:g}" for each in both)),
        ("  memory", *(f"{each.runner_mb:.0f} MB" for each in both)),
        ("  calls a second", *(f"{each.calls_per_second / each.runners:.2f}" for each in both)),
        ("detections a second", *(f"{each.detections:.0f}" for each in both)),
        ("statuses a second", *(f"{each.statuses:.0f}" for each in both)),
        ("leases that ran out", *(f"{each.expired}" for each in both)),
        ("cameras that changed owner", *(f"{each.changed}" for each in both)),
    ]
    return columns(rows)


def _calls(account: Account) -> str:
    """While all came, and while all was steady."""
    steady = {each.route: each for each in account.many.calls}
    rush = {each.route: each for each in account.start.calls}
    rows: list[Row] = [("call", "at first", "p99", "steady, a second", "p50", "p99")]
    for route in steady | rush:
        first, then = rush.get(route), steady.get(route)
        early = ("", "") if first is None else (f"{first.count:,}", seconds(first.p99))
        rate = "" if then is None else f"{then.count / account.many.seconds:.2f}"
        rows.append((route, *early, rate, *(("", "") if then is None else (seconds(then.p50), seconds(then.p99)))))
    return columns(rows)


def _scrapes(account: Account) -> str:
    rows: list[Row] = [("scrape", "took", "control plane's", "size", "cameras")]
    for number, each in enumerate(account.scrapes, start=1):
        size = f"{each.bytes / 2**20:.1f} MB"
        rows.append((f"{number}", seconds(each.seconds), seconds(each.control_seconds), size, f"{each.cameras:,}"))
    return columns(rows)


def _times(account: Account) -> str:
    """Of the cameras whose runners were killed."""
    rows: list[Row] = [("seconds", "p50", "p95", "longest", "count")]
    rows.append(("until STREAMING", *_cells(account.takeover)))
    rows += [(f"  {name}", *_cells(each)) for name, each in account.parts().items()]
    return columns(rows)


def _cells(spread: Spread) -> tuple[str, ...]:
    return (*(f"{value:.3f}" for value in (spread.p50, spread.p95, spread.longest)), f"{spread.count}")
