"""A Worker that has a Manager: it does what it is told over the channel, and tells what happens there.

When the channel ends, so does the Worker; cameras whose lease is not fed in time are ended by it alone.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Protocol

from streamward.leases.redialing import Pace
from streamward.model.ids import CameraId, SiteId
from streamward.protocol import codec, worker_link
from streamward.protocol.events import StreamFailed
from streamward.protocol.shards import ModelsAt, ShardConfig, Source
from streamward.protocol.streams import StreamReport
from streamward.protocol.worker_link import (
    Add,
    DialEnded,
    Drop,
    Mute,
    Pong,
    Showing,
    Stopped,
    Told,
    Unmute,
    Warmed,
    Word,
    WorkerExit,
)
from streamward.runner.ending import Ending
from streamward.runner.fed_leases import FedLeases
from streamward.runner.login_link import ManagedControl
from streamward.runner.parts import LastWord
from streamward.runtime.channel import Channel
from streamward.vision.unusable import DetectorUnusable

TELL_EVERY = 0.2  # seconds
SILENT_AT_MOST = 1.0  # seconds: who says nothing is stuck
Load = Callable[[str, ModelsAt], object]  # a detector by its name; raises DetectorUnusable
ORPHANED_FOR = 1.0  # seconds in which a Worker without a Manager ends its connections


class Paced(Protocol):
    """What dials."""

    def set_pace(self, site_id: SiteId, pace: Pace) -> None: ...


class Obedient(Protocol):
    """What runs cameras."""

    @property
    def dialing(self) -> Paced: ...
    def add(self, source: Source, *, is_muted: bool = False) -> None: ...
    async def drop(self, camera_id: CameraId) -> LastWord: ...
    def expect(self, cameras: Iterable[CameraId]) -> None: ...
    def mute(self, camera_id: CameraId, *, is_final: bool = False) -> LastWord: ...
    def unmute(self, camera_id: CameraId, *, after: float) -> None: ...


class Obeying:
    """The Worker's end of the channel; a service runs its ticks."""

    def __init__(self, channel: Channel, leases: FedLeases, *, ending: Ending) -> None:
        self._channel = channel
        self._leases = leases
        self._ending = ending
        self.control = ManagedControl(self.say)
        self._worker: Obedient | None = None
        self._reports: list[StreamReport] = []
        self._failures: list[StreamFailed] = []
        self._quiet = 0  # ticks without a word
        self._turns: dict[CameraId, asyncio.Task[None]] = {}

    async def obey(self, worker: Obedient) -> None:
        """Does what it is told, until the channel ends."""
        self._worker = worker
        try:
            while (content := await self._channel.receive()) is not None:
                order = worker_link.read_order(content)
                if isinstance(order, worker_link.Terminate):
                    self._ending.stop()
                    return  # what comes after it would only begin to end cameras in good order
                self._do(worker, order)
        finally:  # also if it cannot be read: who does not listen any more must not go on
            self._ending.drain(WorkerExit.ORPHANED, within=ORPHANED_FOR)

    async def tick(self) -> float:
        """Tells what has gathered, and ends what was not fed."""
        self._quiet += 1
        if self._quiet * TELL_EVERY >= SILENT_AT_MOST:
            self.say(Told(reports=[], failures=[]))
            self._quiet = 0
        self.flush()
        if self._worker is not None:
            for camera_id in self._leases.expired():
                self._leases.forget(camera_id)  # now: its turn may be long in coming, and once is enough
                self._in_turn(camera_id, self._drop(self._worker, camera_id))
        return TELL_EVERY

    def flush(self) -> None:
        """Tells the Manager what has gathered."""
        if self._reports or self._failures:
            self._quiet = 0
            self.say(Told(reports=self._reports, failures=self._failures))
            self._reports, self._failures = [], []

    def say(self, word: Word) -> None:
        """Tells the Manager something."""
        self._channel.send(codec.encode(word))

    def reported(self, report: StreamReport) -> None:
        self._reports.append(report)

    def failed(self, failure: StreamFailed) -> None:
        self._failures.append(failure)

    def showing(self, camera_id: CameraId, arrived: float) -> None:
        self.say(Showing(camera_uuid=camera_id, arrived=arrived))

    def dial_ended(self, camera_id: CameraId) -> None:
        self.say(DialEnded(camera_uuid=camera_id))

    def _do(self, worker: Obedient, order: worker_link.Order) -> None:
        match order:
            case worker_link.Feed(leases=leases):
                self._leases.feed(leases)
            case worker_link.Expect(cameras=cameras):
                worker.expect(map(CameraId, cameras))
            case worker_link.SetPace(site_id=site_id, per_minute=per_minute, burst=burst):
                worker.dialing.set_pace(SiteId(site_id), Pace(per_minute=per_minute, burst=burst))
            case worker_link.LoginsAnswered():
                self.control.answered(order)
            case worker_link.Drain():
                self._ending.drain()
            case worker_link.Begin() | worker_link.Warm() | worker_link.Ping() | worker_link.Terminate():
                pass  # it has begun, and it has not ended
            case _:
                camera_id = CameraId(order.source.camera_uuid if isinstance(order, Add) else order.camera_uuid)
                self._in_turn(camera_id, self._do_to(camera_id, worker, order))

    async def _do_to(self, camera_id: CameraId, worker: Obedient, order: Add | Drop | Mute | Unmute) -> None:
        match order:
            case Add(source=source, is_muted=is_muted):
                worker.add(source, is_muted=is_muted)
            case Drop(epoch=epoch):
                await self._drop(worker, camera_id, epoch=epoch)
            case Mute(is_final=is_final):
                self._stopped(camera_id, worker.mute(camera_id, is_final=is_final))
            case Unmute(after=after):
                worker.unmute(camera_id, after=after)

    async def _drop(self, worker: Obedient, camera_id: CameraId, *, epoch: int = 0) -> None:
        """Also one that could not even begin has ended by then."""
        self._leases.forget(camera_id)
        last = await worker.drop(camera_id)
        self._stopped(camera_id, last, epoch=max(epoch, last.epoch))

    def _in_turn(self, camera_id: CameraId, doing: Coroutine[None, None, None]) -> None:
        """Orders about one camera follow each other; a connection that takes its time to end holds up no other."""
        before = self._turns.get(camera_id)
        task = asyncio.get_running_loop().create_task(_after(before, doing), name=f"order {camera_id}")
        self._turns[camera_id] = task
        task.add_done_callback(lambda done: self._turns.pop(camera_id) if self._turns.get(camera_id) is done else None)

    def _stopped(self, camera_id: CameraId, last: LastWord, *, epoch: int = 0) -> None:
        self.flush()  # what was reported of it while it ran
        self.say(Stopped(camera_uuid=camera_id, epoch=epoch, last_arrived=last.arrived, made_until=last.made_until))


async def _after(before: "asyncio.Task[None] | None", doing: Coroutine[None, None, None]) -> None:
    if before is not None:
        await asyncio.wait([before])
    await doing


async def first_order(channel: Channel, load: Load) -> ShardConfig | WorkerExit:
    """What to watch, or how a spare ends that nothing was begun with; loads detectors while it waits."""
    while (content := await channel.receive()) is not None:
        match worker_link.read_order(content):
            case worker_link.Warm(detector=detector, models=models):
                channel.send(codec.encode(Warmed(problem=_problem(load, detector, models))))
            case worker_link.Ping():
                channel.send(codec.encode(Pong()))
            case worker_link.Begin(config=config):
                if (problem := _problem(load, config.detector, config.models)) is None:
                    return config
                channel.send(codec.encode(Warmed(problem=problem)))
                return WorkerExit.DETECTOR_UNUSABLE
            case worker_link.Drain():
                return WorkerExit.DRAINED
            case worker_link.Terminate():
                return WorkerExit.TERMINATED
            case _:
                return WorkerExit.MISCONFIGURED
    return WorkerExit.ORPHANED


def _problem(load: Load, detector: str, models: ModelsAt) -> str | None:
    try:
        load(detector, models)
    except DetectorUnusable as error:
        return error.why
    return None
