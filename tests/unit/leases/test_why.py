"""Why a camera is not running: every code has its situation."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from streamward.leases.lease import Lease
from streamward.leases.store import BudgetView
from streamward.leases.why import REPORT_WITHIN, ReasonCode, Situation, explain
from streamward.model.camera import Camera
from streamward.model.ids import Generation, RunnerId, SiteId, TenantId
from streamward.model.runner import DrainMode, Runner
from streamward.model.status import StreamState, StreamStatus, Substate
from tests.support.builders import CAMERA, a_bucket, a_camera, a_lease, a_load, a_runner, at

NOW = at(4)
STREAMING = StreamStatus(camera_id=CAMERA, runner_id=RunnerId("runner-1"), state=StreamState.STREAMING, ts=NOW)
FREE = Lease(camera_id=CAMERA)


def situation(
    *,
    camera: Camera | None = None,
    lease: Lease | None = None,
    status: StreamStatus | None = STREAMING,
    runners: Sequence[Runner] | None = None,
    free_slots: int = 1,
    tokens: float = 10.0,
) -> Situation:
    """A camera that runs, but for what is said."""
    return Situation(
        camera=camera or a_camera(),
        lease=lease or a_lease(),
        runners=[a_runner()] if runners is None else runners,
        load=a_load(free_slots=free_slots, now=NOW),
        budget=BudgetView(bucket=a_bucket(tokens=tokens), in_flight=0),
        status=status,
        now=NOW,
    )


def codes(seen: Situation) -> list[ReasonCode]:
    return [reason.code for reason in explain(seen)]


def in_state(state: StreamState, *, substate: Substate | None = None) -> StreamStatus:
    return replace(STREAMING, state=state, substate=substate)


CONNECTING = in_state(StreamState.CONNECTING)
UNSEEN = replace(STREAMING, substate=Substate.DEGRADED, error_code="DETECTOR_FAILED")
BLIND = replace(UNSEEN, state=StreamState.DISCONNECTED, substate=None)
FOREIGN = replace(a_runner(), tenant_id=TenantId("other"))
SILENT = replace(a_runner(), last_seen_at=at(-60))
GONE = replace(a_runner(), incarnation=None)
ELSEWHERE = replace(a_runner(), site_id=SiteId("other"))

SITUATIONS = [
    (ReasonCode.DISABLED, situation(camera=a_camera(enabled=False))),
    (ReasonCode.DO_NOT_PROCESS, situation(camera=a_camera(do_not_process=True))),
    (ReasonCode.NOT_OWNED, situation(lease=FREE)),
    (ReasonCode.NO_RUNNER, situation(lease=FREE, runners=[])),
    (ReasonCode.NO_RUNNER, situation(lease=FREE, runners=[SILENT, GONE, FOREIGN])),
    (ReasonCode.SITE_MISMATCH, situation(lease=FREE, runners=[ELSEWHERE])),
    (ReasonCode.RUNNERS_CORDONED, situation(lease=FREE, runners=[a_runner(drain=DrainMode.SOFT)])),
    (ReasonCode.NO_CAPACITY, situation(lease=FREE, free_slots=0)),
    (ReasonCode.NO_REPORT, situation(status=None)),
    (ReasonCode.NO_REPORT, situation(status=replace(STREAMING, runner_id=RunnerId("runner-0")))),
    (ReasonCode.NO_REPORT, situation(status=replace(STREAMING, generation=Generation(7)))),
    (ReasonCode.CONNECTING, situation(status=CONNECTING)),
    (ReasonCode.DISCONNECTED, situation(status=in_state(StreamState.DISCONNECTED))),
    (ReasonCode.STALLED, situation(status=in_state(StreamState.STREAMING, substate=Substate.STALLED))),
    (ReasonCode.AUTH_PARKED, situation(status=in_state(StreamState.DISCONNECTED, substate=Substate.PARKED))),
    (ReasonCode.DEGRADED, situation(status=in_state(StreamState.DISCONNECTED, substate=Substate.DEGRADED))),
    (ReasonCode.DETECTOR_UNUSABLE, situation(status=BLIND)),
    (ReasonCode.DEGRADED, situation(status=UNSEEN)),
    (
        ReasonCode.WAITING_FOR_KEYFRAME,
        situation(status=in_state(StreamState.CONNECTING, substate=Substate.WAITING_FOR_KEYFRAME)),
    ),
    (ReasonCode.RUNNING, situation()),
    (ReasonCode.RUNNING, situation(status=replace(STREAMING, generation=Generation(1), streamed_at=NOW))),
]


@pytest.mark.parametrize(("code", "seen"), SITUATIONS)
def test_one_thing_that_is_wrong_is_the_one_reason(code, seen):
    assert codes(seen) == [code]
    assert explain(seen)[0].detail


@pytest.mark.parametrize(
    ("soft_for", "code"), [(0.0, ReasonCode.ORPHANED), (1.0, ReasonCode.ORPHANED), (2.0, ReasonCode.SOFT_WINDOW)]
)
def test_an_expired_lease_is_named_with_who_could_take_it(soft_for, code):
    expired = replace(a_lease(soft_for=soft_for), expires_at=at(3))
    assert codes(situation(lease=expired)) == [code, ReasonCode.NOT_OWNED]


def test_a_camera_whose_detector_fails_is_told_from_one_whose_process_does():
    (reason,) = explain(situation(status=UNSEEN))
    assert reason.detail == "its pictures arrive, but its detector fails (DETECTOR_FAILED)"


def test_a_camera_whose_detector_cannot_be_loaded_is_told_where_to_look():
    (reason,) = explain(situation(status=BLIND))
    assert "the log of runner runner-1 says why" in reason.detail


def test_both_reasons_not_to_want_a_camera_are_told():
    seen = situation(camera=a_camera(enabled=False, do_not_process=True))
    assert codes(seen) == [ReasonCode.DISABLED, ReasonCode.DO_NOT_PROCESS]


def test_an_empty_budget_is_told_before_the_state_that_it_causes():
    assert codes(situation(status=CONNECTING, tokens=0.9)) == [ReasonCode.BUDGET_EMPTY, ReasonCode.CONNECTING]
    assert codes(replace(situation(status=CONNECTING), budget=None)) == [ReasonCode.CONNECTING]


def test_a_camera_that_was_never_leased_is_free():
    assert codes(replace(situation(), lease=None)) == [ReasonCode.NOT_OWNED]


@pytest.mark.parametrize(("age", "code"), [(REPORT_WITHIN, ReasonCode.RUNNING), (15.1, ReasonCode.NO_REPORT)])
def test_streaming_is_believed_for_three_reports(age, code):
    assert codes(situation(status=replace(STREAMING, ts=at(4 - age)))) == [code]


def test_the_error_of_a_report_is_told():
    (reason,) = explain(situation(status=replace(CONNECTING, error_code="TCP_TIMEOUT")))
    assert reason.detail == "its owner is connecting (TCP_TIMEOUT)"


def test_every_code_has_its_situation():
    told = {code for code, _ in SITUATIONS} | {ReasonCode.ORPHANED, ReasonCode.SOFT_WINDOW, ReasonCode.BUDGET_EMPTY}
    assert told == set(ReasonCode)
