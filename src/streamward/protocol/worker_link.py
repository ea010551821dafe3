"""What a Manager and its Worker tell each other over the channel that the Worker inherits.

    Manager ─ Warm ──→ Worker ─ Warmed →     a detector to load, while nothing is begun
            ─ Ping ──→        ─ Pong →       whether the spare still answers
            ─ Begin ─→        ─ Began →      one shard's config; then its port
            ─ Feed ──→                       absolute boot-time deadlines: both are on one host, and the latest wins
            ─ Expect ─→                      which cameras the shard has, whether or not they were added yet
            ─ Add, Drop, Mute, Unmute ─→     one camera; Drop and Mute are answered by Stopped
            ─ SetPace ─→                     how fast it may dial a site again
            ─ Drain, Terminate ─→            the end
            ← Told, Showing, DialEnded ─     how streams do
            ← LoginsAsked ─                  to be passed on as `POST /v1/logins`; answered by LoginsAnswered

Orders are idempotent, and neither end waits for the other. The end of the channel is the end of the Worker. A camera
ends by itself too, so a word about its end names which start of it ended: the Manager may have begun another since.
"""

from enum import IntEnum

from streamward.leases.held import Held
from streamward.model.ids import Generation
from streamward.protocol import codec
from streamward.protocol.events import StreamFailed
from streamward.protocol.fields import Id, Instant, Message, Version
from streamward.protocol.logins import AnsweredLogin, NamedLogin, ToldLogin
from streamward.protocol.shards import DetectorName, ModelsAt, ShardConfig, Source
from streamward.protocol.streams import StreamReport


class WorkerExit(IntEnum):
    """How a Worker's process ended, by its exit code."""

    DRAINED = 0
    FAILED = 1  # an error that nobody foresaw
    MISCONFIGURED = 2  # what it was told to do cannot be done
    DETECTOR_UNUSABLE = 10
    FENCED = 11  # a later incarnation of the runner has taken its place
    TERMINATED = 12  # at once, by /terminate
    ORPHANED = 13  # the channel to its Manager ended
    DETECTOR_STUCK = 14  # at a picture of the camera on its board, while others wait


class FedLease(Message, frozen=True):
    """A lease as the Manager knows it; instants are boot-time but for `told_at`."""

    camera_uuid: Id
    version: Version
    deadline: float
    told_at: Instant
    asked: float
    since: float


class Warm(Message, frozen=True, tag="warm"):
    """Manager: load this detector, for a shard will come; answered by Warmed."""

    detector: DetectorName
    models: ModelsAt


class Ping(Message, frozen=True, tag="ping"):
    """Manager, to a Worker that has loaded its detector and waits for a shard; answered by Pong."""


class Begin(Message, frozen=True, tag="begin"):
    """Manager: watch this shard."""

    config: ShardConfig


class Feed(Message, frozen=True, tag="feed"):
    """Manager: until when which cameras may be run; one that is not named keeps what it was told before."""

    leases: list[FedLease]


class Expect(Message, frozen=True, tag="expect"):
    """Manager: the cameras of the shard; `/ready` is judged by them, also while they wait for a dial token."""

    cameras: list[Id]


class Add(Message, frozen=True, tag="add"):
    """Manager: begin with one more camera, or with one that has changed; a muted one makes no events yet."""

    source: Source
    is_muted: bool = False


class Drop(Message, frozen=True, tag="drop"):
    """Manager: end one camera, which was added with that epoch; answered by Stopped."""

    camera_uuid: Id
    epoch: int = 0


class Mute(Message, frozen=True, tag="mute"):
    """Manager: make no more events of a camera, but go on watching it; answered by Stopped.

    The last word about the stream is DISCONNECTED if another runner gets the camera (`is_final`), and not if a Worker
    of the same runner does.
    """

    camera_uuid: Id
    is_final: bool = False


class Unmute(Message, frozen=True, tag="unmute"):
    """Manager: make events of what arrives after that boot-time."""

    camera_uuid: Id
    after: float


class SetPace(Message, frozen=True, tag="set-pace"):
    """Manager: dial the cameras of a site again so fast from here, and so many at once: its share, of a dial too."""

    site_id: Id
    per_minute: float
    burst: float


class LoginsAnswered(Message, frozen=True, tag="logins-answered"):
    """Manager: what the control plane said to LoginsAsked of that number; without an answer there is none of these."""

    number: int
    items: list[AnsweredLogin]


class Drain(Message, frozen=True, tag="drain"):
    """Manager: end everything in good order."""


class Terminate(Message, frozen=True, tag="terminate"):
    """Manager: end now."""


class Warmed(Message, frozen=True, tag="warmed"):
    """Worker: the detector is loaded, or why it cannot be had; the latter also instead of Began."""

    problem: str | None = None


class Pong(Message, frozen=True, tag="pong"):
    """Worker: it waits for a shard."""


class Began(Message, frozen=True, tag="began"):
    """Worker: it runs, and serves HTTP on that loopback port."""

    pid: int
    port: int


class Told(Message, frozen=True, tag="told"):
    """Worker: how its streams are, and what failed."""

    reports: list[StreamReport]
    failures: list[StreamFailed]


class Showing(Message, frozen=True, tag="showing"):
    """Worker: the first frame of a camera after it was added."""

    camera_uuid: Id
    arrived: float


class DialEnded(Message, frozen=True, tag="dial-ended"):
    """Worker: the first connection to a camera was made or has failed, so it is in flight no more."""

    camera_uuid: Id


class LoginsAsked(Message, frozen=True, tag="logins-asked"):
    """Worker: how logins ended and which it wants to try; without LoginsAnswered in time they wait."""

    number: int
    told: list[ToldLogin]
    asks: list[NamedLogin]


class Stopped(Message, frozen=True, tag="stopped"):
    """Worker: no event of this camera follows; when the frame of the last one arrived, and how it was dated.

    Nor does one of an earlier start than that of `epoch`; after Mute it is 0, for the camera goes on.
    """

    camera_uuid: Id
    epoch: int = 0
    last_arrived: float | None = None
    made_until: Instant | None = None


Order = Warm | Ping | Begin | Feed | Expect | Add | Drop | Mute | Unmute | SetPace | LoginsAnswered | Drain | Terminate
Word = Warmed | Pong | Began | Told | Showing | DialEnded | LoginsAsked | Stopped


def read_order(content: bytes) -> Order:
    """What the Manager said; raises MalformedMessage."""
    return codec.decode(content, Order)  # type: ignore[arg-type]  # a union is no class


def read_word(content: bytes) -> Word:
    """What a Worker said; raises MalformedMessage."""
    return codec.decode(content, Word)  # type: ignore[arg-type]


def fed(camera_uuid: str, held: Held) -> FedLease:
    """A lease as it goes to the Worker."""
    return FedLease(
        camera_uuid=camera_uuid,
        version=held.generation,
        deadline=held.deadline,
        told_at=held.told_at,
        asked=held.asked,
        since=held.since,
    )


def held(lease: FedLease) -> Held:
    """A lease as it came from the Manager."""
    return Held(
        generation=Generation(lease.version),
        deadline=lease.deadline,
        told_at=lease.told_at,
        asked=lease.asked,
        since=lease.since,
    )
