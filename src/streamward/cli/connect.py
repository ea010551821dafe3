"""The link of this process's commands, from its settings."""

import ssl
import time
from collections.abc import Callable

from streamward.cli.bearer import bearer, signed_in
from streamward.cli.link import Link, trust
from streamward.cli.output import warn
from streamward.settings import Settings, load


def connect(settings: Settings | None = None, *, token_for: float = 0.0) -> Link:
    """The control plane that the settings name, or where somebody is signed in; a token is used for so many seconds."""
    known = settings or load()
    stored = signed_in(known) if known.token is None else None
    url = known.control_url if stored is None or known.control.url is not None else stored.url
    openly = Link(url, bearer=lambda: "", tls=_tls(url, known), warn=warn)
    return Link(url, bearer=_kept(lambda: bearer(known, openly), token_for), tls=_tls(url, known), warn=warn)


def link_to(url: str) -> Link:
    """A control plane that nobody here is known to yet."""
    return Link(url, bearer=lambda: "", tls=_tls(url, load()), warn=warn)


def _kept(bearer: Callable[[], str], seconds: float) -> Callable[[], str]:
    """The same token until so many seconds have passed."""
    token, until = "", 0.0

    def kept() -> str:
        nonlocal token, until
        if time.monotonic() >= until:
            token, until = bearer(), time.monotonic() + seconds
        return token

    return kept


def _tls(url: str, known: Settings) -> ssl.SSLContext | None:
    if not url.startswith("https:"):
        return None
    control = known.control
    return trust(ca=control.ca, certificate=control.client_certificate, key=control.client_key)
