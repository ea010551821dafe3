"""`streamward token`: mints a bearer token on the control host."""

from typing import Annotated

import typer

from streamward.cli.options import lifetime


def mint(
    *,
    runner: Annotated[str | None, typer.Option(help="Mint for this runner.")] = None,
    viewer: Annotated[str | None, typer.Option(help="Mint for this person, who may see.")] = None,
    operator: Annotated[str | None, typer.Option(help="Mint for this person, who may change cameras too.")] = None,
    admin: Annotated[str | None, typer.Option(help="Mint for this person, who may change people too.")] = None,
    ttl: Annotated[str, typer.Option(help="How long it counts: 90s, 15m, 24h at most.")] = "15m",
    tenant: Annotated[str | None, typer.Option(help="Bind it to one tenant.")] = None,
    incarnation: Annotated[str | None, typer.Option(help="The runner's start; a fresh one if not given.")] = None,
) -> None:
    """Print a bearer token: of who is signed in here, or one minted for somebody on the control host."""
    from streamward.control.keys import load_keyring
    from streamward.control.tokens import TokenMint
    from streamward.model.identity import Role
    from streamward.model.ids import Incarnation, RunnerId, TenantId, check_id
    from streamward.runtime.clock import SystemClock
    from streamward.settings import load

    people = {Role.VIEWER: viewer, Role.OPERATOR: operator, Role.ADMIN: admin}
    named = [(role, name) for role, name in people.items() if name is not None]
    if not named and runner is None:
        _print_own()
        return
    if len(named) + (runner is not None) != 1 or (named and incarnation is not None):
        raise typer.BadParameter("name one: --runner (with or without --incarnation), --viewer, --operator or --admin")
    counts_for = lifetime(ttl)
    tenant_id = None if tenant is None else TenantId(check_id("tenant", tenant))
    start = None if incarnation is None else Incarnation(check_id("incarnation", incarnation))
    minting = TokenMint(load_keyring(load().key_file), clock=SystemClock())
    if runner is not None:
        print(minting.runner(RunnerId(runner), incarnation=start, tenant_id=tenant_id, lifetime=counts_for))
    for role, name in named:
        print(minting.person(name, role=role, tenant_id=tenant_id, lifetime=counts_for))


def _print_own() -> None:
    """A token for whoever is signed in here."""
    from streamward.cli.bearer import given
    from streamward.cli.connect import connect
    from streamward.settings import load

    settings = load()
    print(given(settings, connect(settings)).access_token.secret.reveal())
