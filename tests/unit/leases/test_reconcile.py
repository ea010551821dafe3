"""Which cameras begin, fall silent, speak and end in which Worker, and that nothing else is touched."""

from dataclasses import replace
from random import Random

import pytest

from streamward.leases.reconcile import (
    SHOWN_WITHIN,
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
from streamward.model.ids import CameraId, Generation, ShardId

ONE, TWO = CameraId("cam-1"), CameraId("cam-2")
A, B = ShardId("shard-0"), ShardId("shard-1")
WORKERS = {A: 1, B: 2}
NOW = 100.0


def wanted(shard: ShardId = A, generation: int = 3, revision: int = 1) -> Wanted:
    return Wanted(shard_id=shard, generation=Generation(generation), revision=revision)


def running(
    worker: int = 1, voice: Voice = Voice.SPEAKS, *, is_stopping: bool = False, is_shown: bool = True
) -> Running:
    return Running(
        worker=worker,
        generation=Generation(3),
        revision=1,
        is_stopping=is_stopping,
        voice=voice,
        is_shown=is_shown,
        since=NOW,
    )


def steps(desired: Wanted | None, *places: Running, workers: dict[ShardId, int] = WORKERS) -> list[Step]:
    return reconcile({} if desired is None else {ONE: desired}, {ONE: places}, workers, now=NOW)


def test_what_is_right_is_not_touched() -> None:
    assert steps(wanted(), running()) == []


def test_what_runs_nowhere_is_added_where_there_is_a_worker() -> None:
    desired = {ONE: wanted(), TWO: wanted(B)}
    assert reconcile(desired, {}, WORKERS, now=NOW) == [AddCamera(1, ONE), AddCamera(2, TWO)]
    assert reconcile({ONE: wanted()}, {}, {B: 2}, now=NOW) == []


@pytest.mark.parametrize("other", [None, wanted(generation=4), wanted(revision=2)])
def test_what_is_not_wanted_or_not_so_is_dropped_and_added_only_when_it_has_stopped(other: Wanted | None) -> None:
    assert steps(other, running()) == [DropCamera(1, ONE)]
    assert steps(other, running(is_stopping=True)) == []


def test_a_camera_goes_on_where_it_is_until_its_place_is_there() -> None:
    assert steps(wanted(), running(7), workers={B: 2}) == []
    assert steps(wanted(), running(7)) == [AddCamera(1, ONE, is_muted=True)]


def test_a_camera_moves_without_a_gap() -> None:
    there, here = running(7), running(1, Voice.SILENT)
    assert steps(wanted(), there, replace(here, is_shown=False)) == []
    assert steps(wanted(), there, here) == [MuteCamera(7, ONE)]
    falling = replace(there, voice=Voice.FALLS_SILENT)
    assert steps(wanted(), falling, here) == []
    assert steps(wanted(), replace(there, voice=Voice.SILENT), here) == [DropCamera(7, ONE), UnmuteCamera(1, ONE)]
    assert steps(wanted(), running(7, Voice.SILENT, is_stopping=True), running()) == []


def test_a_camera_that_does_not_show_in_time_is_broken_before_it_is_made() -> None:
    late = replace(running(1, Voice.SILENT, is_shown=False), dialed_at=NOW - SHOWN_WITHIN - 1)
    assert steps(wanted(), running(7), late) == [DropCamera(7, ONE)]
    assert steps(wanted(), running(7, is_stopping=True), late) == []
    assert steps(wanted(), late) == [UnmuteCamera(1, ONE)]


def test_what_runs_is_not_broken_for_one_that_could_not_dial_yet() -> None:
    waiting = replace(running(1, Voice.SILENT, is_shown=False), since=NOW - 100 * SHOWN_WITHIN)
    assert steps(wanted(), running(7), waiting) == []
    assert steps(wanted(), running(7), replace(waiting, dialed_at=NOW)) == []


def test_a_camera_without_a_picture_is_not_waited_for() -> None:
    assert steps(wanted(), running(7, is_shown=False), running(1, Voice.SILENT, is_shown=False)) == [DropCamera(7, ONE)]


def test_the_new_place_speaks_when_the_old_one_dies() -> None:
    assert steps(wanted(), running(1, Voice.SILENT)) == [UnmuteCamera(1, ONE)]


@pytest.mark.parametrize("workers", [WORKERS, {B: 2}])
def test_the_old_place_speaks_again_when_the_new_one_dies(workers: dict[ShardId, int]) -> None:
    first, *_ = steps(wanted(), running(7, Voice.SILENT), workers=workers)
    assert first == UnmuteCamera(7, ONE)
    assert steps(wanted(), running(7, Voice.FALLS_SILENT), workers={B: 2}) == []


def test_who_is_just_falling_silent_is_waited_for_also_when_the_plan_turns_round() -> None:
    assert steps(wanted(), running(1, Voice.FALLS_SILENT), running(7, Voice.SILENT)) == []
    back = steps(wanted(), running(1, Voice.SILENT), running(7, Voice.SILENT))
    assert back == [DropCamera(7, ONE), UnmuteCamera(1, ONE)]


def test_drops_come_before_adds() -> None:
    found = reconcile({TWO: wanted()}, {ONE: (running(),)}, WORKERS, now=NOW)
    assert found == [DropCamera(1, ONE), AddCamera(1, TWO)]


class Host:
    """Two Workers and one camera, whose orders are obeyed whenever chance will have it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now = 0.0
        self.epoch = 0
        self.places: dict[int, Running] = {}

    def step(self, desired: Wanted | None, workers: dict[ShardId, int]) -> None:
        for step in reconcile(
            {ONE: desired} if desired else {}, {ONE: tuple(self.places.values())}, workers, now=self.now
        ):
            if self.random.random() < 0.3:
                continue  # it was lost
            self._told(step, desired)
        speaking = [each for each in self.places.values() if each.voice is not Voice.SILENT]
        assert len(speaking) <= 1

    def _told(self, step: Step, desired: Wanted | None) -> None:
        match step:
            case AddCamera(worker, _, is_muted):
                assert desired is not None
                assert worker not in self.places
                voice = Voice.SILENT if is_muted else Voice.SPEAKS
                fresh = replace(running(worker, voice, is_shown=False), since=self.now)
                self.places[worker] = replace(fresh, generation=desired.generation, revision=desired.revision)
            case DropCamera(worker, _):
                self.places[worker] = replace(self.places[worker], is_stopping=True)
            case MuteCamera(worker, _):
                self.places[worker] = replace(self.places[worker], voice=Voice.FALLS_SILENT)
            case UnmuteCamera(worker, _):
                self.places[worker] = replace(self.places[worker], voice=Voice.SPEAKS)

    def pass_time(self, *, can_show: bool, may_die: bool = True) -> None:
        self.now += self.random.uniform(0, 3)
        for worker, each in list(self.places.items()):
            if (each.is_stopping and self.random.random() < 0.5) or (may_die and self.random.random() < 0.02):
                del self.places[worker]
            elif each.voice is Voice.FALLS_SILENT and self.random.random() < 0.5:
                self.places[worker] = replace(each, voice=Voice.SILENT)
            elif each.dialed_at is None and self.random.random() < 0.5:
                self.places[worker] = replace(each, dialed_at=self.now)
            elif can_show and self.random.random() < 0.3:
                self.places[worker] = replace(each, is_shown=True)


@pytest.mark.parametrize("seed", range(200))
def test_whatever_happens_a_camera_speaks_once_and_ends_where_it_should(seed: int) -> None:
    host = Host(seed)
    desired: Wanted | None = wanted()
    for _ in range(60):
        if host.random.random() < 0.1:
            options = [None, wanted(), wanted(B), wanted(generation=4), wanted(B, revision=2)]
            desired = host.random.choice(options)
        host.step(desired, {} if host.random.random() < 0.1 else WORKERS)
        host.pass_time(can_show=host.random.random() < 0.8)
    for _ in range(80):
        host.step(wanted(B), WORKERS)
        host.pass_time(can_show=seed % 2 == 0, may_die=False)
    (place,) = host.places.values()
    assert (place.worker, place.voice, place.is_stopping) == (2, Voice.SPEAKS, False)


SILENT = replace(wanted(), is_silent=True)


def test_a_camera_that_will_be_ours_is_watched_silently_and_speaks_when_it_is() -> None:
    assert steps(SILENT) == [AddCamera(1, ONE, is_muted=True)]
    assert steps(SILENT, workers={}) == []
    watched = running(voice=Voice.SILENT)
    assert steps(SILENT, watched) == steps(SILENT, running(voice=Voice.SILENT, worker=2)) == []
    assert steps(wanted(), watched) == [UnmuteCamera(1, ONE)]


def test_a_camera_that_is_handed_over_falls_silent_where_it_speaks() -> None:
    assert steps(SILENT, running(2)) == [MuteCamera(2, ONE)]
    assert steps(SILENT, running(voice=Voice.FALLS_SILENT)) == []
    assert steps(SILENT, running(2), running(voice=Voice.SILENT)) == [DropCamera(1, ONE), MuteCamera(2, ONE)]
    assert steps(replace(SILENT, generation=Generation(4)), running()) == [DropCamera(1, ONE)]
    assert steps(SILENT, running(is_stopping=True)) == []
