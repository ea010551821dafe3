"""What a Worker is told to watch (S0-038): by its Manager over a channel, or in a file that only its user can read."""

from typing import Annotated, Literal

import msgspec

from streamward.model import broker_url
from streamward.model.runtime import ModelRuntime
from streamward.model.secret import Secret
from streamward.model.video import DecodeMode, HardwareDecoding, SkipLoopFilter
from streamward.protocol import seeing
from streamward.protocol.events import DETECTIONS, STATUS
from streamward.protocol.fields import ClearText, Fingerprint, Id, Message, Version
from streamward.protocol.seeing import EveryN, Thresholds, ZoneShapes
from streamward.protocol.sites import LocalKind, SourceLimits, SourceRules
from streamward.vision.zones import Zones

SHARD_SIZE = 64  # cameras at most

Fps = Annotated[float, msgspec.Meta(gt=0, le=240)]
PlainUrl = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?(/[^@?#\s]*)?$(?!\n)",
        description="like `https://control.example:8443`, without a user, a query or a fragment",
    ),
]
DetectorName = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[A-Za-z0-9_-]{1,64}$(?!\n)|^[A-Za-z0-9_.]{1,256}:[A-Za-z0-9_.]{1,256}$(?!\n)"
        r"|^[^:\x00-\x1f]{0,512}[./][^:\x00-\x1f]{1,512}$(?!\n)",
        description="`colour`, the name of a model or of what an installed package offers, the path of a model, "
        "or `package.module:function`",
    ),
]


class Source(Message, frozen=True):
    """One camera; without a generation the Worker takes its lease itself."""

    camera_uuid: Id
    url: ClearText
    site_id: Id
    tenant_id: Id
    username: ClearText | None = None
    password: ClearText | None = None
    credential_version: int = 0
    generation: Version | None = None
    epoch: int = 1
    is_dial_paid: bool = False  # its first dial has a token of its site, and waits for no other dial of this Worker
    max_fps: Fps | None = None
    detect_every_n_frames: EveryN = 1
    decode: DecodeMode | None = None  # null: the shard's
    detector: DetectorName | None = None
    do_not_process: bool = False
    allow: list[str] = msgspec.field(default_factory=list)
    deny: list[str] = msgspec.field(default_factory=list)
    kinds: list[LocalKind] = msgspec.field(default_factory=list)
    installation: SourceRules | None = None  # the installation's limits, as its control plane reports them
    zones: ZoneShapes = msgspec.field(default_factory=list)
    thresholds: Thresholds = msgspec.field(default_factory=dict)  # empty: what the detector holds for sure enough
    tls_fingerprint: Fingerprint | None = None  # of an rtsps camera's certificate: no other is accepted
    tls_ca: str | None = None  # in PEM: the CAs that rtsps trusts, with those in `ca_file`; neither: the system's
    ca_file: str | None = None  # of the Worker's host
    via: ClearText | None = None  # a restream of it on this host, which is read in its place

    def __post_init__(self) -> None:
        seeing.check_names(self.zones)
        seeing.check_thresholds(self.thresholds)


class Broker(Message, frozen=True):
    """Where events go; without a host to the embedded bus of this machine."""

    host: str | None = None
    url: ClearText | None = None
    ex_status: str = STATUS
    ex_detect: str = DETECTIONS

    def __post_init__(self) -> None:
        reached_by = self.reached_by
        if reached_by is not None and not broker_url.is_broker(reached_by.reveal()):
            raise ValueError(f"the broker's URL {broker_url.RULE}")

    @property
    def reached_by(self) -> Secret | None:
        """The URL, or that of a host with the broker's own defaults."""
        if self.url is not None:
            return self.url.secret
        return None if self.host is None else Secret(f"amqp://guest:guest@{self.host}/")


class ObjectsAt(Message, frozen=True):
    """Where payloads go that are too large for the broker: `file:///folder` of this host, or `s3://bucket/prefix`.

    S3 is asked at `endpoint`, without one at Amazon's of that region.
    """

    url: str
    endpoint: str | None = None
    region: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9-]{1,64}$(?!\n)")] = "us-east-1"
    access_key: ClearText | None = None
    secret_key: ClearText | None = None
    ca_file: str | None = None  # certificates that are trusted; null: the system's


class ControlPlane(Message, frozen=True):
    """Where leases are taken, if no Manager feeds them: by a token, or by the key of a host that was enrolled."""

    base_url: PlainUrl
    token: ClearText | None = None
    identity_file: str | None = None
    ca_file: str | None = None  # certificates that are trusted; null: the system's


class ModelsAt(Message, frozen=True):
    """Where models lie, by whose key they must be signed (the public half in base64; null: nobody's), who runs ONNX.

    `used` is where it is noted which signed versions were: no older one is taken then. Null: nowhere.
    """

    folder: str = "data/models"
    key: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{43}$(?!\n)")] | None = None
    runtime: ModelRuntime = ModelRuntime.ONNXRUNTIME
    used: str | None = None


class Telemetry(Message, frozen=True):
    """How often things are told."""

    report_interval_seconds: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 5.0


class LogLines(Message, frozen=True):
    """What a Worker writes to its standard error."""

    format: Literal["auto", "json", "text"] = "auto"  # `auto` is text on a terminal and JSON elsewhere
    level: Literal["debug", "info", "warning", "error"] = "info"


class ShardConfig(Message, frozen=True):
    """Manager or a person: one Worker's cameras and where its events go."""

    runner_id: Id
    shard_id: Id
    sources: Annotated[list[Source], msgspec.Meta(max_length=SHARD_SIZE)]
    source_limits: SourceLimits = SourceLimits()  # of this host, whatever the sources' sites allow
    max_fps: Fps = 6.0
    detector: DetectorName = "colour"
    decode: DecodeMode = DecodeMode.SAMPLED
    skip_loop_filter: SkipLoopFilter = SkipLoopFilter.NONE
    hardware: HardwareDecoding = HardwareDecoding.NONE
    incarnation: Id | None = None
    tenant: Id | None = None  # of the cameras that will be added
    amqp: Broker = Broker()
    objects: ObjectsAt | None = None
    cp: ControlPlane | None = None
    telemetry: Telemetry = Telemetry()
    log: LogLines = LogLines()
    readiness_quorum_pct: Annotated[int, msgspec.Meta(ge=1, le=100)] = 80
    grace_timeout_s: Annotated[float, msgspec.Meta(gt=0, le=600)] = 10.0
    data: str = "data"  # folder of spools and, without a broker, of the event bus
    models: ModelsAt = ModelsAt()
    spool_bytes: Annotated[int, msgspec.Meta(ge=1 << 20, le=1 << 40)] = 256 << 20
    clip_seconds: Annotated[float, msgspec.Meta(ge=0, le=60)] = 30.0  # of each camera that are kept for clips; 0: none
    clip_bytes: Annotated[int, msgspec.Meta(ge=0, le=1 << 30)] = 4 << 20  # of each camera at most
    clip_folder: str | None = None  # of this user alone, in which these lie; null: they lie in memory
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 0  # of its HTTP on loopback; 0: any that is free
    api_secret: ClearText | None = None  # by which it may be drained over HTTP; null: one is made
    failpoints: str = ""  # for fault drills only

    def __post_init__(self) -> None:
        names = [source.camera_uuid for source in self.sources]
        if len(names) != len(set(names)):
            raise ValueError("a camera is named twice")
        if len({source.tenant_id for source in self.sources}) > 1:
            raise ValueError("cameras of several tenants never share a process")

    @property
    def tenant_id(self) -> str:
        """Whose cameras these are; a shard that has none yet is nobody's."""
        return self.sources[0].tenant_id if self.sources else self.tenant or "nobody"

    @property
    def secrets(self) -> list[ClearText]:
        """What in it must not be seen; a URL without a user is no secret."""
        given = [self.api_secret, self.cp.token if self.cp else None]
        given += [self.objects.access_key, self.objects.secret_key] if self.objects else []
        for source in self.sources:
            given += [source.username, source.password, source.via]
        urls = (each for each in (self.amqp.url, *(source.url for source in self.sources)) if each is not None)
        given += [url for url in urls if "@" in url.secret.reveal()]
        return [each for each in given if each is not None]


def zones_of(source: Source) -> Zones:
    """Where in its picture things count."""
    return Zones(seeing.read(source.zones))
