"""A batcher with an analyst: from what a Worker publishes to what is said of it, ticked by hand."""

from typing import Any

from streamward.batcher.analysing import Analysing, Patience
from streamward.batcher.analysis_facts import BatchAnalysed, BatchGivenUp
from streamward.batcher.facts import BatchClosed
from streamward.insight.analysis import AnalystFailed
from streamward.insight.records import Recent
from streamward.insight.rules import Rules
from streamward.insight.urgency import Trigger, Triggers
from streamward.protocol.batches import DEAD
from tests.support.analysing import ScriptedAnalyst
from tests.support.batch_desk import Desk

AWAY = AnalystFailed("scripted", "nobody answers")
URGENT = Rules(triggers=Triggers(analyse=Trigger(confidence=0.5, labels=frozenset({"person"}))))


def a_desk(*failures: Exception, rules: Rules | None = None) -> Desk:
    patience = Patience(attempts=1)
    return Desk(rules, analysing=Analysing(analyst=ScriptedAnalyst(*failures), patience=patience, at_once=1))


async def closed_and_shown(desk: Desk) -> None:
    """What is sealed or due is closed, told, and shown to the analyst."""
    await desk.batcher.closer.tick()
    await desk.batcher.relay.tick()
    while desk.told():  # the first tick only subscribes
        await desk.batcher.bodies["examiner-0"].tick()


async def said(desk: Desk) -> list[Any]:
    return [each.analysis for each in await desk.insight.analyses.page(Recent(scope=None))]


async def test_what_a_worker_saw_is_analysed_when_its_batch_is_over():
    desk = a_desk()
    await desk.see(0, 0)
    await desk.take_in()
    desk.clock.advance(31)
    await closed_and_shown(desk)
    assert [each.summary for each in await said(desk)] == ["2 × person on cam-1 within 0 s"]
    assert len(desk.of(BatchAnalysed)) == 1


async def test_what_cannot_wait_is_analysed_at_once():
    desk = a_desk(rules=URGENT)
    await desk.see(0)
    await desk.take_in()
    await closed_and_shown(desk)
    assert [each.reasons[-1] for each in await said(desk)] == ["the tenant calls it urgent"]


async def test_what_could_not_be_analysed_at_once_waits_for_its_batch():
    desk = a_desk(AWAY, rules=URGENT)
    await desk.see(0)
    await desk.take_in()
    await closed_and_shown(desk)
    assert [each.is_reopened for each in desk.of(BatchGivenUp)] == [True]
    assert await said(desk) == []
    desk.clock.advance(31)
    await closed_and_shown(desk)
    assert [each.reason for each in desk.of(BatchClosed)] == ["fast_path", "idle_timeout"]
    assert [each.summary for each in await said(desk)] == ["1 × person on cam-1 within 0 s"]


async def test_a_batch_that_fails_for_good_is_in_the_dead_letters():
    desk = a_desk(AWAY, AWAY, rules=URGENT)
    await desk.see(0)
    await desk.take_in()
    await closed_and_shown(desk)
    desk.clock.advance(31)
    await closed_and_shown(desk)
    (dead,) = desk.waiting(DEAD.name)
    assert dead.routing_key == "dead.tenant-1.cam-1"
    assert await said(desk) == []
