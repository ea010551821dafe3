"""What a soak makes of what it hears."""

from datetime import UTC, datetime
from typing import Any

from streamward.drills.soak.ledger import QUIET_FOR, Ledger
from streamward.drills.soak.plan import TRIALS
from streamward.model.status import StreamState, Substate
from streamward.protocol.events import DetectionEvent, Latency, SeenThing, StreamFailed
from streamward.protocol.streams import StreamReport

BOOT_TO_WALL = 1_000_000.0
MUTE = TRIALS[0]


def a_ledger(*cameras: str) -> Ledger:
    ledger = Ledger(runner_id="r1", max_fps=5.0)
    ledger.begin(cameras or ("cam-1", "cam-2"), 0.0)
    return ledger


def status(ledger: Ledger, camera: str, state: StreamState, now: float, **changes: Any) -> None:
    at = datetime.fromtimestamp(now - 0.1 + BOOT_TO_WALL, UTC)
    report = StreamReport(camera_uuid=camera, runner_id="r1", state=state, ts=at, **changes)
    ledger.reported(report, now=now, wall=now + BOOT_TO_WALL)


def see(ledger: Ledger, camera: str, looked_at: float, *, seq: int, came: float = 0.05, frame: int = 7) -> None:
    mark = SeenThing(label=f"mark.1.{frame}.{round(looked_at * 1_000_000)}", conf=1.0, bbox_xyxy=[0, 0, 1, 1])
    event = DetectionEvent(
        ts=datetime.fromtimestamp(looked_at, UTC),
        runner_id="r1",
        shard_id="s0",
        tenant_id="t",
        site_id="s",
        camera_uuid=camera,
        frame_id=seq,
        fps=25.0,
        detections=[SeenThing(label="car", conf=0.9, bbox_xyxy=[0, 0, 1, 1]), mark],
        latency=Latency(inference_s=0.01, e2e_s=0.03),
        generation=1,
        epoch=1,
        incarnation="i",
        seq=seq,
        event_id=f"{camera}.1.1.{seq}",
    )
    ledger.detected(event, now=looked_at + came, wall=looked_at + came + BOOT_TO_WALL)


def running() -> Ledger:
    """Two cameras that stream since the first second."""
    ledger = a_ledger()
    for camera in ("cam-1", "cam-2"):
        status(ledger, camera, StreamState.STREAMING, 1.0)
    return ledger


def test_a_camera_is_well_when_it_streams_for_a_while():
    ledger = a_ledger()
    status(ledger, "cam-1", StreamState.CONNECTING, 0.5)
    status(ledger, "cam-1", StreamState.STREAMING, 1.0)
    assert ledger.well(1.0 + QUIET_FOR - 0.1) == []
    assert ledger.well(1.0 + QUIET_FOR) == ["cam-1"]
    assert ledger.disturbances == []


def test_what_is_told_of_a_faulty_camera_is_its_notice():
    ledger = running()
    trouble = ledger.set(MUTE, ["cam-1"], 10.0)
    status(ledger, "cam-1", StreamState.DISCONNECTED, 14.2, error_code="FRAME_STALL")
    ledger.cleared(trouble, 17.0)
    status(ledger, "cam-1", StreamState.CONNECTING, 17.3)
    status(ledger, "cam-1", StreamState.STREAMING, 17.5)
    assert (trouble.noticed_at, trouble.streaming_at) == ({"cam-1": 14.2}, {"cam-1": 17.5})
    assert "FRAME_STALL" in trouble.codes
    assert (ledger.well(18.0), ledger.well(21.0)) == (["cam-2"], ["cam-1", "cam-2"])
    assert ledger.disturbances == []


def test_a_still_picture_is_not_well():
    ledger = running()
    trouble = ledger.set(MUTE, ["cam-1"], 10.0)
    ledger.cleared(trouble, 12.0)
    status(ledger, "cam-1", StreamState.STREAMING, 13.0, substate=Substate.STALLED)
    assert ledger.well(30.0) == ["cam-2"]


def test_what_is_told_of_a_well_camera_is_a_disturbance():
    ledger = running()
    ledger.set(MUTE, ["cam-1"], 10.0)
    at = datetime.fromtimestamp(0, UTC)
    failure = StreamFailed(camera_uuid="cam-2", runner_id="r1", code="CORRUPT_STREAM", detail="", retry_in_ms=0, ts=at)
    ledger.failed(failure, now=11.0)
    assert ledger.disturbances == ["cam-2: CORRUPT_STREAM"]


def test_streams_that_disconnect_because_the_worker_ends_are_no_disturbance():
    ledger = running()
    ledger.is_ending = True
    status(ledger, "cam-1", StreamState.DISCONNECTED, 10.0)
    assert ledger.disturbances == []
    ledger.is_ending = False
    status(ledger, "cam-2", StreamState.DISCONNECTED, 10.0)
    assert ledger.disturbances == ["cam-2: DISCONNECTED"]


def test_repeats_doubles_and_what_never_came_are_counted():
    ledger = running()
    for seq in (1, 2, 2, 5):
        see(ledger, "cam-1", 10.0 + seq, seq=seq)
    see(ledger, "cam-2", 16.0, seq=5)
    assert (ledger.repeated, ledger.doubled, ledger.missing) == (1, 1, 2)
    assert ledger.events == {"cam-1": 3, "cam-2": 1}


def test_gaps_of_well_cameras_are_kept_apart_by_whether_another_is_troubled():
    ledger = running()
    for seq, at in enumerate((10.0, 10.2, 10.9), start=1):
        see(ledger, "cam-2", at, seq=seq)
    ledger.set(MUTE, ["cam-1"], 11.0)
    for seq, at in enumerate((11.1, 11.3, 11.9), start=4):
        see(ledger, "cam-2", at, seq=seq)
        see(ledger, "cam-1", at, seq=seq + 10)
    assert (ledger.calm.count, ledger.calm.over) == (2, 1)
    assert (ledger.beside.count, ledger.beside.over) == (3, 1)
    assert round(ledger.beside.longest, 3) == 0.6


def test_the_whole_way_is_counted_from_the_latest_time_that_such_a_picture_was_sent_before_it_was_looked_at():
    ledger = running()
    see(ledger, "cam-1", 10.0, seq=1, came=0.25)
    see(ledger, "cam-1", 11.0, seq=2, frame=99)
    sent = [{"scene": 1, "loop_frame": 7, "sent_at": at + BOOT_TO_WALL} for at in (4.9, 9.9, 14.9)]
    ledger.sent("cam-1", sent[:2])
    assert ledger.whole == []  # whether there was one later is not known yet
    ledger.sent("cam-1", sent[2:])
    assert [round(each, 3) for each in ledger.whole] == [0.35]
    assert ledger.unmatched == 1
    assert [round(each, 3) for each in ledger.delivery] == [0.25, 0.05]
    assert [round(each, 3) for each in ledger.path] == [0.28, 0.08]


def test_others_are_not_heard():
    ledger = Ledger(runner_id="r2", max_fps=5.0)
    ledger.begin(["cam-1"], 0.0)
    see(ledger, "cam-1", 10.0, seq=1)
    status(ledger, "cam-1", StreamState.STREAMING, 1.0)
    assert (ledger.events, ledger.well(60.0)) == ({}, [])
