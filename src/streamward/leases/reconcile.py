"""What to change in a runner's Workers so that each camera runs where it should, as it is now, and speaks once.

    wanted: camera → shard, generation, revision        running: camera → where it runs, how, and whether it speaks

A camera that is not wanted, or not so, is dropped; one that is wanted and runs nowhere is added. One that runs as it
should but elsewhere moves without a gap:

    add it here, silent ─ it shows ─→ silence it there ─ it is silent ─→ let it speak here, drop it there
                        └ it dials, and does not show in time ─→ drop it there ─ it has stopped ─→ let it speak here

One that is wanted silent is another runner's, before or after it is this one's: it runs, and says nothing.

Guaranteed: a camera speaks in one Worker at most, whatever was lost or died on the way; what is right already is not
touched; steps that were lost are given again by the next look, and a plan that changes its mind half-way ends well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from streamward.model.ids import CameraId, Generation, ShardId

SHOWN_WITHIN = (
    20.0  # seconds from its first dial for the new place to show a camera; a recorder may have no session left
)


class Voice(Enum):
    """Whether events are made of a camera."""

    SPEAKS = auto()
    FALLS_SILENT = auto()  # told to, and not answered yet
    SILENT = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How a camera should run."""

    shard_id: ShardId
    generation: Generation
    revision: int  # of what its source says
    is_silent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """How a camera runs in one Worker."""

    worker: int
    generation: Generation
    revision: int
    epoch: int = 0  # which start of it this is
    is_stopping: bool = False
    voice: Voice = Voice.SPEAKS
    is_shown: bool = False  # its frames come
    since: float = 0.0  # boot-time
    dialed_at: float | None = None  # boot-time at which its first dial had connected or failed
    has_own_detector: bool = False  # instead of its Worker's


class DropCamera(NamedTuple):
    """It must not go on there."""

    worker: int
    camera_id: CameraId


class AddCamera(NamedTuple):
    """It can begin there; silent if it still speaks elsewhere."""

    worker: int
    camera_id: CameraId
    is_muted: bool = False


class MuteCamera(NamedTuple):
    """Another is ready to speak for it."""

    worker: int
    camera_id: CameraId


class UnmuteCamera(NamedTuple):
    """Nobody else speaks for it."""

    worker: int
    camera_id: CameraId


Step = DropCamera | MuteCamera | UnmuteCamera | AddCamera

_ORDER = {kind: place for place, kind in enumerate((DropCamera, MuteCamera, UnmuteCamera, AddCamera))}


def reconcile(
    wanted: Mapping[CameraId, Wanted],
    running: Mapping[CameraId, Sequence[Running]],
    workers: Mapping[ShardId, int],
    *,
    now: float,
) -> list[Step]:
    """The steps to take now, those that end something first; `workers` are those that take orders."""
    steps: list[Step] = []
    for camera_id in sorted(wanted.keys() | running.keys()):
        places = running.get(camera_id, ())
        right = [each for each in places if not each.is_stopping and _is_right(wanted.get(camera_id), each)]
        steps += [DropCamera(each.worker, camera_id) for each in places if each not in right and not each.is_stopping]
        if camera_id in wanted:
            target = workers.get(wanted[camera_id].shard_id)
            is_silent = wanted[camera_id].is_silent
            steps += (
                _silence(camera_id, target, places, right)
                if is_silent
                else _settle(camera_id, target, places, right, now=now)
            )
    return sorted(steps, key=lambda step: _ORDER[type(step)])


def _is_right(wanted: Wanted | None, running: Running) -> bool:
    return wanted is not None and (wanted.generation, wanted.revision) == (running.generation, running.revision)


def _silence(camera_id: CameraId, target: int | None, places: Sequence[Running], right: list[Running]) -> list[Step]:
    """Of a camera that is wanted silent: one place is enough, and the one that speaks knows when it stopped."""
    if not right:
        return [AddCamera(target, camera_id, is_muted=True)] if target is not None and not places else []
    best = min(right, key=lambda each: (each.voice is Voice.SILENT, each.worker != target))
    drops: list[Step] = [DropCamera(each.worker, camera_id) for each in right if each is not best]
    return [*drops, MuteCamera(best.worker, camera_id)] if best.voice is Voice.SPEAKS else drops


def _settle(
    camera_id: CameraId, target: int | None, places: Sequence[Running], right: list[Running], *, now: float
) -> list[Step]:
    """Of a camera that is wanted: it runs at its target, or on where it is until that is there."""
    here = next((each for each in right if each.worker == target), None)
    if here is None:
        speaking = _keep_speaking(camera_id, places, right)
        is_free = all(each.worker != target for each in places) and (right or not places)
        return (
            [*speaking, AddCamera(target, camera_id, is_muted=bool(right))]
            if target is not None and is_free
            else speaking
        )
    return _hand_over(camera_id, here, [each for each in places if each is not here], now=now)


def _keep_speaking(camera_id: CameraId, places: Sequence[Running], right: list[Running]) -> list[Step]:
    """The one that speaks goes on; if its successor died meanwhile, the best of those that are left speaks again."""
    if not right or any(each.voice is not Voice.SILENT for each in places):
        return []
    best = min(right, key=lambda each: (not each.is_shown, each.since))
    return [UnmuteCamera(best.worker, camera_id)]


def _hand_over(camera_id: CameraId, here: Running, others: list[Running], *, now: float) -> list[Step]:
    going_on = [each for each in others if not each.is_stopping]
    if here.voice is Voice.FALLS_SILENT:
        return []
    if here.voice is Voice.SPEAKS or all(each.voice is Voice.SILENT for each in others):
        drops: list[Step] = [DropCamera(each.worker, camera_id) for each in going_on]
        return drops if here.voice is Voice.SPEAKS else [*drops, UnmuteCamera(here.worker, camera_id)]
    speaking = [each for each in going_on if each.voice is Voice.SPEAKS]
    if here.is_shown:
        return [MuteCamera(each.worker, camera_id) for each in speaking]
    # Who has not dialed yet waits for its turn, its login or the control plane: no reason to break what runs.
    is_hopeless = here.dialed_at is not None and now - here.dialed_at > SHOWN_WITHIN
    return [DropCamera(each.worker, camera_id) for each in speaking if is_hopeless or not each.is_shown]
