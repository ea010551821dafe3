"""Detectors that do not come back: whose cameras are told what, who goes on, and when a process is of no more use."""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from streamward.drivers.null import NullDecoder, NullDetector, NullFrame
from streamward.model.ids import CameraId
from streamward.model.stream_error import StreamErrorCode
from streamward.model.video import DecodeMode
from streamward.protocol.worker_link import WorkerExit
from streamward.runner import facts
from streamward.runner.impatience import EVERY, Impatience
from streamward.runner.looker import Looker
from streamward.runner.looking import Looking
from streamward.runner.pipeline import Pipeline
from streamward.runtime import blame
from streamward.runtime.blame import Board
from streamward.runtime.journal import Journal
from streamward.vision.detector import Size
from streamward.vision.lane import ArrivedUnit
from streamward.vision.patience import FIRST, LONGEST, SHORTEST, Hopeless, Look
from streamward.vision.sampling import Sampler
from streamward.vision.watchdog import Seen, ShownFrame, StatusUpdate
from tests.support.clocks import ManualClock
from tests.support.news import News

ONE, TWO, THREE = map(CameraId, ("cam-1", "cam-2", "cam-3"))
PLAIN, STICKY = b"\0\0\1", b"\xff\0\1"


class Sticky(NullDetector):
    """Does not come back from red pictures until it is let go."""

    def __init__(self, entered: Callable[[], object]) -> None:
        self.go = threading.Event()
        self.entered = entered
        self.inside = 0  # threads, and they are not to be two
        self.looks = 0
        self.shapes: set[tuple[int, ...]] = set()

    def detect(self, image: Any) -> Any:
        self.inside += 1
        assert self.inside == 1
        self.looks += 1
        self.shapes.add(image.shape)
        self.entered()
        if image[0, 0, 0]:
            self.go.wait(60)
        self.inside -= 1
        return super().detect(image)


class Leaving(NullDetector):
    """Thinks that it is alone in the world."""

    def detect(self, _image: Any) -> Any:
        raise SystemExit(3)


class Run:
    """A pipeline whose time passes when it is told to."""

    def __init__(self) -> None:
        self.clock, self.changed = ManualClock(), News()
        page = blame.new_page()
        self.board = Board.over(os.dup(page))
        self.pipeline = Pipeline(self, clock=self.clock, board=Board.over(page))
        self.frames = 0
        self.seen: list[CameraId] = []
        self.told: list[tuple[CameraId, str]] = []

    def sticky(self) -> Sticky:
        return Sticky(partial(asyncio.get_running_loop().call_soon_threadsafe, self.changed.set))

    def add(self, detector: Any, *cameras: CameraId) -> None:
        for camera_id in cameras:
            self.pipeline.add(camera_id, NullDecoder(), Looking(sampler=Sampler(max_fps=None), detector=detector))

    def send(self, camera_id: CameraId, content: bytes = PLAIN) -> None:
        self.pipeline.offer(camera_id, ArrivedUnit(content=content, is_keyframe=True, arrived_at=0.0))

    async def sees(self, camera_id: CameraId) -> None:
        before = self.seen.count(camera_id)
        self.send(camera_id)
        await self.changed.until(lambda: self.seen.count(camera_id) > before)

    async def sticks(self, camera_id: CameraId) -> None:
        self.send(camera_id, STICKY)
        await self.changed.until(lambda: self.board.looks() == [camera_id])

    def passes(self, seconds: float) -> Hopeless | None:
        """Time, as a Worker that lives sees it."""
        hopeless = None
        for _ in range(round(seconds)):
            self.clock.advance(1.0)
            hopeless = self.pipeline.give_up()
        return hopeless

    async def decodes(self, frames: int) -> None:
        await self.changed.until(lambda: self.frames >= frames)

    async def tells(self, camera_id: CameraId, detail: str) -> None:
        await self.changed.until(lambda: (camera_id, detail) in self.told)

    def on_frame_decoded(self, _camera_id: CameraId, _arrived_at: float) -> None:
        self.frames += 1
        self.changed.set()

    def on_model_inference_started(self, shown: ShownFrame) -> None: ...

    def on_model_prediction_ready(self, seen: Seen) -> None:
        self.seen.append(seen.camera_id)
        self.changed.set()

    def on_status_update(self, update: StatusUpdate) -> None:
        assert update.what is StreamErrorCode.DETECTOR_FAILED
        self.told.append((update.camera_id, update.detail))
        self.changed.set()


async def test_cameras_of_another_detector_are_seen_while_one_is_stuck():
    run = Run()
    sticky = run.sticky()
    run.add(sticky, ONE)
    run.add(NullDetector(), TWO)
    await run.sticks(ONE)
    await run.sees(TWO)
    assert run.passes(FIRST - 1) is None
    assert not run.told
    assert run.passes(LONGEST) is None  # others are seen here
    await run.tells(ONE, f"the detector has not answered for {FIRST:.0f} s")
    await run.sees(TWO)
    sticky.go.set()
    await run.sees(ONE)
    assert run.seen.count(ONE) == 1  # what came too late was not told
    await run.pipeline.close()


async def test_nobody_enters_a_detector_that_is_stuck_and_who_waits_for_it_is_told_why():
    run = Run()
    sticky = run.sticky()
    run.add(sticky, ONE, TWO)
    await run.sees(TWO)
    await run.sticks(ONE)
    hopeless = run.passes(SHORTEST)
    assert hopeless is not None
    assert (hopeless.look.camera_id, hopeless.is_to_blame, run.board.names()) == (ONE, True, [ONE])
    run.send(TWO)
    await run.tells(TWO, "the detector is still busy with a picture of cam-1")
    assert sticky.looks == 2
    sticky.go.set()
    await run.changed.until(lambda: run.seen == [TWO, TWO])
    await run.pipeline.close()


async def test_a_detector_that_never_came_back_from_anything_is_nobodys_fault():
    run = Run()
    sticky = run.sticky()
    run.add(sticky, ONE, TWO)
    await run.sticks(ONE)
    assert run.passes(LONGEST - 1) is None
    hopeless = run.passes(1)
    assert hopeless is not None
    assert not hopeless.is_to_blame
    sticky.go.set()
    await run.pipeline.close()


async def test_a_host_that_was_suspended_is_no_fault_of_a_detectors():
    run = Run()
    sticky = run.sticky()
    run.add(sticky, ONE, TWO)
    await run.sees(TWO)
    await run.sticks(ONE)
    run.clock.advance(3600)
    assert run.pipeline.give_up() is None
    sticky.go.set()
    await run.changed.until(lambda: run.seen == [TWO, ONE])
    await run.pipeline.close()


async def test_another_version_of_a_detector_that_is_stuck_looks_at_its_cameras():
    run = Run()
    sticky, better = run.sticky(), run.sticky()
    run.add(sticky, ONE, TWO)
    await run.sticks(ONE)
    run.passes(FIRST)
    for camera_id in (ONE, TWO):
        run.send(camera_id)
        await run.tells(camera_id, "the detector is still busy with a picture of cam-1")
    run.pipeline.swap(sticky, better)
    await run.sees(ONE)
    await run.sees(TWO)
    sticky.go.set()
    await run.sees(TWO)
    assert (sticky.looks, better.looks) == (1, 3)
    await run.pipeline.close()


class Still:
    """Sees no movement."""

    def differs(self, _image: Any) -> bool:
        return False


class Sent(NullDecoder):
    """Of units of any size."""

    def decode(self, content: bytes, *, is_keyframe: bool) -> Any:
        return super().decode(content[:3], is_keyframe=is_keyframe)


async def test_another_version_sees_a_camera_of_which_many_frames_waited_for_the_one_that_is_stuck():
    run = Run()
    sticky, better = run.sticky(), run.sticky()
    looking = Looking(
        sampler=Sampler(max_fps=None), detector=sticky, mode=DecodeMode.ADAPTIVE, compare=lambda _zones: Still()
    )
    run.pipeline.add(ONE, Sent(), looking)
    await run.sticks(ONE)
    run.passes(FIRST)
    for number in range(1, 300):  # still for so long that it is not decoded, and then something stands out
        content = PLAIN + bytes(20_000 if number % 50 == 0 else 2000 if number == 299 else 100)
        run.pipeline.offer(ONE, ArrivedUnit(content=content, is_keyframe=number % 50 == 0, arrived_at=number / 25))
        if number % 50 == 49:
            await run.decodes(number + 1)
    await run.changed.until(lambda: run.pipeline.dropped(ONE)[1] > 150)  # all of the last group were shown
    run.pipeline.swap(sticky, better)
    for _ in range(3):
        await run.sees(ONE)
    assert (sticky.looks, better.looks) == (1, 3)
    sticky.go.set()
    await run.pipeline.close()


class Interrupted(NullFrame):
    """Whenever it is made to measure, the next thing happens."""

    def __init__(self, content: bytes, happenings: Iterator[Callable[[], object]]) -> None:
        super().__init__(content)
        self._happenings = happenings

    def fitted(self, size: Size) -> Any:
        image = super().fitted(size)
        next(self._happenings)()
        return image


class Swapping(NullDecoder):
    """Its second picture is decoded before a swap, and shown after it."""

    def __init__(self, swap: Callable[[], object]) -> None:
        self._happenings = iter((object, swap, object))

    def decode(self, content: bytes, *, is_keyframe: bool) -> Any:
        yield Interrupted(content, self._happenings)


@pytest.mark.parametrize("is_stuck", [True, False])
async def test_a_picture_that_was_decoded_before_a_swap_and_shown_after_it_is_seen_by_the_new_version(is_stuck: bool):
    run = Run()
    sticky, better = run.sticky(), run.sticky()
    better.size = Size(5, 3)
    looking = Looking(sampler=Sampler(max_fps=None), detector=sticky)
    run.pipeline.add(ONE, Swapping(lambda: run.pipeline.swap(sticky, better)), looking)
    if is_stuck:
        await run.sticks(ONE)
        run.passes(FIRST)
    else:
        await run.sees(ONE)
    await run.sees(ONE)
    assert (sticky.looks, better.looks, better.shapes) == (1, 1, {(3, 5, 3)})
    sticky.go.set()
    await run.pipeline.close()


async def test_a_new_version_that_hangs_has_the_time_of_a_first_look_and_no_camera_is_to_blame():
    run = Run()
    old, new = run.sticky(), run.sticky()
    run.add(old, ONE, TWO)
    run.add(NullDetector(), THREE)
    for camera_id in (ONE, TWO):
        await run.sees(camera_id)
    run.pipeline.swap(old, new)
    await run.sticks(ONE)
    assert run.passes(FIRST - 1) is None
    assert not run.told
    assert run.passes(LONGEST) is None
    await run.tells(ONE, f"the detector has not answered for {FIRST:.0f} s")
    new.go.set()
    await run.pipeline.close()


class Remembering(Sticky):
    """Each camera has its own."""

    def __init__(self, entered: Callable[[], object]) -> None:
        super().__init__(entered)
        self.own: list[Sticky] = []

    def for_camera(self) -> Sticky:
        self.own.append(Sticky(self.entered))
        return self.own[-1]


@pytest.mark.parametrize("is_stuck", [True, False])
async def test_cameras_with_a_detector_of_their_own_are_given_one_of_the_new_version(is_stuck: bool):
    run = Run()
    old, new = Remembering(run.sticky().entered), Remembering(run.sticky().entered)
    for camera_id in (ONE, TWO):
        looking = Looking(sampler=Sampler(max_fps=None), detector=old.for_camera(), kind=old)
        run.pipeline.add(camera_id, NullDecoder(), looking)
    if is_stuck:
        await run.sticks(ONE)
        run.passes(FIRST)
    run.pipeline.swap(old, new)
    assert run.passes(1) is None
    for camera_id in (ONE, TWO):
        await run.sees(camera_id)
    assert [each.looks for each in (*old.own, *new.own)] == [int(is_stuck), 0, 1, 1]
    old.own[0].go.set()
    await run.pipeline.close()


async def test_a_thread_that_was_left_while_it_was_stuck_takes_no_more_turns():
    begun, go, ended = threading.Event(), threading.Event(), threading.Event()
    worked: list[CameraId] = []

    def work(looker: Looker[CameraId], camera_id: CameraId) -> None:
        looker.begin(camera_id, NullDetector())
        begun.set()
        go.wait(60)
        worked.append(camera_id)
        looker.end(0.0)
        ended.set()

    looker = Looker(work)
    assert not looker.leave()
    looker.turn(ONE)
    looker.turn(TWO)
    begun.wait(60)
    assert looker.waited(FIRST) is not None
    assert looker.leave()
    go.set()
    ended.wait(60)
    await asyncio.to_thread(looker.close, 60)
    assert (worked, looker.is_alive) == ([ONE], False)


async def test_a_pipeline_closes_though_a_detector_is_stuck():
    run = Run()
    sticky = run.sticky()
    run.add(sticky, ONE)
    await run.sticks(ONE)
    run.passes(FIRST)
    assert run.pipeline.is_alive
    await run.pipeline.close()
    assert sticky.inside == 1
    sticky.go.set()


async def test_a_detector_that_wants_to_end_the_process_fails_like_any_other():
    run = Run()
    run.add(Leaving(), ONE)
    run.send(ONE)
    await run.changed.until(lambda: len(run.told) == 1)
    run.send(ONE)
    await run.changed.until(lambda: len(run.told) == 2)
    assert run.told[0][1].startswith("SystemExit in detect, line ")
    assert run.pipeline.is_alive
    await run.pipeline.close()


@pytest.mark.parametrize(
    ("is_to_blame", "code"), [(True, WorkerExit.DETECTOR_STUCK), (False, WorkerExit.DETECTOR_UNUSABLE)]
)
async def test_a_worker_that_is_of_no_more_use_ends_once_with_a_last_word(is_to_blame: bool, code: WorkerExit):
    journal, told, ended = Journal(), list[Any](), list[WorkerExit]()
    journal.subscribe(told.append)
    verdicts = iter([None, *[Hopeless(look=Look(camera_id=ONE, lasts=12.3, allowed=10), is_to_blame=is_to_blame)] * 2])
    impatience = Impatience(lambda: next(verdicts), end=ended.append, journal=journal)
    for _ in range(3):
        assert await impatience.tick() == EVERY
    assert ended == [code]
    (fact,) = told
    assert isinstance(fact, facts.DetectorGivenUp)
    assert (fact.camera_id, fact.is_to_blame) == (ONE, is_to_blame)
    assert str(fact.error) == "the detector has not come back from a picture of cam-1 for 12 s"
