"""What a holder asks, as messages; what the control plane replies, as answers."""

from typing import get_args

import pytest

from streamward.leases.handover import Handing, HandoverAsk
from streamward.leases.holder import MOST_ASKED, Acquired, Ask, AskBody, AskKind, Beat, Flags, Released, Releasing
from streamward.leases.lease import DenialReason, Denied
from streamward.leases.store import Kept, Named, OpenClaim, Renewal, Renewed
from streamward.model.camera import LeasePolicyName
from streamward.model.ids import CameraId, Generation, SiteId
from streamward.model.runner import DrainMode, RunnerLoad, RunnerSpec
from streamward.protocol import leases as wire
from streamward.protocol.handovers import AskHandovers, HandoverAnswers, WatchCamera, asked, handing, watch
from streamward.protocol.problem import Problem
from streamward.protocol.runner_link import PATHS, REPLIES, Request, answer, request
from tests.support.builders import CAMERA, START, an_owner, at

OWNER = an_owner()
SPEC = RunnerSpec(
    runner_id=OWNER.runner_id,
    incarnation=OWNER.incarnation,
    site_id=SiteId("site-1"),
    policy=LeasePolicyName.STICKY,
    capacity=12,
)
WHO = {"runner_id": "runner-1", "incarnation": "inc-1"}
THREE = Generation(3)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (SPEC, wire.RegisterRunner(**WHO, site_id="site-1", policy=LeasePolicyName.STICKY, capacity_streams=12)),
        (OpenClaim(owner=OWNER, limit=7), wire.AcquireCameras(runner_id="runner-1", incarnation="inc-1", limit=7)),
        (
            OpenClaim(owner=OWNER, limit=7, beyond_share=True),
            wire.AcquireCameras(runner_id="runner-1", incarnation="inc-1", limit=7, beyond_share=True),
        ),
        (
            Renewal(owner=OWNER, leases=(Named(CAMERA, THREE), Named(CameraId("cam-2"), None)), echo=START),
            wire.RenewCameras(
                runner_id="runner-1",
                incarnation="inc-1",
                server_time_echo=START,
                cameras=[
                    wire.NamedLease(camera_uuid="cam-1", version=3),
                    wire.NamedLease(camera_uuid="cam-2", version=0),
                ],
            ),
        ),
        (
            Releasing(OWNER, (Named(CAMERA, THREE, at(5)), Named(CameraId("cam-2"), None))),
            wire.ReleaseCameras(
                **WHO,
                cameras=[
                    wire.LeaseGivenBack(camera_uuid="cam-1", version=3, made_until=at(5)),
                    wire.LeaseGivenBack(camera_uuid="cam-2", version=0, made_until=None),
                ],
            ),
        ),
        (
            Beat(OWNER, 4, load=RunnerLoad(shards=2, cpu_pct=41.2, mem_mb=1024)),
            wire.Heartbeat(runner_id="runner-1", streams_owned=4, shards=2, cpu_pct=41.2, mem_mb=1024, ts=at(7)),
        ),
    ],
)
def test_each_ask_is_one_message(body, message):
    assert request(Ask(number=1, kind=AskKind.BEAT, body=body, sent=0.0), at=at(7)) == message


FLAGS = wire.RunnerFlags(
    runner_id="runner-1",
    cordoned=True,
    drain_mode=DrainMode.SOFT,
    capacity_streams=12,
    incarnation="inc-1",
    site_id=None,
    policy=LeasePolicyName.FAST,
    last_seen_at=at(0),
)
ACQUIRED = wire.AcquiredCamera(
    camera_uuid="cam-1", tenant_id="tenant-1", site_id="site-1", version=3, ttl_ms=8500, expires_at=at(8.5), source=None
)


def a_problem(reason: str) -> Problem:
    return Problem(title="Denied", status=409, detail="no", reason=reason)


@pytest.mark.parametrize(
    ("reply", "means"),
    [
        (FLAGS, Flags(capacity=12, cordoned=True, drain=DrainMode.SOFT)),
        (
            wire.CamerasAcquired(server_time=at(1), leases=[ACQUIRED], more=True),
            Acquired(at=at(1), leases=(Kept(CAMERA, THREE, 8.5),), more=True),
        ),
        (
            wire.CamerasRenewed(
                server_time=at(1),
                renewed=[wire.RenewedLease(camera_uuid="cam-1", version=3, ttl_ms=8000)],
                lost=["cam-2"],
                busy=["cam-3"],
                unlisted=[wire.NamedLease(camera_uuid="cam-4", version=1)],
            ),
            Renewed(
                at=at(1),
                kept=(Kept(CAMERA, THREE, 8.0),),
                lost=(CameraId("cam-2"),),
                busy=(CameraId("cam-3"),),
                unlisted=(Named(CameraId("cam-4"), Generation(1)),),
            ),
        ),
        (wire.CamerasReleased(released=["cam-1"]), Released((CAMERA,))),
        (a_problem("incarnation-ended"), Denied(DenialReason.INCARNATION_ENDED)),
        (a_problem("busy"), Denied(DenialReason.BUSY)),
        (a_problem("internal"), None),
    ],
)
def test_each_reply_is_one_answer_or_nothing_that_a_runner_can_act_on(reply, means):
    assert answer(reply) == means


def test_every_request_has_a_path_and_a_reply():
    assert set(PATHS) == set(REPLIES) == set(get_args(Request))
    assert len(set(PATHS.values())) == len(PATHS)


def test_every_ask_can_be_sent():
    assert len(get_args(AskBody)) == len(get_args(Request)) - 1, "handovers are no leases"


def test_what_is_said_of_handovers_is_heard_as_it_was_said():
    seen = frozenset({CameraId("cam-1")})
    said = asked(HandoverAsk(owner=OWNER, room=5000, shown=seen))
    assert said == AskHandovers(runner_id="runner-1", incarnation="inc-1", room=MOST_ASKED, shown=["cam-1"])
    camera = WatchCamera(camera_uuid="cam-2", tenant_id="acme", site_id="site-1", version=7, source=None)
    answers = HandoverAnswers(watch=[camera], awaited=["cam-3"], shown=["cam-1"])
    assert handing(answers) == Handing(awaited=frozenset({CameraId("cam-3")}), shown=seen)
    assert (watch(answers), answer(answers)) == ({"cam-2": 7}, None)
