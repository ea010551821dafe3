"""By what token a command speaks: the one it was given, else one that it mints where the signing key lies."""

import os
import pwd
import re
from datetime import timedelta

from streamward.cli.refusal import SIGN_IN, NotSignedIn
from streamward.settings import Settings

LIFETIME = timedelta(minutes=1)  # of a minted one: as long as a command may take

_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")


def bearer(settings: Settings) -> str:
    """The token of this command."""
    if settings.token is not None:
        return _given(settings.token.get_secret_value())
    if os.access(settings.key_file, os.R_OK):
        return _minted(settings)
    raise NotSignedIn(f"not signed in: {SIGN_IN}")


def _given(token: str) -> str:
    """Checked here, since an HTTP library would tell the whole of one that cannot be sent."""
    if not _TOKEN.fullmatch(token.strip()):
        raise NotSignedIn(f"STREAMWARD_TOKEN holds something that is not a token: {SIGN_IN}")
    return token.strip()


def _minted(settings: Settings) -> str:
    from streamward.control.keys import load_keyring
    from streamward.control.tokens import TokenMint
    from streamward.runtime.clock import SystemClock

    mint = TokenMint(load_keyring(settings.key_file), clock=SystemClock())
    return mint.person(_user(), lifetime=LIFETIME)


def _user() -> str:
    """Who runs this, as the operating system knows them, in the letters of an id."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may run under a number only
        name = f"uid-{os.getuid()}"
    return re.sub(r"[^A-Za-z0-9_-]", "-", name)[:64]
