"""The link of this process's commands, from its settings."""

from streamward.cli.bearer import bearer
from streamward.cli.link import Link, trust
from streamward.cli.output import warn
from streamward.settings import Settings, load


def connect(settings: Settings | None = None) -> Link:
    """The control plane that the settings name."""
    known = settings or load()
    control = known.control
    tls = None
    if known.control_url.startswith("https:"):
        tls = trust(ca=control.ca, certificate=control.client_certificate, key=control.client_key)
    return Link(known.control_url, bearer=lambda: bearer(known), tls=tls, warn=warn)
