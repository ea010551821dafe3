"""A host whose Workers obey at once or after a while, or die; on virtual time, planned by the real plan.

Every look does what a Manager's does: staff, then cameras. What must hold is asserted at each.
"""

import itertools
from dataclasses import dataclass, field, replace
from random import Random

from streamward.leases.reconcile import (
    AddCamera,
    DropCamera,
    MuteCamera,
    Running,
    Step,
    UnmuteCamera,
    Voice,
    Wanted,
    reconcile,
)
from streamward.leases.sharding import OwnedCamera
from streamward.leases.staff import Seated, Staff
from streamward.leases.supervision import Action, EndWorker, GiveSpare, StartWorker, Worker
from streamward.model.ids import CameraId, Generation, ShardId


@dataclass(slots=True)
class Process:
    """A Worker's."""

    worker: Worker
    born_at: float
    ready_at: float
    ends_at: float | None = None
    make: int = 0  # that a spare was told to load
    loaded_at: float = 0.0
    cameras: dict[CameraId, Running] = field(default_factory=dict)

    def seated(self, now: float) -> Seated:
        cameras = frozenset(self.cameras)
        is_loaded = now >= self.loaded_at
        return Seated(
            worker=self.worker,
            born_at=self.born_at,
            has_begun=now >= self.ready_at,
            loading=None if is_loaded else self.make,
            loaded=self.make if is_loaded else None,
            cameras=cameras,
        )


class PlannedHost:
    """One runner's."""

    def __init__(self, random: Random, *, target: int) -> None:
        self.random = random
        self.target = self.largest = target
        self.now = 0.0
        self.staff = Staff()
        self.owned: dict[CameraId, OwnedCamera] = {}
        self.revisions: dict[CameraId, int] = {}
        self.processes: dict[int, Process] = {}
        self.moves = 0  # cameras that began in another Worker than where they spoke
        self._numbers = itertools.count(1)
        self._epochs = itertools.count(1)

    def look(self) -> None:
        """One look of the Manager, and what it leads to at once."""
        seated = [each.seated(self.now) for each in self.processes.values()]
        self.staff, actions = self.staff.step(self.owned.values(), seated, target=self.target, now=self.now)
        for action in actions:
            self._act(action)
        self._warm()
        wanted = {
            camera_id: Wanted(
                shard_id=shard.shard_id, generation=Generation(1), revision=self.revisions.get(camera_id, 0)
            )
            for shard in self.staff.planned
            for camera_id in shard.cameras
        }
        for step in reconcile(wanted, self.running(), self._taking_orders(), now=self.now):
            self._obey(step, wanted)
        self._check()

    def _warm(self) -> None:
        make = self.staff.rollout.spare
        for each in self.processes.values():
            if each.worker.shard_id is None and self.now >= each.loaded_at and each.make != make:
                each.make, each.loaded_at = make, self.now + self.random.uniform(0.0, 3.0)

    def pass_time(self, seconds: float) -> None:
        """Workers become ready, cameras show, fall silent and stop, and the old end."""
        self.now += seconds
        for number, each in list(self.processes.items()):
            if each.ends_at is not None and self.now >= each.ends_at:
                del self.processes[number]
                continue
            for camera_id, camera in list(each.cameras.items()):
                if camera.is_stopping:
                    del each.cameras[camera_id]
                else:
                    voice = Voice.SILENT if camera.voice is Voice.FALLS_SILENT else camera.voice
                    each.cameras[camera_id] = replace(camera, voice=voice, is_shown=True)

    def kill(self, number: int, *, is_crash: bool) -> None:
        """A Worker dies."""
        process = self.processes.pop(number)
        if not process.worker.is_ending:
            most = self.random.randint(1, 3)  # are decoded at a time
            accused = self.random.sample(sorted(process.cameras), min(most, len(process.cameras))) if is_crash else []
            self.staff = self.staff.died(process.seated(self.now), accused=accused, how="it was killed", now=self.now)

    def running(self) -> dict[CameraId, list[Running]]:
        """Where each camera runs."""
        found: dict[CameraId, list[Running]] = {}
        for process in self.processes.values():
            for camera_id, each in process.cameras.items():
                found.setdefault(camera_id, []).append(each)
        return found

    def is_settled(self) -> bool:
        """Whether every camera speaks where it should, and nothing else runs but a spare."""
        home = {camera_id: shard for shard in self.staff.planned for camera_id in shard.cameras}
        places = self.running()
        right = all(
            len(found := places.get(camera_id, [])) == 1
            and found[0].voice is Voice.SPEAKS
            and self.processes[found[0].worker].worker.shard_id == shard.shard_id
            for camera_id, shard in home.items()
        )
        spares = [each for each in self.processes.values() if each.worker.shard_id is None]
        return (
            right
            and home.keys() == self.owned.keys() == places.keys()
            and len(spares) == 1
            and len(self.processes) == len(self.staff.planned) + 1
            and self.staff.rollout.moving is None
            and not self.staff.rollout.is_loading
            and {shard.make for shard in self.staff.planned} <= {self.staff.rollout.target}
        )

    def _taking_orders(self) -> dict[ShardId, int]:
        return {
            each.worker.shard_id: number
            for number, each in self.processes.items()
            if each.worker.shard_id is not None and self.now >= each.ready_at and not each.worker.is_ending
        }

    def _act(self, action: Action) -> None:
        match action:
            case StartWorker(shard_id):
                number = next(self._numbers)
                worker = Worker(number=number, shard_id=shard_id, is_ready=True)
                ready_at = self.now + self.random.uniform(0.0, 3.0)
                self.processes[number] = Process(worker, self.now, ready_at)
            case GiveSpare(number, shard_id):
                process = self.processes[number]
                process.worker, process.born_at = replace(process.worker, shard_id=shard_id), self.now
            case EndWorker(number):
                process = self.processes[number]
                process.worker = replace(process.worker, is_ending=True)
                process.ends_at = self.now + self.random.uniform(0.0, 5.0)
                process.cameras.clear()

    def _obey(self, step: Step, wanted: dict[CameraId, Wanted]) -> None:
        process, camera_id = self.processes[step.worker], step.camera_id
        match step:
            case AddCamera(number, _, is_muted):
                self.moves += is_muted
                process.cameras[camera_id] = Running(
                    worker=number,
                    generation=Generation(1),
                    revision=wanted[camera_id].revision,
                    epoch=next(self._epochs),
                    voice=Voice.SILENT if is_muted else Voice.SPEAKS,
                    since=self.now,
                )
            case DropCamera():
                process.cameras[camera_id] = replace(process.cameras[camera_id], is_stopping=True)
            case MuteCamera():
                process.cameras[camera_id] = replace(process.cameras[camera_id], voice=Voice.FALLS_SILENT)
            case UnmuteCamera():
                process.cameras[camera_id] = replace(process.cameras[camera_id], voice=Voice.SPEAKS)

    def _check(self) -> None:
        for camera_id, places in self.running().items():
            assert sum(each.voice is not Voice.SILENT for each in places) <= 1, camera_id
        for process in self.processes.values():
            speaking = [each for each in process.cameras.values() if not each.is_stopping]
            assert len(speaking) <= 2 * self.largest  # while one takes over from another
            tenants = {self.owned[camera_id].tenant_id for camera_id in process.cameras if camera_id in self.owned}
            assert len(tenants) <= 1
        planned = [camera_id for shard in self.staff.planned for camera_id in shard.cameras]
        assert sorted(planned) == sorted(self.owned)
        assert all(len(shard.cameras) <= self.target for shard in self.staff.planned)
