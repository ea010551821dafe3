"""The leases of a Worker that has no Manager: it takes those of its own cameras and keeps them, or does not run them.

What may be trusted and how things are dated is `leases.held`, as for a Manager. Not knowing means not holding.

A slow answer delays no later call: renewals and acquisitions go at their pace, a few of them outstanding, and each
answer counts from when its own call was sent (`leases.renewal_answers`).
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any, Protocol

from streamward.leases.fence import Stamp
from streamward.leases.held import Held, heard
from streamward.leases.lease import DenialReason, Owner
from streamward.leases.policy import FAST, trusted_for
from streamward.leases.renewal_answers import RenewalAnswers
from streamward.leases.store import Kept
from streamward.model.ids import CameraId, Generation
from streamward.protocol.leases import (
    AcquireCamera,
    CamerasReleased,
    CamerasRenewed,
    GrantedLease,
    LeaseGivenBack,
    NamedLease,
    ReleaseCameras,
    RenewCameras,
)
from streamward.protocol.problem import Problem
from streamward.runner.facts import AnswersInTime, AnswersTooLate, LeaseDenied, LeasesRenewed
from streamward.runtime.clock import Clock
from streamward.runtime.hedging import WITHIN, Overlapping, hedged
from streamward.runtime.journal import Journal

RETRY_EVERY = 2.0  # seconds until a camera that somebody else has is asked for again
LOOK_EVERY = 0.1  # seconds until it is looked at again whether anything is wanted yet
AGAIN_AFTER = 0.5  # seconds after a renewal that was not answered, or not for each lease


class Control(Protocol):
    """The control plane; None: it did not answer in time."""

    async def post(self, path: str, message: Any, kind: type[Any], *, within: float) -> Any | Problem | None: ...


class OwnLeases:
    """What this Worker holds."""

    def __init__(
        self, owner: Owner, control: Control, *, clock: Clock, journal: Journal | None = None, ttl: float = FAST.ttl
    ) -> None:
        self._journal = journal or Journal()
        self._owner = owner
        self._control = control
        self._clock = clock
        self._ttl = ttl
        self._held: dict[CameraId, Held] = {}
        self._stamped_until: dict[CameraId, datetime] = {}  # of the generation that is held
        self._wanted: set[CameraId] = set()
        self._newest: Held | None = None  # of any camera: the newest word of the database's time
        self._answers = RenewalAnswers(FAST.renew_every)
        self._lost_at: dict[CameraId, float] = {}  # boot-time; answers to what was sent before do not count
        self._renewing = Overlapping()
        self._acquiring: defaultdict[CameraId, Overlapping] = defaultdict(Overlapping)
        self._denials: dict[CameraId, str] = {}  # why a camera that is wanted was not granted, as last recorded
        self._is_refused = False  # the last renewal failed, or not every lease was kept

    def want(self, camera_id: CameraId) -> None:
        """A camera to be held from now on."""
        self._wanted.add(camera_id)

    def generation(self, camera_id: CameraId) -> Generation | None:
        """Under which generation a camera may be run now; None: under none."""
        held = self._held.get(camera_id)
        return held.generation if held is not None and held.is_trusted(self._clock.boot()) else None

    def holds(self, camera_id: CameraId) -> bool:
        """Whether a camera may be run now."""
        return self.generation(camera_id) is not None

    def stamp(self, camera_id: CameraId, *, arrived: float, now: float) -> Stamp | None:
        held = self._held.get(camera_id)
        stamp = None if held is None else held.stamp(camera_id, self._owner, arrived=arrived, now=now)
        if stamp is not None:
            self._stamped_until[camera_id] = max(stamp.made_at, self._stamped_until.get(camera_id, stamp.made_at))
        return stamp

    def database_time(self, boot: float) -> datetime:
        return self._clock.wall() if self._newest is None else self._newest.database_time(boot)

    async def tick(self) -> float:
        """Renews what is held and asks for what is not; returns in how many seconds to do it again."""
        if not self._wanted:
            return LOOK_EVERY
        begun, self._is_refused = self._clock.boot(), False
        may_claim = self._answers.delay is None and (not self._held or self._answers.may_claim(begun))
        missing = [each for each in sorted(self._wanted) if not self.holds(each)] if may_claim else []
        # One after the other, slow answers would cost what is held.
        await asyncio.gather(
            self._renewing.call(self._renew()),
            *(self._acquiring[camera_id].call(self._acquire(camera_id)) for camera_id in missing),
        )
        every = AGAIN_AFTER if self._is_refused else min(FAST.renew_every, RETRY_EVERY)
        return max(0.0, begun + every - self._clock.boot())

    async def give_back(self) -> None:
        """Releases everything; to be called when nothing is made under it any more."""
        await self.close()
        given = [
            LeaseGivenBack(camera_uuid=each, version=held.generation, made_until=self._stamped_until.get(each))
            for each, held in self._held.items()
        ]
        self._held.clear()
        self._wanted.clear()
        await self._send_release(given)

    async def close(self) -> None:
        """Ends what is outstanding."""
        await asyncio.gather(self._renewing.close(), *(each.close() for each in self._acquiring.values()))

    async def _acquire(self, camera_id: CameraId) -> None:
        asked = self._clock.boot()
        message = AcquireCamera(
            runner_id=self._owner.runner_id,
            camera_uuid=camera_id,
            ttl_seconds=self._ttl,
            incarnation=self._owner.incarnation,
            server_time_echo=self._answers.echo
            if self._held
            else None,  # without leases it renews nothing: it may be old
        )
        answer = await self._control.post("/v1/leases/camera/acquire", message, GrantedLease, within=WITHIN)
        if isinstance(answer, GrantedLease):
            self._answers.begin(self._clock.boot(), granted_at=answer.server_time)
            is_new = camera_id not in self._held
            kept = Kept(camera_id, Generation(answer.version), answer.ttl_ms / 1000)
            self._take(kept, at=answer.server_time, asked=asked)
            if is_new and not self.holds(camera_id):
                await self._release([camera_id])  # the answer came too late to begin with it: another may be quicker
            self._denials.pop(camera_id, None)
        elif isinstance(answer, Problem) and answer.reason not in (DenialReason.BUSY, self._denials.get(camera_id)):
            self._denials[camera_id] = answer.reason
            self._journal.record(LeaseDenied(camera_id=camera_id, reason=answer.reason, detail=answer.detail))

    async def _renew(self) -> None:
        """Renews, also with nothing to name while answers were too late: to know when they are in time again."""
        if not self._held and self._answers.delay is None:
            return
        asked = self._clock.boot()
        before = dict(self._held)
        message = RenewCameras(
            runner_id=self._owner.runner_id,
            cameras=[NamedLease(camera_uuid=each, version=held.generation) for each, held in before.items()],
            incarnation=self._owner.incarnation,
            server_time_echo=self._answers.echo,
        )
        answer = await self._control.post("/v1/leases/cameras/renew", message, CamerasRenewed, within=WITHIN)
        self._is_refused = not isinstance(answer, CamerasRenewed) or bool(answer.busy)
        if not isinstance(answer, CamerasRenewed):
            return
        now = self._clock.boot()
        self._journal.record(LeasesRenewed(duration_ms=(now - asked) * 1000))
        is_newest = self._answers.receive(answer.server_time, sent=asked, now=now)
        for each in answer.renewed:
            kept = Kept(CameraId(each.camera_uuid), Generation(each.version), each.ttl_ms / 1000)
            self._take(kept, at=answer.server_time, asked=asked)
        lost = [CameraId(each) for each in answer.lost] if is_newest else []
        same = [each for each in lost if each in self._held and self._held[each].generation == before[each].generation]
        await self._release([*same, *self._too_late(asked, now)])

    def _too_late(self, asked: float, now: float) -> list[CameraId]:
        """What is to be released because answers come too late, time and again."""
        trusted = {each: held.deadline - held.asked for each, held in self._held.items()}
        was_late = self._answers.delay is not None
        shortest = min(trusted.values(), default=trusted_for(self._ttl))
        must_release = self._answers.judge(sent=asked, now=now, trusted=shortest)
        if must_release and not was_late:
            self._journal.record(AnswersTooLate(delay_ms=round((now - asked) * 1000), released=len(trusted)))
        elif was_late and self._answers.delay is None:
            self._journal.record(AnswersInTime())
        return list(trusted) if must_release else []

    async def _release(self, cameras: Sequence[CameraId]) -> None:
        """Stops using these at once, and gives them back."""
        given = []
        for camera_id in cameras:
            held = self._held.pop(camera_id, None)
            self._lost_at[camera_id] = self._clock.boot()
            if held is not None:
                made_until = self._stamped_until.get(camera_id)
                given.append(LeaseGivenBack(camera_uuid=camera_id, version=held.generation, made_until=made_until))
        if given:
            await self._send_release(given)

    async def _send_release(self, given: list[LeaseGivenBack]) -> None:
        message = ReleaseCameras(runner_id=self._owner.runner_id, cameras=given, incarnation=self._owner.incarnation)
        path = "/v1/leases/cameras/release"
        await hedged(partial(self._control.post, path, message, CamerasReleased, within=WITHIN))

    def _take(self, kept: Kept, *, at: datetime, asked: float) -> None:
        """A grant or a renewal, unless something newer is known of the camera."""
        known = self._held.get(kept.camera_id)
        if asked < self._lost_at.get(kept.camera_id, asked) or (known is not None and asked < known.asked):
            return
        if known is None or known.generation != kept.generation:
            self._stamped_until.pop(kept.camera_id, None)
        held = heard(kept, at=at, asked=asked, now=self._clock.boot(), known=known)
        self._held[kept.camera_id] = self._newest = held
