"""What a drill's sink makes of what it hears."""

from datetime import UTC, datetime, timedelta

from streamward.drills.takeover.ledger import Ledger, Term
from streamward.leases.fence import Verdict
from streamward.leases.lease import Grant, Owner
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId, SiteId, TenantId
from streamward.model.status import StreamState
from streamward.protocol.events import DetectionEvent, Latency
from streamward.protocol.streams import StreamReport

CAMERA = CameraId("cam-1")
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
FIRST, SECOND = Term(CAMERA, Generation(1)), Term(CAMERA, Generation(2))


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def a_grant(generation: int, owner: str, since: float) -> Grant:
    return Grant(
        camera_id=CAMERA,
        generation=Generation(generation),
        owner=Owner(RunnerId(owner), Incarnation(f"{owner}1")),
        tenant_id=TenantId("acme"),
        site_id=SiteId("yard"),
        granted_at=at(since),
    )


def an_event(generation: int, owner: str, made: float) -> DetectionEvent:
    return DetectionEvent(
        ts=at(made),
        runner_id=owner,
        shard_id="s0",
        tenant_id="acme",
        site_id="yard",
        camera_uuid=CAMERA,
        frame_id=1,
        fps=5.0,
        detections=[],
        latency=Latency(inference_s=0.01, e2e_s=0.02),
        generation=generation,
        epoch=1,
        incarnation=f"{owner}1",
        seq=1,
        event_id=f"{generation}.{made}",
    )


def a_status(generation: int | None, state: StreamState = StreamState.STREAMING) -> StreamReport:
    return StreamReport(camera_uuid=CAMERA, runner_id="a", state=state, ts=NOON, version=generation)


def heard(ledger: Ledger, event: DetectionEvent, *, now: float) -> Verdict | None:
    return ledger.heard_detection(event, now=now, at=at(now))


def test_a_detection_is_judged_by_the_grants_that_are_known():
    ledger = Ledger()
    ledger.granted([a_grant(1, "a", 0)])
    assert heard(ledger, an_event(1, "a", 1), now=1.1) is Verdict.LIVE
    ledger.granted([a_grant(2, "b", 5)])
    assert heard(ledger, an_event(1, "a", 2), now=5.1) is Verdict.LATE
    assert heard(ledger, an_event(1, "a", 6), now=6.1) is Verdict.REFUSED
    assert heard(ledger, an_event(2, "b", 6), now=6.2) is Verdict.LIVE
    assert (ledger.stale, ledger.shared, ledger.gap(FIRST), ledger.gap(SECOND)) == (0, 0, 4.0, None)
    assert ledger.first_after(FIRST, ledger.detected) == 6.2


def test_what_comes_again_is_counted_once():
    ledger = Ledger()
    ledger.granted([a_grant(1, "a", 0)])
    assert heard(ledger, an_event(1, "a", 1), now=1.1) is Verdict.LIVE
    assert heard(ledger, an_event(1, "a", 1), now=1.2) is None
    assert (ledger.repeated, ledger.verdicts.total()) == (1, 1)


def test_a_sink_that_judges_by_old_grants_is_found_out():
    ledger = Ledger()
    ledger.granted([a_grant(1, "a", 0)])
    heard(ledger, an_event(1, "a", 6), now=6.1)  # the second grant was there, and nobody had read it
    ledger.granted([a_grant(2, "b", 5)])
    heard(ledger, an_event(2, "b", 5.5), now=6.2)
    assert (ledger.stale, ledger.shared) == (1, 1)


def test_a_camera_streams_under_the_generation_that_its_status_names():
    ledger = Ledger()
    ledger.heard_status(a_status(1), 3.0)
    ledger.heard_status(a_status(2, StreamState.CONNECTING), 4.0)
    ledger.heard_status(a_status(None), 4.5)
    assert ledger.first_after(FIRST, ledger.streaming) is None
    ledger.heard_status(a_status(2), 5.0)
    ledger.heard_status(a_status(2), 10.0)
    assert ledger.streaming == {FIRST: 3.0, SECOND: 5.0}
    assert ledger.first_after(FIRST, ledger.streaming) == 5.0
