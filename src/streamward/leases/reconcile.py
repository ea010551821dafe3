"""What to change in a runner's Workers so that each camera runs where it should, as it is now, and nowhere else.

    wanted: camera → shard, generation, revision        running: camera → Worker, generation, revision

A camera that is not wanted, or not so, or not there, is dropped; one that is wanted and runs nowhere is added. It is
added only when it has stopped everywhere else, so that two Workers never have the same camera.

Guaranteed: what is right already is not touched; steps that were lost are given again by the next look.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from streamward.model.ids import CameraId, Generation, ShardId


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How a camera should run."""

    shard_id: ShardId
    generation: Generation
    revision: int  # of what its source says


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """How a camera runs."""

    worker: int
    generation: Generation
    revision: int
    epoch: int = 0  # which start of it this is
    is_stopping: bool = False


class DropCamera(NamedTuple):
    """It must not go on there."""

    worker: int
    camera_id: CameraId


class AddCamera(NamedTuple):
    """It can begin there."""

    worker: int
    camera_id: CameraId


Step = DropCamera | AddCamera


def reconcile(
    wanted: Mapping[CameraId, Wanted], running: Mapping[CameraId, Running], workers: Mapping[ShardId, int]
) -> list[Step]:
    """The steps to take now, those that end something first; `workers` are those that take orders."""
    drops = [
        DropCamera(each.worker, camera_id)
        for camera_id, each in sorted(running.items())
        if not each.is_stopping and not _is_right(wanted.get(camera_id), each, workers)
    ]
    adds = [
        AddCamera(workers[each.shard_id], camera_id)
        for camera_id, each in sorted(wanted.items())
        if camera_id not in running and each.shard_id in workers
    ]
    return [*drops, *adds]


def _is_right(wanted: Wanted | None, running: Running, workers: Mapping[ShardId, int]) -> bool:
    """Also where the shard's Worker is just being replaced: the old one goes on until it ends."""
    if wanted is None or (wanted.generation, wanted.revision) != (running.generation, running.revision):
        return False
    return workers.get(wanted.shard_id, running.worker) == running.worker
