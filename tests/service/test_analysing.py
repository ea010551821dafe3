"""The examiner on virtual_time: batches that repeat, analysts that fail, and a database that is away."""

import asyncio

import pytest

from streamward.batcher.analysing import WHY
from streamward.batcher.analysis_facts import AnalysisPostponed, AnalysisRepeated, BatchAnalysed, BatchGivenUp
from streamward.insight.analysis import AnalystFailed
from streamward.insight.batch import CloseReason, Sealed
from streamward.insight.records import Recent
from streamward.protocol.analyses import analysis_details
from streamward.protocol.batches import ANALYSIS, DEAD
from tests.support.analysing import Desk, ScriptedAnalyst, examining
from tests.support.sightings import a_sealed

AWAY = AnalystFailed("scripted", "nobody answers")


def test_a_batch_is_analysed_with_what_was_seen_in_it() -> None:
    async def scene(desk: Desk) -> None:
        batch = await desk.closed()
        await desk.tell(batch)
        await desk.seen_to()
        found = await desk.insight.analyses.find(batch.batch_id, scope=None)
        assert found is not None
        told = analysis_details(found)
        assert (told.camera_uuid, told.analyst) == ("cam-1", "summary")
        assert told.summary == "3 × person on cam-1 within 2 s"
        assert [(each.label, each.count, round(each.dwell_s, 3)) for each in told.kinds] == [("person", 3, 2.0)]
        assert await desk.bus.waiting(ANALYSIS.name) == 0

    examining(scene, ScriptedAnalyst())


def test_a_batch_that_comes_again_is_analysed_once() -> None:
    analyst = ScriptedAnalyst()

    async def scene(desk: Desk) -> None:
        batch = await desk.closed()
        for _ in range(3):
            await desk.tell(batch)
        await desk.seen_to()
        assert len(analyst.asked) == 1
        assert len(desk.facts.of(AnalysisRepeated)) == 2

    examining(scene, analyst)


def test_of_two_that_analyse_the_same_batch_the_first_word_is_kept() -> None:
    analyst = ScriptedAnalyst(takes=5.0)

    async def scene(desk: Desk) -> None:
        batch = await desk.closed()
        await desk.tell(batch)
        await desk.tell(batch)
        await desk.seen_to()
        assert len(analyst.asked) == 2
        assert (len(desk.facts.of(BatchAnalysed)), len(desk.facts.of(AnalysisRepeated))) == (1, 1)
        assert len(await desk.insight.analyses.page(Recent(scope=None))) == 1

    examining(scene, analyst, side_by_side=2)


def test_two_batches_of_the_same_short_name_are_both_analysed() -> None:
    async def scene(desk: Desk) -> None:
        one, two = await desk.closed(1), await desk.closed(2)
        assert one.batch_id[:14] == two.batch_id[:14]
        await desk.tell(one)
        await desk.tell(two)
        await desk.seen_to(2)
        assert {each.analysis.batch_id for each in await desk.insight.analyses.page(Recent(scope=None))} == {
            one.batch_id,
            two.batch_id,
        }

    examining(scene, ScriptedAnalyst())


def test_an_analyst_that_fails_is_asked_again_after_longer_and_longer_pauses() -> None:
    async def scene(desk: Desk) -> None:
        await desk.tell(await desk.closed())
        await desk.seen_to()
        pauses = [each.retry_in for each in desk.facts.of(AnalysisPostponed)]
        assert 0.5 <= pauses[0] <= 1.0 <= pauses[1] <= 2.0
        assert len(desk.facts.of(BatchAnalysed)) == 1

    examining(scene, ScriptedAnalyst(AWAY, AWAY))


def test_an_analyst_that_asks_for_a_pause_gets_it() -> None:
    async def scene(desk: Desk) -> None:
        await desk.tell(await desk.closed())
        await desk.seen_to()
        assert [each.retry_in for each in desk.facts.of(AnalysisPostponed)] == [30.0]

    examining(scene, ScriptedAnalyst(AnalystFailed("scripted", "busy", retry_in=30.0)))


def test_a_batch_that_nobody_can_analyse_goes_to_the_dead_letters_with_the_reason() -> None:
    async def scene(desk: Desk) -> None:
        batch = await desk.closed()
        await desk.tell(batch)
        await desk.seen_to()
        (dead,) = await desk.dead()
        assert (dead.message_id, dead.routing_key) == (batch.batch_id, "dead.tenant-1.cam-1")
        assert dead.headers[WHY] == str(AWAY)
        assert await desk.bus.waiting(ANALYSIS.name) == 0
        assert desk.added_again == []
        assert await desk.insight.analyses.find(batch.batch_id, scope=None) is None

    examining(scene, ScriptedAnalyst(AWAY, AWAY, AWAY))


def test_a_dead_letter_is_not_lost_if_its_exchange_was_deleted() -> None:
    async def scene(desk: Desk) -> None:
        batch = await desk.closed()
        await asyncio.sleep(1.0)  # until it is subscribed
        desk.bus._queues.by_name[DEAD.name].bindings.clear()
        await desk.tell(batch)
        await desk.seen_to()
        assert [each.message_id for each in await desk.dead()] == [batch.batch_id]

    examining(scene, ScriptedAnalyst(*[AWAY] * 6))


def test_an_urgent_batch_that_nobody_can_analyse_is_reopened_for_the_next() -> None:
    async def scene(desk: Desk) -> None:
        batch = await desk.closed(reason=CloseReason.FAST_PATH, things=1)
        await desk.tell(batch)
        await desk.seen_to()
        assert [each.stored.detection_id for each in desk.added_again] == list(batch.detection_ids)
        assert await desk.insight.records.find_batch(batch.batch_id, scope=None) is None
        assert [each.is_reopened for each in desk.facts.of(BatchGivenUp)] == [True]
        assert await desk.dead() == []
        await desk.tell(batch)  # a repeat of what is reopened is nobody's
        await desk.seen_to()
        assert await desk.bus.waiting(ANALYSIS.name) == 0

    examining(scene, ScriptedAnalyst(AWAY, AWAY, AWAY))


def test_an_analyst_that_never_answers_is_given_up() -> None:
    async def scene(desk: Desk) -> None:
        await desk.tell(await desk.closed())
        await desk.seen_to()
        assert [each.why for each in desk.facts.of(BatchGivenUp)] == [
            "the analyst in use failed: no analysis within 10 s"
        ]

    examining(scene, ScriptedAnalyst(takes=1e6))


@pytest.mark.parametrize("stranger", [a_sealed([1], number=99), a_sealed([1], number=0)])
def test_a_batch_that_the_database_does_not_know_is_passed_over(stranger: Sealed) -> None:
    async def scene(desk: Desk) -> None:
        await desk.tell(stranger)
        await desk.tell(await desk.closed())
        await desk.seen_to()
        assert await desk.bus.waiting(ANALYSIS.name) == 0

    examining(scene, ScriptedAnalyst())


def test_a_database_that_is_away_loses_nothing() -> None:
    async def scene(desk: Desk) -> None:
        batch = await desk.closed()
        desk.analyses.silent_for = 2
        await desk.tell(batch)
        await desk.seen_to()
        assert desk.analyses.silent_for == 0
        assert await desk.analyses.find(batch.batch_id, scope=None) is not None

    examining(scene, ScriptedAnalyst())


def test_slow_batches_do_not_hold_up_others_beside_them() -> None:
    analyst = ScriptedAnalyst(takes=8.0)

    async def scene(desk: Desk) -> None:
        for number in range(8):
            await desk.tell(await desk.closed(number))
        await asyncio.sleep(15.9)
        assert len(desk.facts.of(BatchAnalysed)) == 4
        await asyncio.sleep(0.2)
        assert len(desk.facts.of(BatchAnalysed)) == 8

    examining(scene, analyst, side_by_side=4)
