"""Batches at their edges: S2's timelines, order, lag and size."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.insight.batch import (
    BatchId,
    CloseReason,
    Fit,
    Gathering,
    Lane,
    Limits,
    OpenBatch,
    Sighting,
    Step,
    add,
    is_prefix,
    short,
)
from tests.support.builders import at

LIMITS = Limits()
TICK = timedelta(microseconds=1)


@dataclass
class Camera:
    """One camera whose detections come when they are made, unless told otherwise."""

    gathering: Gathering = field(default_factory=Gathering)
    limits: Limits = LIMITS
    count: int = 0

    def sees(self, made_at: datetime, *, now: datetime | None = None, lane: Lane = Lane.PRESENT) -> Step:
        self.count += 1
        step = add(
            self.gathering,
            Sighting(self.count, made_at),
            lane=lane,
            limits=self.limits,
            now=now or made_at,
            fresh=BatchId(f"batch-{self.count:032x}"),
        )
        self.gathering = step.gathering
        return step

    @property
    def batch(self) -> OpenBatch:
        assert self.gathering.present is not None
        return self.gathering.present


def seeing(*moments: float, limits: Limits = LIMITS) -> Camera:
    camera = Camera(limits=limits)
    for moment in moments:
        camera.sees(at(moment))
    return camera


def test_the_first_detection_opens_a_batch_and_later_ones_join_it():
    camera = seeing(0, 5, 15)
    assert camera.batch.detection_ids == (1, 2, 3)
    assert camera.batch.batch_id == BatchId(f"batch-{1:032x}")
    assert (camera.batch.first_made_at, camera.batch.last_activity) == (at(0), at(15))


def test_the_timeline_of_s2_is_one_batch_until_its_idle_time_or_its_window_is_over():
    camera = seeing(0, 5, 15)
    assert camera.batch.idle_after(LIMITS) == at(45)  # strictly after it: a check at T+45 finds the batch open
    assert camera.sees(at(50)).sealed == ()
    assert (camera.batch.idle_after(LIMITS), camera.batch.window_ends_at(LIMITS)) == (at(80), at(90))
    for moment in (60, 75):
        assert camera.sees(at(moment)).sealed == ()
    assert camera.batch.detection_ids == (1, 2, 3, 4, 5, 6)
    assert (camera.batch.idle_after(LIMITS), camera.batch.window_ends_at(LIMITS)) == (at(105), at(90))


@pytest.mark.parametrize(
    ("made_at", "sealed"),
    [
        (at(30), None),
        (at(30) + TICK, None),  # no check need have been in between
        (at(35), None),
        (at(35) + TICK, CloseReason.IDLE),
        (at(90) - TICK, CloseReason.IDLE),
        (at(90), CloseReason.WINDOW),
    ],
)
def test_a_detection_made_after_a_check_or_the_window_seals_the_batch_and_opens_the_next(made_at, sealed):
    camera = seeing(0)
    first = camera.batch
    step = camera.sees(made_at)
    assert [reason for _, reason in step.sealed] == ([] if sealed is None else [sealed])
    assert (camera.batch.batch_id == first.batch_id) is (sealed is None)


def test_a_batch_starts_when_it_is_opened_and_its_pipeline_with_the_earliest_frame():
    camera = Camera()
    camera.sees(at(10), now=at(12))
    camera.sees(at(8), now=at(13))
    assert (camera.batch.started_at, camera.batch.first_made_at) == (at(12), at(8))


def test_a_full_batch_is_sealed_and_the_next_detection_opens_another():
    camera = seeing(0, 1, limits=Limits(most=3))
    step = camera.sees(at(2))
    assert [(batch.detection_ids, reason) for batch, reason in step.sealed] == [((1, 2, 3), CloseReason.SIZE)]
    assert camera.gathering == Gathering()
    assert camera.sees(at(3)).gathering.present is not None


def test_a_batch_of_one_can_seal_its_forerunner_and_itself():
    camera = Camera()
    camera.sees(at(0))
    camera.limits = Limits(most=1)
    assert [reason for _, reason in camera.sees(at(40)).sealed] == [CloseReason.IDLE, CloseReason.SIZE]


@pytest.mark.parametrize(
    ("made_at", "fit"),
    [
        (at(65) - TICK, Fit.BEFORE),
        (at(65), Fit.JOINS),
        (at(100), Fit.JOINS),
    ],
)
def test_one_that_was_made_before_the_batch_joins_it_if_it_is_near(made_at, fit):
    camera = seeing(100)
    assert camera.batch.fit(Sighting(9, made_at), LIMITS) is fit


def test_joining_early_never_makes_a_batch_longer_than_its_window():
    batch = seeing(100, 125, 150, 175).batch
    assert batch.fit(Sighting(9, at(85)), LIMITS) is Fit.BEFORE
    assert batch.fit(Sighting(9, at(85) + TICK), LIMITS) is Fit.JOINS


def test_what_is_much_older_than_the_present_goes_aside():
    camera = seeing(1000)
    camera.sees(at(100), now=at(1001))
    assert camera.gathering.aside is not None
    assert camera.gathering.aside.detection_ids == (2,)
    assert camera.batch.detection_ids == (1,)


def test_aside_nothing_waits_for_order():
    camera = Camera()
    camera.sees(at(500), now=at(1000), lane=Lane.ASIDE)
    step = camera.sees(at(100), now=at(1000), lane=Lane.ASIDE)
    assert [reason for _, reason in step.sealed] == [CloseReason.OUT_OF_ORDER]
    assert camera.gathering.on(Lane.ASIDE) == step.gathering.aside


def test_a_drained_spool_becomes_the_batches_that_it_would_have_been():
    moments = [0.0, 10, 20, 60, 61, 80, 100, 120, 140, 160]
    live, drained = Camera(), Camera()
    then = [live.sees(at(moment)).batch_id for moment in moments]
    later = [drained.sees(at(moment), now=at(5000 + place / 100)).batch_id for place, moment in enumerate(moments)]
    assert then == later


def test_a_drained_batch_waits_its_idle_time_for_more():
    camera = Camera()
    camera.sees(at(0), now=at(300))
    assert camera.batch.idle_after(LIMITS) == at(330)
    assert camera.batch.window_ends_at(LIMITS) == at(390)


@given(st.lists(st.integers(0, 400), min_size=1, max_size=40), st.integers(1, 5))
def test_every_detection_is_in_one_batch_and_none_is_longer_than_allowed(moments, most):
    camera = Camera(limits=Limits(window=90, idle=30, most=most))
    made = {number: at(moment) for number, moment in enumerate(moments, start=1)}
    over = [batch for moment in moments for batch, _ in camera.sees(at(moment), now=at(1000)).sealed]
    batches = [*over, *(each for each in (camera.gathering.present, camera.gathering.aside) if each)]
    assert sorted(number for batch in batches for number in batch.detection_ids) == sorted(made)
    for batch in batches:
        spans = [made[number] for number in batch.detection_ids]
        assert (min(spans), max(spans)) == (batch.first_made_at, batch.last_activity)
        assert max(spans) - min(spans) < timedelta(seconds=90)
        assert len(spans) <= most


def test_people_see_eight_digits():
    assert short(BatchId("batch-" + "0123456789abcdef" * 2)) == "batch-01234567"


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("batch-1a2b", True),
        ("batch-1a2b3c4d", True),
        ("batch-" + 32 * "f", True),
        ("batch-1a2", False),
        ("batch-1A2B", False),
        ("batch-1a2b%", False),
        ("1a2b3c4d", False),
        ("batch-" + 33 * "f", False),
    ],
)
def test_some_digits_of_an_id_are_its_beginning(text, is_so):
    assert is_prefix(text) is is_so
