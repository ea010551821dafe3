"""Cameras that may have crashed a decoder, and with it a whole Worker: each runs alone until it has behaved for long.

    a Worker dies by a signal that programs do not send ─→ the cameras being decoded at that moment are suspects
    ─→ each gets a Worker of its own, its neighbours go on without it ─→ an hour without a crash, and it is back

The plan of shards stays as it is: the quarantine is laid over it. So nobody else moves, neither when a camera is taken
out nor when it comes back. Several threads decode at once, so innocent cameras may be suspects too; all that it costs
them is a process for an hour. A crash in which nobody was decoding leaves no suspect: the shard restarts whole.
A camera from whose picture a detector does not come back is a suspect in the same way.
"""

import signal
from collections.abc import Iterable
from dataclasses import dataclass, replace

from streamward.leases.sharding import Shard
from streamward.model.ids import CameraId, ShardId

TRUSTED_AFTER = 3600.0  # seconds since the last crash
MOST_BLOCKING = 8  # suspects, after which nobody else is accused of what a detector does: it is not them

_CRASHES = frozenset({
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGABRT,
    signal.SIGSYS,
})


def is_crash(number: int | None) -> bool:
    """Whether a process that ended by this signal broke down; whoever kills uses others."""
    return number in _CRASHES


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A camera that runs alone, in a shard of that name, and when it last was there at a crash."""

    camera_id: CameraId
    shard_id: ShardId
    crashed_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """All suspects; a name of a shard is not given twice."""

    suspects: tuple[Suspect, ...] = ()
    named: int = 0

    def accuse(self, cameras: Iterable[CameraId], *, now: float) -> "Quarantine":
        """These were being decoded when a Worker crashed."""
        known = {suspect.camera_id: suspect for suspect in self.suspects}
        named = self.named
        for camera_id in sorted(set(cameras)):
            before = known.get(camera_id)
            if before is None:
                shard_id, named = ShardId(f"alone-{named}"), named + 1
            else:
                shard_id = before.shard_id
            known[camera_id] = Suspect(camera_id=camera_id, shard_id=shard_id, crashed_at=now)
        return Quarantine(suspects=tuple(known.values()), named=named)

    def room_for(self, cameras: Iterable[CameraId]) -> set[CameraId]:
        """Those that can be accused of what a detector does."""
        known = {suspect.camera_id for suspect in self.suspects}
        has_room = len(known) < MOST_BLOCKING
        return {camera_id for camera_id in cameras if has_room or camera_id in known}

    def trusted(self, now: float) -> "Quarantine":
        """Without those who have behaved for long enough."""
        left = tuple(suspect for suspect in self.suspects if now - suspect.crashed_at < TRUSTED_AFTER)
        return Quarantine(suspects=left, named=self.named)

    def isolate(self, shards: Iterable[Shard]) -> list[Shard]:
        """The shards to run: those of the plan without suspects, and each suspect alone.

        A camera that is alone already stays where it is.
        """
        by_camera = {suspect.camera_id: suspect.shard_id for suspect in self.suspects}
        found: list[Shard] = []
        for shard in shards:
            if len(shard.cameras) == 1:
                found.append(shard)
                continue
            rest = tuple(camera for camera in shard.cameras if camera not in by_camera)
            if rest:
                found.append(replace(shard, cameras=rest))
            found += [
                replace(shard, shard_id=_of_make(by_camera[camera], shard.make), cameras=(camera,))
                for camera in shard.cameras
                if camera in by_camera
            ]
        return found


def _of_make(shard_id: ShardId, make: int) -> ShardId:
    """A shard whose make changes is another one."""
    return ShardId(f"{shard_id}.{make}") if make else shard_id
