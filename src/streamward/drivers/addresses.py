"""Where cameras are: what Workers are told of them, turned into addresses that their sites allow.

A name is resolved once for each dial, its addresses are judged, and the first that is allowed is dialed and no other.
"""

import asyncio
from dataclasses import dataclass

from streamward.drivers import names
from streamward.drivers.rtsp import DialFailed
from streamward.model.address_policy import AddressFault, AddressPolicy, parse_network
from streamward.model.errors import StreamwardError
from streamward.model.source_url import NETWORK, Address, Credential, SourceKind, SourceUrl, parse
from streamward.model.stream_error import StreamErrorCode, StreamFailure
from streamward.protocol.shards import Source
from streamward.vision.hosts import HostKey
from streamward.vision.restreams import Restream, can_be_restreamed, restream

RESOLVE_WITHIN = 4.5  # seconds
_PORTS = {SourceKind.RTSP: 554, SourceKind.RTSPS: 322}
_UNKNOWN = StreamFailure(code=StreamErrorCode.DNS_FAILED, detail="the host's name is not known")
_THIS_HOST = AddressPolicy(allow=(parse_network("127.0.0.0/8"),))


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraAddress:
    """Where a camera is, who may see it, and where its site lets us connect to."""

    url: SourceUrl
    credential: Credential | None
    addresses: AddressPolicy
    ca_file: str | None = None  # certificates that RTSPS trusts; None: the system's

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


def address(source: Source) -> CameraAddress:
    """Where a camera is and what its site allows; raises SourceUnusable."""
    try:
        policy = AddressPolicy(
            allow=tuple(map(parse_network, source.allow)),
            deny=tuple(map(parse_network, source.deny)),
            kinds=NETWORK | {SourceKind(kind) for kind in source.kinds},
        )
        parsed = parse(source.url.secret.reveal(), kinds=policy.kinds)
        given = (source.username, source.password)
        credential = (
            Credential(user=given[0].secret, password=given[1].secret) if given[0] and given[1] else parsed.credential
        )
    except StreamwardError as error:
        raise SourceUnusable(source.camera_uuid, error) from error
    return CameraAddress(url=parsed.url, credential=credential, addresses=policy, ca_file=source.ca_file)


def way(source: Source) -> CameraAddress:
    """Where a camera is read: where it is, or at a restream of it on this host."""
    if source.via is None:
        return address(source)
    try:
        parsed = parse(source.via.secret.reveal())
    except StreamwardError as error:
        raise SourceUnusable(source.camera_uuid, error) from error
    return CameraAddress(url=parsed.url, credential=None, addresses=_THIS_HOST)


async def restreamed(name: str, source: Source) -> Restream | None:
    """A camera for a restreamer, at an address that its site allows; None: there is none, or it cannot be its."""
    try:
        camera = address(source)
        if not can_be_restreamed(camera.url):
            return None
        return restream(name, camera.url, camera.credential, address=await resolved(camera))
    except (SourceUnusable, DialFailed):
        return None


async def resolved(camera: CameraAddress) -> Address:
    """The first address of the camera's host that its site allows; raises DialFailed."""
    literal = camera.url.address
    faults: list[AddressFault] = []
    for address in [literal] if literal is not None else await _looked_up(camera.url.host):
        fault = camera.addresses.judge(address)
        if fault is None:
            return address
        faults.append(fault)
    detail = f"the site does not allow this address ({faults[0]})"
    raise DialFailed(StreamFailure(code=StreamErrorCode.URL_FORBIDDEN, detail=detail))


async def _looked_up(host: str) -> list[Address]:
    try:
        async with asyncio.timeout(RESOLVE_WITHIN):
            return await names.look_up(host)
    except (OSError, UnicodeError, TimeoutError):
        raise DialFailed(_UNKNOWN) from None
