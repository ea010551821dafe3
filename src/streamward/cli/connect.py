"""The link of this process's commands, from its settings."""

import ssl

from streamward.cli.bearer import bearer, signed_in
from streamward.cli.link import Link, trust
from streamward.cli.output import warn
from streamward.settings import Settings, load


def connect(settings: Settings | None = None) -> Link:
    """The control plane that the settings name, or where somebody is signed in."""
    known = settings or load()
    stored = signed_in(known) if known.token is None else None
    url = known.control_url if stored is None or known.control.url is not None else stored.url
    openly = Link(url, bearer=lambda: "", tls=_tls(url, known), warn=warn)
    return Link(url, bearer=lambda: bearer(known, openly), tls=_tls(url, known), warn=warn)


def link_to(url: str) -> Link:
    """A control plane that nobody here is known to yet."""
    return Link(url, bearer=lambda: "", tls=_tls(url, load()), warn=warn)


def _tls(url: str, known: Settings) -> ssl.SSLContext | None:
    if not url.startswith("https:"):
        return None
    control = known.control
    return trust(ca=control.ca, certificate=control.client_certificate, key=control.client_key)
