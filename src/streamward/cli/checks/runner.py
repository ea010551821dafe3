"""Checks of a runner's host: the control plane at which it was enrolled, and the bus that it publishes to."""

import asyncio
import secrets
from datetime import UTC, datetime

from streamward.cli.checks.finding import Finding, failed, ok
from streamward.cli.checks.network import parted
from streamward.cli.connect import link_to
from streamward.cli.failure import CommandFailed
from streamward.cli.refusal import ControlAway
from streamward.drivers.buses import FILE, open_bus
from streamward.drivers.key_pair import StoredIdentity
from streamward.model.bus import BusAway, QueueRefused
from streamward.model.camera import without_credentials
from streamward.model.identity import Role
from streamward.model.secret import Secret
from streamward.protocol.events import BATCHER
from streamward.protocol.fields import ClearText
from streamward.protocol.identities import AskToken, TokenGiven
from streamward.runtime.clock import SystemClock
from streamward.settings import Settings


def identity(settings: Settings) -> Finding | None:
    """The control plane at which this host was enrolled as a runner knows it; None: it was not enrolled."""
    check, path = "runner", settings.runner_identity_file
    stored = StoredIdentity.load(path) if path.exists() else None
    if stored is None or stored.role is not Role.RUNNER:
        return None
    enrolled_at = stored.url.rstrip("/")
    url = enrolled_at if settings.control.url is None else settings.control_url
    assertion = stored.pair.assertion(now=int(datetime.now(UTC).timestamp()), incarnation=secrets.token_hex(8))
    try:
        link = link_to(url)
        told = link.post_openly("/v1/tokens", AskToken(assertion=ClearText(Secret(assertion))), TokenGiven).body
    except ControlAway as err:
        return failed(check, *parted(err))
    except CommandFailed as err:
        elsewhere = f"this host was enrolled at {enrolled_at}: unset STREAMWARD_CONTROL_URL"
        return failed(check, *parted(err)) if url == enrolled_at else failed(check, parted(err)[0], elsewhere)
    return ok(check, f"{told.subject} is known to the control plane at {url}")


def bus(settings: Settings) -> Finding | None:
    """What this host's runner publishes is read; None: there is no runner here."""
    check, path = "runner's bus", settings.data / FILE
    if not settings.runner_identity_file.exists():
        return None
    url = settings.amqp.url
    name = f"files in {settings.data}" if url is None else without_credentials(url.get_secret_value()).partition("?")[0]
    try:
        if url is None and not path.exists():  # opening would make it
            raise QueueRefused(BATCHER.name, "there is no such file")
        waiting = asyncio.run(_waiting(settings))
    except BusAway as err:
        return failed(check, str(err), "see that it runs and knows the user; STREAMWARD_AMQP_URL names it")
    except QueueRefused:
        remedy = "set STREAMWARD_AMQP_URL as it is set for the control plane, or use its host and data folder"
        return failed(check, f"{name} has no queue {BATCHER.name}: detections are never stored", remedy)
    return ok(check, f"{name} has the queue {BATCHER.name}, with {waiting} messages in it")


async def _waiting(settings: Settings) -> int:
    url = settings.amqp.url
    opened = open_bus(None if url is None else Secret(url.get_secret_value()), settings.data, clock=SystemClock())
    try:
        return await opened.waiting(BATCHER.name)
    finally:
        await opened.close()
