"""A holder and what it is told, in a few words."""

from dataclasses import replace
from datetime import datetime

from streamward.leases.holder import Acquired, Answer, Ask, AskKind, Flags, Holder, HolderSpec, Releasing
from streamward.leases.policy import trusted_for
from streamward.leases.store import Kept, Named, OpenClaim, Renewal, Renewed
from streamward.model.ids import CameraId, Generation
from streamward.model.runner import RunnerSpec
from tests.support.builders import CAMERA, an_owner, at

OWNER = an_owner()
SPEC = HolderSpec(runner=RunnerSpec(runner_id=OWNER.runner_id, incarnation=OWNER.incarnation))
ONE, TWO = Generation(1), Generation(2)
OTHER = CameraId("cam-2")
TTL = 8.0
TRUST = trusted_for(TTL)


class Talk:
    """A holder and both sides of its conversation; boot-time and database time start together."""

    def __init__(self, *, capacity: int = 10) -> None:
        self.holder = Holder(SPEC)
        self.asks: list[Ask] = []
        self.poll(0.0)
        self.answer(AskKind.REGISTER, Flags(capacity=capacity), now=0.0)

    def poll(self, now: float) -> list[AskKind]:
        sent = self.holder.due(now)
        self.asks += sent
        return [ask.kind for ask in sent]

    def last(self, kind: AskKind) -> Ask:
        return next(ask for ask in reversed(self.asks) if ask.kind is kind)

    def answer(self, kind: AskKind, answer: Answer | None, *, now: float) -> None:
        self.holder.receive(self.last(kind), answer, now)

    def body(self, kind: AskKind) -> object:
        """What the last ask of a kind says, but for the time that it echoes."""
        body = self.last(kind).body
        return replace(body, echo=None) if isinstance(body, OpenClaim | Renewal) else body

    def hears(self, now: float) -> None:
        """Receives an answer to a renewal, so that it may claim."""
        self.holder.answers.receive(at(now), sent=now, now=now)

    def generation(self, now: float, camera_id: CameraId = CAMERA) -> Generation | None:
        """Under which it may process a camera."""
        held = self.holder.held(now).get(camera_id)
        return None if held is None else held.generation

    def flags(self, flags: Flags, *, now: float) -> None:
        self.poll(now)
        self.answer(AskKind.BEAT, flags, now=now)

    def acquired(self, *cameras: CameraId, now: float, more: bool = False, generation: Generation = ONE) -> "Talk":
        """Asks for cameras and gets these at once."""
        self.hears(now)
        self.holder.wake(now)
        self.poll(now)
        leases = tuple(Kept(camera_id, generation, TTL) for camera_id in cameras)
        self.answer(AskKind.ACQUIRE, Acquired(at=at(now), leases=leases, more=more), now=now)
        return self

    def released(self, now: float) -> tuple[Named, ...]:
        """What it asks to give back now."""
        self.poll(now)
        body = self.last(AskKind.RELEASE).body
        assert isinstance(body, Releasing)
        return body.leases


def renewed(
    *kept: CameraId,
    now: float,
    lost: tuple[CameraId, ...] = (),
    busy: tuple[CameraId, ...] = (),
    unlisted: tuple[Named, ...] = (),
) -> Renewed:
    return Renewed(
        at=at(now), kept=tuple(Kept(each, ONE, TTL) for each in kept), lost=lost, busy=busy, unlisted=unlisted
    )


def holding(*cameras: CameraId, now: float = 10.0) -> Talk:
    return Talk().acquired(*(cameras or (CAMERA,)), now=now)


def made_at(talk: Talk, *, arrived: float, now: float | None = None) -> datetime | None:
    stamp = talk.holder.stamp(CAMERA, arrived=arrived, now=arrived if now is None else now)
    return None if stamp is None else stamp.made_at
