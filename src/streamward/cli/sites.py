"""`streamward sites`: dial budgets, lease policies, and which addresses cameras may have."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from streamward.cli.options import AsJson, IfMatch, Yes, confirm, group

app = group("Lists, adds, changes and removes sites: dial budget, lease policy, allowed addresses.")


class Policy(StrEnum):
    """How long a runner's silence is borne."""

    FAST = "fast"
    FASTER = "faster"
    STICKY = "sticky"
    TASK = "task"
    RUNNER = "runner"  # the runner's own


SiteName = Annotated[str, typer.Argument(metavar="SITE", help="The site's id.")]
LeasePolicy = Annotated[Policy | None, typer.Option(help="How long a runner's silence is borne; runner: its own.")]
Dials = Annotated[int | None, typer.Option(min=1, max=10_000, help="First connections that may go at once.")]
Rate = Annotated[float | None, typer.Option(min=0.001, max=1_000_000, help="First connections per minute.")]
Allow = Annotated[list[str] | None, typer.Option(help="A network that cameras may be in; repeat; none: no list.")]
Deny = Annotated[list[str] | None, typer.Option(help="A network that they may not be in; repeat; none: no list.")]
Kind = Annotated[list[str] | None, typer.Option(help="Sources beside RTSP: device, file; repeat; none: no list.")]

TlsCa = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="The CAs of its rtsps cameras' certificates, in PEM; none: those of each runner's host."
    ),
]


@app.command("list")
def list_sites(*, as_json: AsJson = False) -> None:
    """List sites in the order of their ids."""
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.fields import LARGEST_PAGE
    from streamward.protocol.sites import SitePage

    pages = connect().pages(place("v1", "sites"), SitePage, {"limit": LARGEST_PAGE})
    found = output.counted((site for page in pages for site in page.items), "sites")
    if as_json:
        output.print_lines(found)
        return
    rows = [(each.site_id, each.tenant_id, each.policy, each.capacity, each.refill_rate) for each in found]
    if rows:
        output.print_table(("SITE", "TENANT", "POLICY", "DIALS", "PER MINUTE"), rows)
    else:
        output.say("no sites yet: add one with `streamward sites add SITE --tenant TENANT`")


@app.command()
def show(site: SiteName, *, as_json: AsJson = False) -> None:
    """Show a site and its dial budget."""
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.sites import SiteBudget, SiteDetails

    link = connect()
    details = link.get(place("v1", "sites", site), SiteDetails)
    budget = link.get(place("v1", "sites", site, "budget"), SiteBudget).body
    _print(details, as_json=as_json, budget=budget)


@app.command()
def budget(
    site: Annotated[str | None, typer.Argument(metavar="[SITE]", help="One site; all, if none is named.")] = None,
    *,
    more: Annotated[int, typer.Option("--add", min=0, max=1_000_000, help="What if so many cameras come?")] = 0,
    as_json: AsJson = False,
) -> None:
    """Show how many cameras may be dialed, are being dialed and wait, and how long the budget takes for them."""
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.fields import LARGEST_PAGE
    from streamward.protocol.sites import SiteBudget, SitePage

    link = connect()
    pages = () if site else link.pages(place("v1", "sites"), SitePage, {"limit": LARGEST_PAGE})
    names = [site] if site else (each.site_id for page in pages for each in page.items)
    found = (link.get(place("v1", "sites", name, "budget"), SiteBudget, {"add": more}).body for name in names)
    if as_json:
        output.print_lines(found)
        return
    rows = [
        (each.site_id, each.tokens, each.capacity, each.refill_rate, each.in_flight, each.waiting, _lasts(each))
        for each in output.counted(found, "sites")
    ]
    last = f"DIALED WITH {more} MORE" if more else "ALL DIALED"
    output.print_table(("SITE", "TOKENS", "OF", "PER MINUTE", "IN FLIGHT", "WAITING", last), rows)


@app.command()
def add(
    site: SiteName,
    *,
    tenant: Annotated[str | None, typer.Option(help="Its tenant; an operator of one tenant may leave it out.")] = None,
    policy: LeasePolicy = None,
    dials: Dials = None,
    rate: Rate = None,
    allow: Allow = None,
    deny: Deny = None,
    kind: Kind = None,
    tls_ca: TlsCa = None,
    as_json: AsJson = False,
) -> None:
    """Add a site."""
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.sites import CreateSite, SiteDetails, SourceRules

    rules = _rules(SourceRules(), allow=allow, deny=deny, kind=kind)
    given = _given(policy=policy, dials=dials, rate=rate) | _authorities(tls_ca)
    message = CreateSite(site_id=site, tenant_id=tenant, sources=rules, **given)
    _print(connect().post(place("v1", "sites"), message, SiteDetails), as_json=as_json)


@app.command("set")
def change(
    site: SiteName,
    *,
    policy: LeasePolicy = None,
    dials: Dials = None,
    rate: Rate = None,
    allow: Allow = None,
    deny: Deny = None,
    kind: Kind = None,
    tls_ca: TlsCa = None,
    if_match: IfMatch = None,
    as_json: AsJson = False,
) -> None:
    """Change a site, and leave alone what is not named; a list replaces the one that was."""
    if not (policy or dials or rate or allow or deny or kind or tls_ca):
        raise typer.BadParameter("name what is to change: see `streamward sites set --help`")
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.sites import ChangeSite, SiteDetails

    link, path = connect(), place("v1", "sites", site)
    before = link.get(path, SiteDetails)
    given = _given(policy=policy, dials=dials, rate=rate) | _authorities(tls_ca)
    if allow or deny or kind:
        given["sources"] = _rules(before.body.sources, allow=allow, deny=deny, kind=kind)
    changed = link.patch(path, ChangeSite(**given), SiteDetails, etag=if_match or before.etag or "*")
    _print(changed, as_json=as_json)


@app.command()
def remove(site: SiteName, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove a site that has no cameras left."""
    confirm(f"remove site {site}?", is_sure=yes)
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.sites import SiteDetails, SiteRemoved

    link, path = connect(), place("v1", "sites", site)
    removed = link.delete(path, SiteRemoved, etag=link.get(path, SiteDetails).etag).body
    if as_json:
        output.print_json(removed)
    else:
        print(f"removed {removed.site_id}")


def _lasts(budget: Any) -> str:
    if budget.dialed_in_s is None:
        return "never"
    return f"in {budget.dialed_in_s:.0f} s" if budget.dialed_in_s else "yes"


def _given(*, policy: Policy | None, dials: int | None, rate: float | None) -> dict[str, Any]:
    given: dict[str, Any] = {"capacity": dials, "refill_rate": rate}
    named = {name: value for name, value in given.items() if value is not None}
    return named if policy is None else {**named, "policy": None if policy is Policy.RUNNER else policy.value}


def _authorities(file: str | None) -> dict[str, Any]:
    if file is None or file == "none":
        return {} if file is None else {"tls_ca": None}
    from streamward.model.certificates import LARGEST_PEM, check_authorities

    try:
        with Path(file).open(encoding="ascii", errors="replace") as opened:
            pem = opened.read(LARGEST_PEM + 1)
        if len(pem) > LARGEST_PEM:
            raise typer.BadParameter(f"{file} has more than {LARGEST_PEM >> 10} KiB", param_hint="--tls-ca")
        check_authorities(pem)
    except OSError as err:
        why = (err.strerror or "unknown").lower()
        raise typer.BadParameter(f"{file} cannot be read ({why})", param_hint="--tls-ca") from None
    except ValueError as err:
        raise typer.BadParameter(f"{file}: {err}", param_hint="--tls-ca") from None
    return {"tls_ca": pem}


def _rules(known: Any, **lists: list[str] | None) -> Any:
    """The rules with those lists replaced that were named."""
    import msgspec

    named = {{"kind": "kinds"}.get(name, name): value for name, value in lists.items() if value}
    emptied = {name: [] if value == ["none"] else value for name, value in named.items()}
    return msgspec.structs.replace(known, **emptied)


def _print(answer: Any, *, as_json: bool, budget: Any = None) -> None:
    from streamward.cli import output

    if as_json:
        output.print_tagged(answer.body, answer.etag)
        return
    site = answer.body
    facts = [
        ("site", site.site_id),
        ("tenant", site.tenant_id),
        ("lease policy", site.policy or "the runner's own"),
        ("dials at once", site.capacity),
        ("dials per minute", site.refill_rate),
        ("allowed networks", site.sources.allow or "all but loopback, link-local and the like"),
        ("denied networks", site.sources.deny),
        ("sources", ["rtsp", "rtsps", *site.sources.kinds]),
        ("CA of cameras", "given" if site.tls_ca else "those of each runner's host"),
        ("limit of networks", site.limits.allow or "all but loopback, link-local and the like"),
        ("limit of denied networks", site.limits.deny),
        ("limit of sources", ["rtsp", "rtsps", *site.limits.kinds]),
    ]
    if budget is not None:
        facts += [("tokens left", budget.tokens), ("dials under way", budget.in_flight)]
    output.print_facts([*facts, ("etag", answer.etag)])
