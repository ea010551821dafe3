"""`streamward login`, `enrol`, `logout` and `whoami`: how this host becomes known to a control plane."""

import errno
import socket
import ssl
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from streamward.cli.options import AsJson

Url = Annotated[
    str | None, typer.Argument(metavar="[URL]", help="The control plane; without it the one of the settings.")
]
Code = Annotated[str | None, typer.Option("--code", metavar="CODE", help="The one-time code; asked for if not given.")]


def login(url: Url = None, *, code: Code = None, as_json: AsJson = False) -> None:
    """Sign in as a person with a one-time code.

    A key pair is made here and stays here; commands prove by it who they are, until `logout`.
    """
    from streamward.settings import load

    settings = load()
    _redeem(url or settings.control_url, code, path=settings.identity_file, as_json=as_json)


def enrol(url: Url = None, *, code: Code = None, as_json: AsJson = False) -> None:
    """Make this host known as a runner with a one-time code.

    The code comes from `streamward runners invite RUNNER`. The key pair is kept in the data folder.
    """
    from streamward.settings import load

    settings = load()
    _redeem(url or settings.control_url, code, path=settings.runner_identity_file, as_json=as_json)


def logout() -> None:
    """Give up this person's identity, here and at the control plane."""
    from streamward.cli.connect import connect
    from streamward.cli.failure import CommandFailed
    from streamward.cli.link import place
    from streamward.drivers.key_pair import StoredIdentity
    from streamward.protocol.identities import IdentityRevoked
    from streamward.settings import load

    settings = load()
    path = settings.identity_file
    if not path.exists():
        print("nobody is signed in here")
        return
    stored = StoredIdentity.load(path)
    try:
        connect(settings).delete(place("v1", "identities", stored.pair.identity_id), IdentityRevoked)
    except CommandFailed as err:
        path.unlink()
        raise CommandFailed(f"signed out here, but the control plane still trusts the key ({err})") from err
    path.unlink()
    print("signed out")


def whoami(*, as_json: AsJson = False) -> None:
    """Show as whom commands of this host speak."""
    from streamward.cli import output
    from streamward.cli.bearer import bearer, claims, origin
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.cameras import CameraPage
    from streamward.runtime.clock import SystemClock
    from streamward.settings import load

    settings = load()
    link = connect(settings)
    said = claims(bearer(settings, link))
    link.get(place("v1", "cameras"), CameraPage, {"limit": 1})  # a token that is not accepted is nobody's
    facts = {
        "subject": said.sub,
        "role": str(said.role),
        "tenant": said.tenant or "all",
        "by": origin(settings),
        "control plane": link.url,
        "incarnation": said.inc,
        "expires in": f"{max(0, said.exp - int(SystemClock().wall().timestamp()))} s",
    }
    if as_json:
        output.print_json(facts)
        return
    output.print_facts(list(facts.items()))


def _redeem(url: str, code: str | None, *, path: Path, as_json: bool) -> None:
    """The key is on disk before the code is used: whatever is cut, the same command ends it.

    If the control plane refuses the code, or is not reached, the code was not used, and a key that was made for it is
    deleted. It stays if the answer was lost.
    """
    from streamward.cli import output
    from streamward.cli.connect import link_to
    from streamward.cli.failure import CommandFailed, ExitCode
    from streamward.cli.link import place
    from streamward.drivers.key_pair import KeyPair, StoredIdentity
    from streamward.model.secret import Secret
    from streamward.protocol.fields import ClearText
    from streamward.protocol.identities import IdentityDetails, RedeemCode

    shown = Secret(code if code is not None else _asked())
    pending = path.with_name(f"{path.name}.pending")
    stored = StoredIdentity.load(pending) if pending.exists() else None
    is_new = stored is None or stored.url != url
    if stored is None or is_new:
        stored = StoredIdentity(url=url, pair=KeyPair.new())
    stored.save(pending)
    message = RedeemCode(code=ClearText(shown), public_key=stored.pair.public_key)
    try:
        known = link_to(url).post_openly(place("v1", "identities"), message, IdentityDetails).body
    except CommandFailed as err:
        if is_new and (err.exit_code is ExitCode.NOT_ALLOWED or _was_not_sent(err)):
            pending.unlink()
        raise
    replace(stored, role=known.role).save(path)
    pending.unlink()
    if as_json:
        output.print_json(known)
        return
    whose = "the whole installation" if known.tenant_id is None else f"tenant {known.tenant_id}"
    print(f"signed in at {url} as {known.subject}, {known.role} of {whose}; the key is in {path}")


def _was_not_sent(err: BaseException) -> bool:
    """Whether no connection was made, so that nothing can have reached the control plane."""
    cause = err.__cause__
    if isinstance(cause, ConnectionRefusedError | socket.gaierror | ssl.SSLCertVerificationError):
        return True
    return isinstance(cause, OSError) and cause.errno in {errno.EHOSTUNREACH, errno.ENETUNREACH}


def _asked() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().strip()
    answer: str = typer.prompt("One-time code", hide_input=True, err=True)
    return answer
