"""A Manager and its Worker read what the other wrote, secrets included."""

import pytest

from streamward.leases.held import Held
from streamward.model.ids import Generation
from streamward.model.secret import Secret
from streamward.protocol import codec, worker_link
from streamward.protocol.fields import ClearText
from streamward.protocol.shards import ShardConfig, Source
from tests.support.builders import START

SOURCE = Source(
    camera_uuid="cam-1",
    url=ClearText(Secret("rtsp://192.0.2.1/1")),
    site_id="site-1",
    tenant_id="t-1",
    password=ClearText(Secret("hunter2")),
)
HELD = Held(generation=Generation(3), deadline=12.5, told_at=START, asked=5.0, since=4.0)


@pytest.mark.parametrize(
    "order",
    [
        worker_link.Begin(config=ShardConfig(runner_id="r1", shard_id="s0", sources=[SOURCE])),
        worker_link.Feed(leases=[worker_link.fed("cam-1", HELD)]),
        worker_link.Add(source=SOURCE, is_muted=True),
        worker_link.Drop(camera_uuid="cam-1", epoch=2),
        worker_link.Mute(camera_uuid="cam-1", is_final=True),
        worker_link.Expect(cameras=["cam-1", "cam-2"]),
        worker_link.Unmute(camera_uuid="cam-1", after=7.5),
        worker_link.SetPace(site_id="site-1", per_minute=40.8, burst=3.4),
        worker_link.Drain(),
        worker_link.Terminate(),
    ],
)
def test_a_worker_reads_what_its_manager_ordered(order: worker_link.Order) -> None:
    assert worker_link.read_order(codec.encode(order)) == order


@pytest.mark.parametrize(
    "word",
    [
        worker_link.Began(pid=17, port=4711),
        worker_link.Told(reports=[], failures=[]),
        worker_link.Showing(camera_uuid="cam-1", arrived=7.25),
        worker_link.DialEnded(camera_uuid="cam-1"),
        worker_link.Stopped(camera_uuid="cam-1", epoch=2, last_arrived=7.5, made_until=START),
    ],
)
def test_a_manager_reads_what_its_worker_said(word: worker_link.Word) -> None:
    assert worker_link.read_word(codec.encode(word)) == word


def test_a_lease_is_the_same_at_both_ends() -> None:
    assert worker_link.held(worker_link.fed("cam-1", HELD)) == HELD


def test_neither_end_takes_the_others_messages() -> None:
    with pytest.raises(codec.MalformedMessage):
        worker_link.read_order(codec.encode(worker_link.DialEnded(camera_uuid="cam-1")))
