"""Every reason why a camera does not run, and the one why it does."""

from dataclasses import replace
from typing import Any

import pytest

from streamward.leases.store import BudgetView
from streamward.leases.why import REPORT_WITHIN, ReasonCode, Situation, explain
from streamward.model.ids import Generation, RunnerId, SiteId, TenantId
from streamward.model.runner import DrainMode
from streamward.model.status import StreamState, StreamStatus, Substate
from tests.support.builders import START, a_bucket, a_camera, a_lease, a_load, a_runner, at

FREE = a_load(unowned=1, free_slots=4, now=START)
EMPTY = BudgetView(bucket=a_bucket(tokens=0.5), in_flight=0)


def a_report(state: StreamState = StreamState.STREAMING, **changed: Any) -> StreamStatus:
    report = StreamStatus(
        camera_id=a_camera().camera_id, runner_id=RunnerId("runner-1"), state=state, ts=START, streamed_at=START
    )
    return replace(report, **changed)


def a_situation(**changed: Any) -> Situation:
    """An enabled camera whose lease is fresh, of which nothing was reported."""
    seen = Situation(
        camera=a_camera(), lease=a_lease(), runners=[a_runner()], load=FREE, budget=None, status=None, now=START
    )
    return replace(seen, **changed)


def codes(**changed: Any) -> list[str]:
    return [reason.code.value for reason in explain(a_situation(**changed))]


def test_a_camera_that_nobody_wants() -> None:
    assert codes(camera=a_camera(enabled=False)) == ["disabled"]
    assert codes(camera=a_camera(do_not_process=True)) == ["do-not-process"]
    assert codes(camera=a_camera(enabled=False, do_not_process=True)) == ["disabled", "do-not-process"]


@pytest.mark.parametrize(
    ("runner", "code"),
    [
        ({}, "not-owned"),
        ({"last_seen_at": at(-6)}, "no-runner"),
        ({"incarnation": None}, "no-runner"),
        ({"tenant_id": TenantId("other")}, "no-runner"),
        ({"site_id": SiteId("other")}, "site-mismatch"),
        ({"cordoned": True}, "runners-cordoned"),
        ({"drain": DrainMode.SOFT}, "runners-cordoned"),
    ],
)
def test_a_free_camera_and_who_could_take_it(runner: dict[str, Any], code: str) -> None:
    assert codes(lease=None, runners=[replace(a_runner(), **runner)]) == [code]


def test_a_free_camera_when_everyone_is_full() -> None:
    assert codes(lease=None, load=a_load(unowned=1, free_slots=0, now=START)) == ["no-capacity"]


def test_a_lease_without_an_owner_is_as_free_as_none() -> None:
    assert codes(lease=replace(a_lease(), owner=None)) == ["not-owned"]


def test_an_expired_lease_says_whether_its_owner_may_come_back() -> None:
    assert codes(now=at(8), runners=[]) == ["orphaned", "no-runner"]
    assert codes(lease=a_lease(soft_for=60), now=at(10), runners=[]) == ["soft-window", "no-runner"]
    (soft, _) = explain(a_situation(lease=a_lease(soft_for=60), now=at(10)))
    assert soft.detail == "runner runner-1 is silent and may still come back, for 58 s more"


def test_an_owner_that_reports_nothing() -> None:
    assert codes() == ["no-report"]
    assert codes(budget=EMPTY) == ["budget-empty", "no-report"]
    assert codes(budget=BudgetView(bucket=a_bucket(tokens=1.0), in_flight=0)) == ["no-report"]


@pytest.mark.parametrize(
    "other",
    [
        {"runner_id": RunnerId("runner-0")},
        {"generation": Generation(7)},
        {"streamed_at": at(-REPORT_WITHIN - 1)},
        {"streamed_at": None, "ts": at(-REPORT_WITHIN - 1)},
    ],
)
def test_a_report_of_somebody_else_or_of_long_ago_says_nothing(other: dict[str, Any]) -> None:
    assert codes(status=a_report(**other)) == ["no-report"]


def test_a_stream_that_runs() -> None:
    assert codes(status=a_report()) == ["running"]
    assert codes(status=a_report(generation=Generation(1)), budget=EMPTY) == ["running"]


@pytest.mark.parametrize(
    ("substate", "code"),
    [
        (Substate.STALLED, "stalled"),
        (Substate.PARKED, "auth-parked"),
        (Substate.DEGRADED, "degraded"),
        (Substate.WAITING_FOR_KEYFRAME, "waiting-for-keyframe"),
    ],
)
def test_a_stream_that_does_not_simply_run(substate: Substate, code: str) -> None:
    assert codes(status=a_report(substate=substate)) == [code]
    assert codes(status=a_report(StreamState.CONNECTING, substate=substate), budget=EMPTY) == [code]


def test_a_stream_that_is_being_connected_says_its_last_error() -> None:
    assert codes(status=a_report(StreamState.CONNECTING), budget=EMPTY) == ["budget-empty", "connecting"]
    (reason,) = explain(a_situation(status=a_report(StreamState.CONNECTING, error_code="TCP_TIMEOUT")))
    assert reason.detail == "its owner is connecting (TCP_TIMEOUT)"
    assert codes(status=a_report(StreamState.DISCONNECTED)) == ["disconnected"]


def test_every_code_is_met_in_this_module() -> None:
    text = __loader__.get_source(__name__)  # type: ignore[name-defined]
    assert all(f'"{code.value}"' in text for code in ReasonCode)
