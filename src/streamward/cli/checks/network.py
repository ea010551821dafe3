"""Checks of what is reached over the network: our own port, broker, Redis, the control plane that commands speak to."""

import asyncio
import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from urllib.parse import urlsplit

from streamward import __version__
from streamward.batcher.app import reach_index
from streamward.cli.checks.database import Reading, clock
from streamward.cli.checks.finding import Finding, failed, ok, warning
from streamward.cli.connect import connect
from streamward.cli.failure import CommandFailed
from streamward.cli.link import Link, trust
from streamward.cli.refusal import ControlAway, NotSignedIn, TlsRefused
from streamward.control.app import reach_broker
from streamward.control.server import listen
from streamward.insight.store import IndexAway
from streamward.model.bus import BusAway
from streamward.model.camera import without_credentials
from streamward.protocol.cameras import CameraPage
from streamward.protocol.codec import MalformedMessage, decode
from streamward.protocol.health import Alive
from streamward.runtime.http_client import Raw
from streamward.runtime.listening import CannotListen
from streamward.settings import Settings

GRAIN = timedelta(seconds=1)  # an HTTP date leaves out what is below it


def port(settings: Settings) -> Finding:
    """A control plane could listen here, or one does."""
    check = "port"
    if settings.port == 0:
        return ok(check, "a free one is taken at start")
    place = f"{settings.host} port {settings.port}"
    try:
        listen(settings.host, settings.port).close()
    except CannotListen as err:
        return _taken(check, place, settings, err)
    return ok(check, f"{place} is free")


def control(settings: Settings) -> list[Finding]:
    """The control plane that commands speak to: whether it is there, its version, its clock, and who we are to it."""
    check, url = "control plane", settings.control_url
    try:
        link = connect(settings)
        asked = datetime.now(UTC)
        raw = link.ask("/healthz")
        answered = datetime.now(UTC)
        alive = _alive(raw)
    except ControlAway as err:
        if settings.control.url is None and settings.runner_identity_file.exists():
            return []  # a runner's host: `runner` has checked the control plane that it was enrolled at
        if settings.control.url is None:
            return [
                warning(
                    check, f"none runs at {url}", "start it with `streamward control`, or set STREAMWARD_CONTROL_URL"
                )
            ]
        return [_failure(check, err)]
    except CommandFailed as err:
        return [_failure(check, err)]
    if alive is None:
        return [
            failed(check, f"what answers at {url} is not Streamward", "set STREAMWARD_CONTROL_URL to where that runs")
        ]
    found = [_version(check, url, alive.version), _readiness(link)]
    if raw.at is not None:
        reading = Reading(theirs=raw.at, asked=asked, answered=answered, grain=GRAIN)
        found.append(clock("control plane's clock", reading))
    return [*found, _identity(link, settings), *exposure(url)]


def broker(settings: Settings) -> Finding | None:
    """The broker that is told of changes lets us in; None: there is none."""
    check, url = "broker", settings.amqp.url
    if url is None:
        return None
    shown = without_credentials(url.get_secret_value()).partition("?")[0]
    try:
        asyncio.run(reach_broker(settings.amqp))
    except BusAway as err:
        return failed(check, str(err), "see that it runs and knows the user; STREAMWARD_AMQP_URL names it")
    return ok(check, f"{shown} lets us in")


def redis(settings: Settings) -> Finding | None:
    """The Redis in which batchers share what is open lets us in; None: there is none."""
    check, url = "Redis", settings.redis.url
    if url is None:
        return None
    shown = without_credentials(url.get_secret_value()).partition("?")[0]
    try:
        asyncio.run(reach_index(settings.redis))
    except IndexAway as err:
        return failed(check, str(err), "see that it runs and knows the user; STREAMWARD_REDIS_URL names it")
    return ok(check, f"{shown} lets us in")


def _taken(check: str, place: str, settings: Settings, why: CannotListen) -> Finding:
    """Who has our port. Whoever it is gets no token, so its certificate does not matter."""
    here = settings.model_copy(update={"control": settings.control.model_copy(update={"url": None})})
    try:
        alive = _alive(Link(here.control_url, bearer=str, tls=_unverified(settings)).ask("/healthz"))
    except TlsRefused as err:
        detail, remedy = parted(err)
        return warning(check, f"{place} is taken, and could not be asked by whom: {detail}", remedy)
    except CommandFailed:
        alive = None
    if alive is not None:
        return ok(check, f"{place} is served by Streamward {alive.version}")
    remedy = "stop what has it, or set STREAMWARD_PORT and STREAMWARD_HOST"
    return failed(check, f"cannot listen on {place} ({why.why})", remedy)


def _unverified(settings: Settings) -> ssl.SSLContext:
    context = trust(ca=None, certificate=settings.control.client_certificate, key=settings.control.client_key)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _alive(raw: Raw) -> Alive | None:
    try:
        return decode(raw.body, Alive)
    except MalformedMessage:
        return None


def _failure(check: str, err: CommandFailed) -> Finding:
    detail, remedy = parted(err)
    return failed(check, detail, remedy)


def parted(err: CommandFailed) -> tuple[str, str]:
    """The fact and the remedy of a sentence that has both."""
    detail, _, remedy = str(err).rpartition(": ")
    return (detail, remedy) if detail else (remedy, "see the log of the control plane")


def _version(check: str, url: str, version: str) -> Finding:
    if version.split(".")[:2] != __version__.split(".")[:2]:
        return warning(check, f"{url} has version {version}, this program {__version__}", "install the same version")
    return ok(check, f"version {version} answers at {url}")


def _readiness(link: Link) -> Finding:
    check = "its database"
    try:
        raw = link.ask("/ready")
    except CommandFailed as err:
        return _failure(check, err)
    if raw.status != HTTPStatus.OK:
        return failed(
            check, "the control plane is up, but its database does not answer", "see its log and the database"
        )
    return ok(check, "answers the control plane")


def _identity(link: Link, settings: Settings) -> Finding:
    check = "sign-in"
    try:
        link.get("/v1/cameras", CameraPage, {"limit": 1})
    except NotSignedIn as err:
        detail, remedy = parted(err)
        return (warning if settings.token is None else failed)(check, detail, remedy)
    except CommandFailed as err:
        return _failure(check, err)
    return ok(check, "the control plane knows us")


def exposure(url: str) -> list[Finding]:
    """Tokens in the clear on a network."""
    place = urlsplit(url)
    if place.scheme == "https" or _is_loopback(place.hostname or ""):
        return []
    remedy = "serve TLS (STREAMWARD_TLS_CERTIFICATE), or put it behind a proxy that does"
    return [warning("encryption", f"tokens travel in the clear to {url}", remedy)]


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
