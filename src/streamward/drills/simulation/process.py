"""A runner's process in the simulation: the real holder, frames from the cameras it holds, and every way to stall."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streamward.drills.simulation.events import EventQueue, HostClock
from streamward.drills.simulation.network import Link, Network
from streamward.leases.fence import Stamp, StampedRecord
from streamward.leases.handover import TALK_EVERY, TALK_OFTEN, Handing, Watching
from streamward.leases.held import Held
from streamward.leases.holder import Ask, AskKind, Holder, HolderState, room
from streamward.model.identity import Caller, Role
from streamward.model.ids import CameraId, Generation, RunnerId, SiteId, TenantId
from streamward.model.runner import DrainMode
from streamward.protocol import leases as wire
from streamward.protocol.handovers import HandoverAnswers, asked, handing, watch
from streamward.protocol.runner_link import Reply, answer, request

FRAME_EVERY = (0.8, 4.0)
SEEN_AT_ONCE = 0.3  # of the cameras that are watched, at each look
REFUSED_AT_ONCE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a process is plugged into."""

    queue: EventQueue
    rng: random.Random
    network: Network
    to_control: Callable[[Caller, Any, Callable[[Reply], None]], None]
    to_sink: Callable[[StampedRecord, float], None]  # with the true time at which its frame arrived
    releases_plainly: Callable[[CameraId, RunnerId, Generation], None]
    watch: Callable[["RunnerProcess"], None]  # called whenever what the process believes may have changed
    is_handing_over: Callable[[], bool]  # anybody, in a soft drain or to balance
    exited: Callable[["RunnerProcess"], None]
    hands_over: bool = True


class Stubborn(Holder):
    """Goes on past its deadlines, as if nobody had told it to look: only the fence stands behind it."""

    def stamp(self, camera_id: CameraId, *, arrived: float, now: float) -> Stamp | None:
        held = self._held.get(camera_id)
        if held is None:
            return None
        return super().stamp(camera_id, arrived=arrived, now=min(now, held.deadline - 1e-3))

    def cameras(self, now: float) -> list[CameraId]:  # noqa: ARG002 - deadlines do not matter to it
        return list(self._held)


class RunnerProcess:
    """One incarnation of one runner, alive until killed, ended or told to stop."""

    def __init__(
        self,
        around: Surroundings,
        holder: Holder,
        *,
        clock: HostClock,
        link: Link,
        read_clock: Callable[[HostClock], float] = HostClock.boot,
    ) -> None:
        self._around = around
        self.holder = holder
        self.clock = clock
        self.link = link
        self._read_clock = read_clock
        self.is_alive = True
        self._paused_until = 0.0
        self._deferred: list[Callable[[], None]] = []
        self._polls_at = float("inf")
        self.watching = Watching()
        self._whose: dict[tuple[CameraId, int], tuple[TenantId, SiteId]] = {}  # by camera and generation, as granted
        self._eyes = random.Random(holder.owner.incarnation)  # noqa: S311 - repeatable on purpose
        self.caller = Caller(subject=holder.owner.runner_id, role=Role.RUNNER, incarnation=holder.owner.incarnation)
        self._poll()
        around.queue.after(around.rng.uniform(*FRAME_EVERY), self._frames)
        if around.hands_over:
            holder.handing = Handing()  # as the first talk would say
            around.queue.after(self._eyes.uniform(0.0, TALK_EVERY), self._talk)

    @property
    def is_awake(self) -> bool:
        return self.is_alive and self._around.queue.now >= self._paused_until

    def now(self) -> float:
        """The time this process goes by."""
        return self._read_clock(self.clock)

    def kill(self) -> None:
        """-9."""
        self.is_alive = False
        self._deferred.clear()

    def leave(self) -> None:
        """A clean stop: gives everything back, then exits, with asks still under way."""
        if self._when_awake(self.leave):
            return
        owner = self.holder.owner
        message = wire.ReleaseAll(runner_id=owner.runner_id, incarnation=owner.incarnation)
        self.holder.end()
        self._send(message, lambda _: None)
        self._exit()

    def release_plainly(self, number: int, *, thaws_after: float) -> None:
        """Releases one camera without a moment; a part of it that thaws later publishes a frame from before, and one
        from then, since it does not know of the release."""
        now = self.now()
        held = sorted(self.holder.held(now))
        if not self.is_alive or self._around.queue.now < self._paused_until or not held:
            return
        camera_id = held[number % len(held)]
        stamp = self.holder.stamp(camera_id, arrived=now, now=now)
        lease = self.holder.held(now)[camera_id]
        self.holder.drop(camera_id, now)
        del self.holder.giving_back[camera_id]  # a plain release says no last moment
        owner = self.holder.owner
        message = wire.ReleaseCamera(runner_id=owner.runner_id, camera_uuid=camera_id, version=lease.generation)
        self._around.releases_plainly(camera_id, owner.runner_id, lease.generation)
        self._send(message, lambda _: None)
        if stamp is not None:
            arrived = self._around.queue.now
            self._around.queue.after(thaws_after, self._around.to_sink, self._record(stamp), arrived)
            self._around.queue.after(thaws_after, self._publish_thawed, camera_id, lease)

    def _publish_thawed(self, camera_id: CameraId, lease: Held) -> None:
        now = self.now()
        stamp = lease.stamp(camera_id, self.holder.owner, arrived=now, now=now)
        if stamp is not None:
            self._around.to_sink(self._record(stamp), self._around.queue.now)

    def pause(self, seconds: float) -> None:
        """Stops being scheduled for a while; frames that had arrived go on their way afterwards."""
        for camera_id in self._cameras(self.now()):
            self._deferred.append(self._publication(camera_id, self.now()))
        self._paused_until = max(self._paused_until, self._around.queue.now + seconds)
        self._around.queue.after(seconds, self._resume)

    def suspend(self, seconds: float) -> None:
        """The whole host sleeps: a pause during which monotonic time stands still."""
        self.pause(seconds)
        self.clock.slept += seconds * self.clock.rate

    def thaw(self) -> None:
        self._paused_until = self._around.queue.now
        self._resume()

    def wake(self) -> None:
        """The control plane said that something may be free."""
        self._around.network.send(self._down_cut, self._woken)

    def _woken(self) -> None:
        if self.is_alive and not self._when_awake(self._woken):
            self.holder.wake(self.now())
            self._poll()

    def _poll(self) -> None:
        now = self.now()
        if now >= (due := self.holder.next_due()):
            for ask in self.holder.due(now):
                self._ask(ask)
            due = self.holder.next_due()
        delay = max(0.001, (due - now) / self.clock.rate)
        at = self._around.queue.now + delay
        if at < self._polls_at - 1e-6:
            self._polls_at = at
            self._around.queue.after(delay, self._timed_poll, at)

    def _timed_poll(self, at: float) -> None:
        if not self.is_alive or at != self._polls_at or self._when_awake(lambda: self._timed_poll(at)):
            return
        self._polls_at = float("inf")
        self._poll()

    def _ask(self, ask: Ask) -> None:
        self._send(request(ask), lambda reply: self._answered(ask, reply))

    def _send(self, message: Any, replied: Callable[[Reply], None]) -> None:
        def reply(message: Reply) -> None:
            self._around.network.send(self._down_cut, replied, message, delay=self.link.down_delay)

        self._around.network.send(
            self._up_cut, self._around.to_control, self.caller, message, reply, delay=self.link.up_delay
        )

    def _answered(self, ask: Ask, reply: Reply) -> None:
        if not self.is_alive or self._when_awake(lambda: self._answered(ask, reply)):
            return
        if isinstance(reply, wire.CamerasAcquired):
            for each in reply.leases:
                whose = TenantId(each.tenant_id), SiteId(each.site_id)
                self._whose[CameraId(each.camera_uuid), each.version] = whose
        self.holder.receive(ask, answer(reply), self.now())
        if ask.kind is not AskKind.BEAT:
            self._around.watch(self)
        if self.holder.state is HolderState.ENDED:
            self._exit()
        else:
            self._poll()

    def _talk(self) -> None:
        """As a Manager does: what it watches it sees after a while, or never; where nobody drains there is no news."""
        if not self.is_alive or self._when_awake(self._talk):
            return
        now = self.now()
        self.watching.keep(self.holder.held(-math.inf), now)
        watched = self.watching.watched(now)
        self.holder.is_watching = bool(watched)
        seen = {camera_id: self._eyes.random() for camera_id in watched}
        self.watching.looked(
            shown=[each for each, chance in seen.items() if chance < SEEN_AT_ONCE],
            refused=[each for each, chance in seen.items() if chance > 1 - REFUSED_AT_ONCE],
        )
        ask = self.watching.ask(self.holder.owner, room=room(self.holder), now=now)
        if self.holder.state is HolderState.SERVING and (watched or self._around.is_handing_over()):
            self._send(asked(ask), lambda reply: self._heard(reply, now))
        is_moving = self.holder.handing is not None and self.holder.handing.moving
        is_busy = watched or is_moving or self.holder.flags.drain is DrainMode.SOFT
        self._around.queue.after(TALK_OFTEN if is_busy else TALK_EVERY, self._talk)

    def _heard(self, reply: Reply, sent: float) -> None:
        if not self.is_alive or self._when_awake(lambda: self._heard(reply, sent)):
            return
        if isinstance(reply, HandoverAnswers):
            self.watching.heard(watch(reply), asked=sent)
            self.holder.handing = handing(reply)
            self._poll()

    def _frames(self) -> None:
        if not self.is_alive:
            return
        self._around.queue.after(self._around.rng.uniform(*FRAME_EVERY), self._frames)
        if self._around.queue.now < self._paused_until:
            return
        now = self.now()
        for camera_id in self._cameras(now):
            self._publish(camera_id, now, self._around.queue.now)

    def _cameras(self, now: float) -> list[CameraId]:
        return self.holder.cameras(now) if isinstance(self.holder, Stubborn) else list(self.holder.held(now))

    def _publication(self, camera_id: CameraId, arrived: float) -> Callable[[], None]:
        truly = self._around.queue.now
        return lambda: self._publish(camera_id, arrived, truly)

    def _publish(self, camera_id: CameraId, arrived: float, truly: float) -> None:
        stamp = self.holder.stamp(camera_id, arrived=arrived, now=self.now())
        if stamp is not None:
            self._around.to_sink(self._record(stamp), truly)

    def _record(self, stamp: Stamp) -> StampedRecord:
        tenant_id, site_id = self._whose[stamp.camera_id, stamp.generation]
        return StampedRecord(
            camera_id=stamp.camera_id,
            generation=stamp.generation,
            owner=stamp.owner,
            made_at=stamp.made_at,
            tenant_id=tenant_id,
            site_id=site_id,
        )

    def _when_awake(self, action: Callable[[], None]) -> bool:
        """While paused, keeps the action for later and says so."""
        if self._around.queue.now >= self._paused_until:
            return False
        self._deferred.append(action)
        return True

    def _resume(self) -> None:
        if self._around.queue.now < self._paused_until:
            return
        deferred, self._deferred = self._deferred, []
        for action in deferred:
            if self.is_alive:
                action()

    def _exit(self) -> None:
        if self.is_alive:
            self.kill()
            self._around.exited(self)

    def _up_cut(self) -> bool:
        return self.link.up_cut

    def _down_cut(self) -> bool:
        return self.link.down_cut
