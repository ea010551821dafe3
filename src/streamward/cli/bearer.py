"""By what token a command speaks.

the one that it was given  →  one for who is signed in here  →  one that it mints where the signing key lies
"""

import base64
import binascii
import contextlib
import os
import pwd
import re
import secrets
from datetime import timedelta

from streamward.cli.link import Link
from streamward.cli.refusal import SIGN_IN, NotSignedIn
from streamward.drivers.key_pair import StoredIdentity
from streamward.model.identity import Role
from streamward.model.secret import Secret
from streamward.protocol.codec import MalformedMessage, decode
from streamward.protocol.fields import ClearText
from streamward.protocol.identities import AskToken, TokenGiven
from streamward.protocol.tokens import Claims
from streamward.runtime.clock import SystemClock
from streamward.settings import Settings

LIFETIME = timedelta(minutes=1)  # of a minted one: as long as a command may take

_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")


def bearer(settings: Settings, openly: Link) -> str:
    """The token of this command; `openly` is the link by which one is asked for."""
    if settings.token is not None:
        return _given(settings.token.get_secret_value())
    if signed_in(settings) is not None:
        return given(settings, openly).access_token.secret.reveal()
    if os.access(settings.key_file, os.R_OK):
        return _minted(settings)
    raise NotSignedIn(f"not signed in: {SIGN_IN}")


def origin(settings: Settings) -> str:
    """From where the token of this command comes."""
    if settings.token is not None:
        return "the token in STREAMWARD_TOKEN"
    if signed_in(settings) is not None:
        return f"the key pair in {settings.identity_file}"
    return f"the signing key in {settings.key_file.parent.absolute()}"


def claims(token: str) -> Claims:
    """What a token says of its bearer; read, not checked: that is the control plane's part."""
    with contextlib.suppress(IndexError, binascii.Error, MalformedMessage):
        return decode(base64.urlsafe_b64decode(token.split(".")[1] + "=="), Claims)
    raise NotSignedIn(f"STREAMWARD_TOKEN holds something that is not a token of Streamward: {SIGN_IN}")


def given(settings: Settings, openly: Link) -> TokenGiven:
    """A token for whoever is signed in here."""
    stored = signed_in(settings)
    if stored is None:
        raise NotSignedIn(f"not signed in: {SIGN_IN}")
    incarnation = secrets.token_hex(8) if stored.role is Role.RUNNER else None
    assertion = stored.pair.assertion(now=int(SystemClock().wall().timestamp()), incarnation=incarnation)
    return openly.post_openly("/v1/tokens", AskToken(assertion=ClearText(Secret(assertion))), TokenGiven).body


def signed_in(settings: Settings) -> StoredIdentity | None:
    """The identity of this host's person, if there is one."""
    return StoredIdentity.load(settings.identity_file) if settings.identity_file.exists() else None


def _given(token: str) -> str:
    """Checked here, since an HTTP library would tell the whole of one that cannot be sent."""
    if not _TOKEN.fullmatch(token.strip()):
        raise NotSignedIn(f"STREAMWARD_TOKEN holds something that is not a token: {SIGN_IN}")
    return token.strip()


def _minted(settings: Settings) -> str:
    from streamward.control.keys import load_keyring
    from streamward.control.tokens import TokenMint

    mint = TokenMint(load_keyring(settings.key_file), clock=SystemClock())
    return mint.person(_user(), role=Role.ADMIN, lifetime=LIFETIME)


def _user() -> str:
    """Who runs this, as the operating system knows them, in the letters of an id."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may run under a number only
        name = f"uid-{os.getuid()}"
    return re.sub(r"[^A-Za-z0-9_-]", "-", name)[:64]
