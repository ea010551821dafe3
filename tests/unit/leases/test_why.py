"""Why a camera is not running: every code has its situation."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from streamward.leases.lease import Lease
from streamward.leases.logins import PARKED_FOR, Asker, LoginRecord, Refusal
from streamward.leases.store import BudgetView
from streamward.leases.why import REPORT_WITHIN, ReasonCode, Situation, explain
from streamward.model.camera import Camera
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId, SiteId, TenantId
from streamward.model.runner import DrainMode, Runner
from streamward.model.status import StreamState, StreamStatus, Substate
from streamward.model.stream_error import StreamErrorCode
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
    login: LoginRecord | None = None,
) -> Situation:
    """A camera that runs, but for what is said."""
    return Situation(
        camera=camera or a_camera(),
        lease=lease or a_lease(),
        runners=[a_runner()] if runners is None else runners,
        load=a_load(free_slots=free_slots, now=NOW),
        budget=BudgetView(bucket=a_bucket(tokens=tokens), in_flight=0),
        status=status,
        login=login,
        now=NOW,
    )


def codes(seen: Situation) -> list[ReasonCode]:
    return [reason.code for reason in explain(seen)]


def in_state(state: StreamState, *, substate: Substate | None = None) -> StreamStatus:
    return replace(STREAMING, state=state, substate=substate)


PARKED = in_state(StreamState.DISCONNECTED, substate=Substate.PARKED)
REFUSED_TWICE = LoginRecord(
    refused=tuple(Refusal(Asker(CameraId(each), Incarnation("inc-1")), NOW.timestamp() - 60) for each in ("b", "a"))
)
CONNECTING = in_state(StreamState.CONNECTING)
UNSEEN = replace(STREAMING, substate=Substate.DEGRADED, error_code="DETECTOR_FAILED")
BLIND = replace(UNSEEN, state=StreamState.DISCONNECTED, substate=None)
CORRUPT = replace(STREAMING, substate=Substate.DEGRADED, error_code="CORRUPT_STREAM")
UNDECODABLE = replace(CORRUPT, state=StreamState.CONNECTING, substate=Substate.WAITING_FOR_KEYFRAME)
FORBIDDEN = replace(BLIND, error_code="URL_FORBIDDEN")
NOT_PERMITTED = replace(BLIND, error_code="SOURCE_NOT_PERMITTED")
FOREIGN = replace(a_runner(), tenant_id=TenantId("other"))
SILENT = replace(a_runner(), last_seen_at=at(-60))
GONE = replace(a_runner(), incarnation=None)
LATE = replace(a_runner(), answer_delay=5.25)
ELSEWHERE = replace(a_runner(), site_id=SiteId("other"))

CERTIFICATES = [code for code in StreamErrorCode if code.startswith("TLS_CERT_")]
SITUATIONS = [
    (ReasonCode.DISABLED, situation(camera=a_camera(enabled=False))),
    (ReasonCode.DO_NOT_PROCESS, situation(camera=a_camera(do_not_process=True))),
    (ReasonCode.SOURCE_FORBIDDEN, situation(status=FORBIDDEN)),
    (ReasonCode.SOURCE_FORBIDDEN, situation(status=NOT_PERMITTED)),
    (ReasonCode.HOST_RESOURCES, situation(status=replace(BLIND, error_code="HOST_RESOURCES"))),
    *((ReasonCode.CERTIFICATE_REFUSED, situation(status=replace(BLIND, error_code=code))) for code in CERTIFICATES),
    (ReasonCode.NOT_OWNED, situation(lease=FREE)),
    (ReasonCode.NO_RUNNER, situation(lease=FREE, runners=[])),
    (ReasonCode.NO_RUNNER, situation(lease=FREE, runners=[SILENT, GONE, FOREIGN])),
    (ReasonCode.SITE_MISMATCH, situation(lease=FREE, runners=[ELSEWHERE])),
    (ReasonCode.RUNNERS_CORDONED, situation(lease=FREE, runners=[a_runner(drain=DrainMode.SOFT)])),
    (ReasonCode.NO_CAPACITY, situation(lease=FREE, free_slots=0)),
    (ReasonCode.ANSWERS_LATE, situation(lease=FREE, runners=[LATE, a_runner(cordoned=True)])),
    (ReasonCode.NOT_OWNED, situation(lease=FREE, runners=[LATE, a_runner()])),
    (ReasonCode.WITHDRAWN, situation(lease=a_lease().withdrawn(at(3)))),
    (ReasonCode.NO_REPORT, situation(status=None)),
    (ReasonCode.NO_REPORT, situation(status=replace(STREAMING, runner_id=RunnerId("runner-0")))),
    (ReasonCode.NO_REPORT, situation(status=replace(STREAMING, generation=Generation(7)))),
    (ReasonCode.CONNECTING, situation(status=CONNECTING)),
    (ReasonCode.DISCONNECTED, situation(status=in_state(StreamState.DISCONNECTED))),
    (ReasonCode.STALLED, situation(status=in_state(StreamState.STREAMING, substate=Substate.STALLED))),
    (ReasonCode.AUTH_PARKED, situation(status=PARKED)),
    (ReasonCode.AUTH_PARKED, situation(status=PARKED, login=REFUSED_TWICE)),
    (ReasonCode.DEGRADED, situation(status=in_state(StreamState.DISCONNECTED, substate=Substate.DEGRADED))),
    (ReasonCode.DETECTOR_UNUSABLE, situation(status=BLIND)),
    (ReasonCode.DEGRADED, situation(status=UNSEEN)),
    (ReasonCode.DEGRADED, situation(status=CORRUPT)),
    (ReasonCode.UNDECODABLE, situation(status=UNDECODABLE)),
    (ReasonCode.UNDECODABLE, situation(status=replace(UNDECODABLE, state=StreamState.DISCONNECTED, substate=None))),
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


def test_a_withdrawn_lease_has_no_soft_window_and_says_when_it_is_free():
    expired = replace(a_lease(soft_for=600.0).withdrawn(at(2)), expires_at=at(3))
    assert codes(situation(lease=expired)) == [ReasonCode.ORPHANED, ReasonCode.NOT_OWNED]
    (reason,) = explain(situation(lease=a_lease().withdrawn(at(3))))
    assert reason.detail == "runner runner-1 has yet to release it; without that it is free in 4 s"


def test_a_camera_that_only_late_runners_could_take_names_the_least_late():
    (reason,) = explain(situation(lease=FREE, runners=[LATE, replace(LATE, answer_delay=6.0)]))
    assert "runner-1 receives the control plane's answers 5.2 s late" in reason.detail


def test_a_camera_whose_detector_fails_is_told_from_one_whose_process_does():
    (reason,) = explain(situation(status=UNSEEN))
    assert reason.detail == "its frames arrive, but its detector fails (DETECTOR_FAILED)"


def test_a_camera_of_which_most_frames_are_corrupt_is_told_from_one_whose_detector_fails():
    (reason,) = explain(situation(status=CORRUPT))
    assert reason.detail == "its frames arrive, but at least half of them are corrupt (CORRUPT_STREAM)"


def test_a_camera_whose_detector_cannot_be_loaded_is_told_where_to_look():
    (reason,) = explain(situation(status=BLIND))
    assert "`streamward models list` on the host of runner runner-1" in reason.detail


def test_a_source_that_a_runner_s_settings_do_not_permit_is_told_by_that_runner_and_its_settings():
    (reason,) = explain(situation(status=NOT_PERMITTED))
    assert "runner runner-1" in reason.detail
    assert "SOURCE_NOT_PERMITTED" in reason.detail
    assert "STREAMWARD_RUNNER_SOURCE_" in reason.detail


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
    assert reason.detail == "runner runner-1 is connecting, after the last try failed (TCP_TIMEOUT)"
    (reason,) = explain(situation(status=CONNECTING))
    assert reason.detail == "runner runner-1 is connecting"


@pytest.mark.parametrize(("streamed", "what"), [(None, "cannot connect"), (1, "lost the connection")])
def test_the_runner_s_sentence_and_its_next_try_are_told_and_whether_it_ever_was_connected(streamed, what):
    refused = replace(
        in_state(StreamState.DISCONNECTED),
        error_code="TCP_REFUSED",
        error_detail="nothing listens at that port",
        retry_at=at(12),
        streamed_generation=None if streamed is None else Generation(streamed),
    )
    (reason,) = explain(situation(status=refused))
    told = f"runner runner-1 {what} (TCP_REFUSED): nothing listens at that port"
    assert reason.detail == f"{told}; the next try is at {at(12):%H:%M:%S} UTC"
    (reason,) = explain(situation(status=replace(refused, retry_at=at(4))))
    assert reason.detail == told, "it is tried just now"


@pytest.mark.parametrize(
    ("report", "told"),
    [
        ({"substate": Substate.STALLED, "error_code": "FRAME_STALL"}, "no new frames (FRAME_STALL): SENTENCE; "),
        ({"substate": Substate.WAITING_FOR_KEYFRAME, "error_code": "NO_KEYFRAME"}, " (NO_KEYFRAME): SENTENCE; "),
        ({"substate": Substate.DEGRADED, "error_code": "CORRUPT_STREAM"}, " (CORRUPT_STREAM): SENTENCE; "),
        ({"error_code": "HOST_RESOURCES"}, " left to dial it (HOST_RESOURCES): SENTENCE; "),
        ({"error_code": "TLS_CERT_PIN_MISMATCH"}, " (TLS_CERT_PIN_MISMATCH): SENTENCE; "),
    ],
)
def test_every_report_of_an_error_is_told_with_the_runner_s_sentence_and_the_next_try(report, told):
    failed = replace(in_state(StreamState.DISCONNECTED), error_detail="SENTENCE", retry_at=at(12), **report)
    failed = replace(failed, state=StreamState.STREAMING) if report.get("substate") is Substate.DEGRADED else failed
    (reason,) = explain(situation(status=failed))
    assert f"{told}the next try is at {at(12):%H:%M:%S} UTC" in reason.detail


def test_every_code_has_its_situation():
    told = {code for code, _ in SITUATIONS} | {ReasonCode.ORPHANED, ReasonCode.SOFT_WINDOW, ReasonCode.BUDGET_EMPTY}
    assert told == set(ReasonCode)


def test_of_a_parked_login_it_is_told_which_one_and_until_when():
    [parked] = explain(situation(status=PARKED, login=REFUSED_TWICE))
    until = NOW + timedelta(seconds=PARKED_FOR - 60)
    assert f"refused twice, for a, b, and is not tried until {until:%Y-%m-%d %H:%M:%S} UTC" in parked.detail
    [over] = explain(situation(status=PARKED))
    assert "may be tried again now" in over.detail
