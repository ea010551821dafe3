"""`streamward keys`: the keys that sign tokens, and those that seal camera credentials."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from streamward.cli.options import AsJson, Yes, confirm, group

app = group("Shows and changes the keys that sign tokens and those that seal camera credentials.")


@app.command()
def rotate(*, as_json: AsJson = False) -> None:
    """Seal every camera's credential with a new master key, while control planes run.

    Can be cut and run again. Exits with 1 if a credential could not be opened.
    """
    import asyncio
    import json

    from streamward.control.app import rotate_keys
    from streamward.settings import load

    done = asyncio.run(rotate_keys(load()))
    if as_json:
        print(json.dumps({"sealed": done.sealed, "unreadable": list(done.unreadable)}))
    else:
        print(f"sealed {done.sealed} credentials with the newest key")
        for camera_id in done.unreadable:
            print(f"the credential of camera {camera_id} cannot be opened: give it again")
    sys.exit(1 if done.unreadable else 0)


@app.command()
def rotate_signing(
    *,
    to_stage: Annotated[bool, typer.Option("--stage", help="Only let the new key's tokens count, for now.")] = False,
    to_activate: Annotated[bool, typer.Option("--activate", help="Let the staged key sign.")] = False,
    as_json: AsJson = False,
) -> None:
    """Sign tokens with a new key, while control planes run.

    Tokens of the key before count until the next change; those of older keys are refused. For control planes on several
    hosts: --stage, copy the key file to each, --activate, copy it again.
    """
    from streamward.control.key_rotation import activate, rotate, stage
    from streamward.control.keys import load_keyring, new_key, save_keyring
    from streamward.settings import load

    if to_stage and to_activate:
        raise typer.BadParameter("name either --stage or --activate")
    settings = load()
    path = settings.key_file
    before = load_keyring(path)
    if to_activate:
        after = activate(before)
    else:
        after = (stage if to_stage else rotate)(before, new_key(made_at=datetime.now(UTC)))
    save_keyring(path, after)
    if not to_stage:
        _record_signing(settings)
    dropped = [key.kid for key in before.keys if after.find(key.kid) is None]
    _show([(key.kid, use, key.made_at) for key, use in after.uses()], dropped=dropped, as_json=as_json)


@app.command()
def adopt(*, yes: Yes = False, as_json: AsJson = False) -> None:
    """Let the keys of this host be those that every control plane of its database needs.

    For an installation whose keys are lost. Tokens and camera credentials of the keys before have to be made anew.
    """
    confirm("let this host's keys take the place of those that the database knows?", is_sure=yes)
    import asyncio
    import json

    from streamward.control.app import adopt_keys
    from streamward.settings import load

    adopted = asyncio.run(adopt_keys(load()))
    if as_json:
        print(json.dumps({str(kind): key_id for kind, key_id in adopted.items()}))
    else:
        print("\n".join(f"{kind} key {key_id} counts from now on" for kind, key_id in adopted.items()))


@app.command("list")
def list_keys(*, as_json: AsJson = False) -> None:
    """Show the keys whose tokens count."""
    from streamward.control.keys import load_keyring
    from streamward.settings import load

    ring = load_keyring(load().key_file)
    _show([(key.kid, use, key.made_at) for key, use in ring.uses()], as_json=as_json)


def _record_signing(settings: Any) -> None:
    """Control planes that start from now on need the new key; a database that is not there yet learns it from them."""
    if (
        settings.database_url.startswith("sqlite:///")
        and not Path(settings.database_url.removeprefix("sqlite:///")).exists()
    ):
        return
    import asyncio

    from streamward.cli.output import warn
    from streamward.control.app import DatabaseSilent, record_signing_key

    try:
        asyncio.run(record_signing_key(settings))
    except DatabaseSilent as err:
        warn(f"{err}; the key was changed, but not recorded: run `streamward keys adopt` once the database answers")


def _show(keys: list[tuple[str, str, datetime | None]], *, dropped: list[str] | None = None, as_json: bool) -> None:
    """Each key's name, what it does, and its age; then those that were dropped just now."""
    import json

    now = datetime.now(UTC)
    if as_json:
        rows = [
            {"kid": kid, "use": use, "age_s": None if made_at is None else max(0, int((now - made_at).total_seconds()))}
            for kid, use, made_at in keys
        ]
        print(json.dumps({"keys": rows} if dropped is None else {"keys": rows, "dropped": dropped}))
        return
    print(f"{'kid':16}  {'use':8}  age")
    for kid, use, made_at in keys:
        print(f"{kid:16}  {use:8}  {'unknown' if made_at is None else _age(now - made_at)}")
    for kid in dropped or []:
        print(f"tokens of key {kid} are refused from now on")


def _age(age: timedelta) -> str:
    minutes = max(0, int(age.total_seconds())) // 60
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{age.days} d"
