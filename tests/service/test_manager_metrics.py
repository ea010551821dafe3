"""Several Workers' pages as one: each family once, every sample kept, and who does not answer left out."""

from prometheus_client.parser import text_string_to_metric_families

from streamward.model.ids import CameraId, ShardId
from streamward.model.status import StreamState
from streamward.runner import ring_metrics
from streamward.runner.manager_metrics import RunnerMetrics, merged, union
from streamward.runner.manager_parts import Counts
from streamward.runner.metrics import WorkerMetrics
from streamward.runtime.local_http import Asked, LocalApi, Reply, Route
from streamward.vision.stream import Condition
from tests.support.ports import free_port

ONE, TWO = ShardId("s0"), ShardId("s1")
RUNS = Condition(state=StreamState.STREAMING, substate=None, fps=5.0, last_frame_at=1.0, error_code=None)


def page(shard: ShardId, camera: str) -> str:
    """What a Worker serves: its own metrics and those of its clips."""
    metrics = WorkerMetrics(runner_id="r1", shard_id=shard)
    metrics.pipeline(5.0)
    metrics.spool(7)
    metrics.condition(camera, RUNS, 2.0, dropped=0)
    metrics.failed(camera, "TCP_REFUSED")
    metrics.looked(camera, inference_s=0.01, e2e_s=0.02)
    metrics.kept(0.001)
    return (metrics.render() + ring_metrics.render({CameraId(camera): 30.0}, lost=0)).decode()


def series(page: str) -> list[tuple[str, frozenset[tuple[str, str]]]]:
    """The name and labels of every sample, as Prometheus reads them."""
    families = text_string_to_metric_families(page)
    return [(each.name, frozenset(each.labels.items())) for family in families for each in family.samples]


def test_no_two_workers_expose_the_same_series():
    """Also of a camera that both watch for a moment, and of what a Worker exposes for the whole process."""
    pages = {shard: page(shard, "cam-1") for shard in (ONE, TWO)}
    assert series(pages[ONE]), "there is something to collide"
    found = series(merged(pages).decode())
    assert len(found) == len(set(found)) == sum(len(series(each)) for each in pages.values())
    assert {dict(labels)["shard_id"] for _, labels in found} == {ONE, TWO}


def test_each_family_is_told_once_and_no_sample_is_lost():
    pages = {ONE: page(ONE, "cam-1"), TWO: page(TWO, "cam-2")}
    lines = merged(pages).decode().splitlines()
    types = [line for line in lines if line.startswith("# TYPE")]
    assert len(types) == len(set(types))
    values = [line.rpartition(" ")[2] for each in pages.values() for line in each.splitlines() if line[:1] != "#"]
    assert sorted(values) == sorted(line.rpartition(" ")[2] for line in lines if line[:1] != "#")
    assert 'stream_errors_total{camera_uuid="cam-1",code="TCP_REFUSED",shard_id="s0"} 1.0' in lines
    assert 'spool_bytes{shard_id="s1"} 7.0' in lines
    at = lines.index('pipeline_fps{runner_id="r1",shard_id="s0"} 5.0')
    assert lines[at + 1] == 'pipeline_fps{runner_id="r1",shard_id="s1"} 5.0'
    of_errors = [line for line in lines if line.startswith("stream_errors_total")]
    assert [line.split('"')[1] for line in of_errors] == ["cam-1", "cam-2"]


async def test_a_worker_that_does_not_answer_is_left_out():
    async def told(_asked: Asked) -> Reply:
        return Reply(200, page(ONE, "cam-1").encode())

    api = LocalApi({("GET", "/metrics"): Route(told)})
    port = await api.start()
    try:
        assert b'camera_uuid="cam-1"' in await union({ONE: port, TWO: free_port()})
    finally:
        await api.stop()


def test_a_runner_tells_how_much_it_has():
    metrics = RunnerMetrics("runner-a")
    metrics.show(Counts(desired=4, owned=3, running=2, shards=1, workers=2, is_draining=True))
    text = metrics.render().decode()
    for line in (
        'runner_streams_owned{runner_id="runner-a"} 3.0',
        'runner_streams_running{runner_id="runner-a"} 2.0',
        'runner_shards{runner_id="runner-a"} 1.0',
        'runner_workers{runner_id="runner-a"} 2.0',
        'drain_in_progress{runner_id="runner-a"} 1.0',
        "streams_desired_total 4.0",
        "active_leases_total 3.0",
        "streams_pending_total 2.0",
        "# TYPE streams_pending_total gauge",
        "streams_pending 2.0",
    ):
        assert line in text
    assert "process_resident_memory_bytes" in text
