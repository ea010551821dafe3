"""Where cameras are: what Workers are told of them, turned into addresses that may be connected to.

A name is resolved once for each dial. Each of its addresses is judged by the rules of the camera's site, by the limits
of the installation and by those of this host; only those that pass all three are dialed (`drivers/happy_eyeballs.py`).
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from ipaddress import ip_address

from streamward.drivers import happy_eyeballs, names
from streamward.drivers.camera_tls import ANY_KNOWN_CA, Trust
from streamward.drivers.rtsp import DialFailed
from streamward.model.address_policy import DEFAULT_LIMITS, AddressPolicy, parse_network
from streamward.model.certificates import fingerprint
from streamward.model.errors import StreamwardError
from streamward.model.source_url import NETWORK, Address, Credential, SourceKind, SourceUrl, UrlFault, parse
from streamward.model.stream_error import StreamErrorCode, StreamFailure
from streamward.protocol.shards import Source
from streamward.protocol.sites import SourceLimits, SourceRules
from streamward.vision.hosts import HostKey
from streamward.vision.restreams import Restream, can_be_restreamed, restream

RESOLVE_WITHIN = 4.5  # seconds
_PORTS = {SourceKind.RTSP: 554, SourceKind.RTSPS: 322}
_UNKNOWN = StreamFailure(code=StreamErrorCode.DNS_FAILED, detail="the host's name is not known")
_THIS_HOST = AddressPolicy(allow=(parse_network("127.0.0.0/8"),))


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLimits:
    """What this host opens at all; without a setting no special address, no file and no device."""

    addresses: AddressPolicy = DEFAULT_LIMITS
    folders: tuple[str, ...] = ()  # below which files may be opened


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraAddress:
    """Where a camera is, who may see it, and what its site, the installation and this host allow."""

    url: SourceUrl
    credential: Credential | None
    addresses: AddressPolicy
    installation: AddressPolicy | None = None  # None: not known, as of a config that a person wrote
    limits: HostLimits = HostLimits()
    trust: Trust = ANY_KNOWN_CA  # of RTSPS

    def forbids_kind(self) -> StreamFailure | None:
        """Why a source of its kind is not opened; None: it may be."""
        return self._forbids(lambda policy: None if self.url.kind in policy.kinds else UrlFault.KIND)

    def forbids(self, address: Address) -> StreamFailure | None:
        """Why no connection is made to that address; None: it may be."""
        return self._forbids(lambda policy: policy.judge(address))

    def allowed(self, addresses: Sequence[Address]) -> list[Address]:
        """Those of a name's addresses that may be connected to, in the order to try; raises DialFailed if none may."""
        refusals = {each: self.forbids(each) for each in addresses}
        allowed = [each for each, refusal in refusals.items() if refusal is None]
        if not allowed:
            raise DialFailed(next(filter(None, refusals.values()), _UNKNOWN))
        return happy_eyeballs.in_order(allowed)

    def _forbids(self, judge: Callable[[AddressPolicy], StrEnum | None]) -> StreamFailure | None:
        if fault := judge(self.addresses):
            return StreamFailure(code=StreamErrorCode.URL_FORBIDDEN, detail=f"the site does not allow this ({fault})")
        if self.installation is not None and (fault := judge(self.installation)):
            detail = f"the installation does not allow this ({fault})"
            return StreamFailure(code=StreamErrorCode.URL_FORBIDDEN, detail=detail)
        if fault := judge(self.limits.addresses):
            detail = f"the settings of this runner do not permit this ({fault}): see STREAMWARD_RUNNER_SOURCE_*"
            return StreamFailure(code=StreamErrorCode.SOURCE_NOT_PERMITTED, detail=detail)
        return None

    @property
    def host(self) -> HostKey | None:
        """None: it is on this one."""
        return HostKey(self.url.host, self.port) if self.url.kind in NETWORK else None

    @property
    def port(self) -> int:
        return self.url.port or _PORTS.get(self.url.kind, 0)


class SourceUnusable(StreamwardError):
    """A camera that cannot be watched as it is described."""

    def __init__(self, camera_uuid: str, why: StreamwardError) -> None:
        super().__init__(camera_uuid, why)
        self.camera_uuid = camera_uuid
        self.why = why

    def __str__(self) -> str:
        return f"camera {self.camera_uuid}: {self.why}"


def host_limits(given: SourceLimits) -> HostLimits:
    """The limits of this host, as its settings or a Worker's config name them; raises NetworkRefused."""
    policy = given.policy
    return HostLimits(
        addresses=replace(policy, kinds=policy.kinds | DEFAULT_LIMITS.kinds), folders=tuple(given.folders)
    )


def address(source: Source, limits: HostLimits) -> CameraAddress:
    """Where a camera is and what its site allows; raises SourceUnusable."""
    try:
        policy = SourceRules(allow=source.allow, deny=source.deny, kinds=source.kinds).policy
        installation = None if source.installation is None else source.installation.policy
        parsed = parse(source.url.secret.reveal(), kinds=policy.kinds)
        given = (source.username, source.password)
        credential = (
            Credential(user=given[0].secret, password=given[1].secret) if given[0] and given[1] else parsed.credential
        )
    except StreamwardError as error:
        raise SourceUnusable(source.camera_uuid, error) from error
    return CameraAddress(
        url=parsed.url,
        credential=credential,
        addresses=policy,
        installation=installation,
        limits=limits,
        trust=Trust(
            fingerprint=None if source.tls_fingerprint is None else fingerprint(source.tls_fingerprint),
            ca=source.tls_ca,
            ca_file=source.ca_file,
        ),
    )


def way(source: Source, limits: HostLimits) -> CameraAddress:
    """Where a camera is read: where it is, or at a restream of it on this host.

    A restream is the runner's own choice: the limits hold for the camera behind it (`restreamed`).
    """
    if source.via is None:
        return address(source, limits)
    try:
        parsed = parse(source.via.secret.reveal())
    except StreamwardError as error:
        raise SourceUnusable(source.camera_uuid, error) from error
    return CameraAddress(url=parsed.url, credential=None, addresses=_THIS_HOST, limits=HostLimits(addresses=_THIS_HOST))


async def restreamed(name: str, source: Source, limits: HostLimits) -> Restream | None:
    """A camera for a restreamer, at an address that is allowed; None: there is none, or it cannot be restreamed.

    A restreamer gets one address. Of several it is the one that answers, or the first if none does.
    """
    try:
        camera = address(source, limits)
        if not can_be_restreamed(camera.url):
            return None
        found = await allowed_addresses(camera)
    except (SourceUnusable, DialFailed):
        return None
    if len(found) > 1:
        found = [await _answering(found, camera.port) or found[0]]
    return restream(name, camera.url, camera.credential, address=found[0])


async def allowed_addresses(camera: CameraAddress) -> list[Address]:
    """All addresses of the camera's host that site, installation and runner allow; raises DialFailed if none is."""
    literal = camera.url.address
    return camera.allowed([literal] if literal is not None else await _looked_up(camera.url.host))


async def _answering(addresses: list[Address], port: int) -> Address | None:
    try:
        with await happy_eyeballs.connect(addresses, port) as connected:
            return ip_address(connected.getpeername()[0])
    except (DialFailed, OSError):
        return None


async def _looked_up(host: str) -> list[Address]:
    try:
        async with asyncio.timeout(RESOLVE_WITHIN):
            return await names.look_up(host)
    except (OSError, UnicodeError, TimeoutError):
        raise DialFailed(_lacking() or _UNKNOWN) from None


def _lacking() -> StreamFailure | None:
    """Whether a name could not be looked up because this host is at a limit, which the resolver does not say."""
    try:
        socket.socket().close()
    except OSError as error:
        return happy_eyeballs.exhaustion(error)
    return None
