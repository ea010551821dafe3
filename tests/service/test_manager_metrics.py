"""Several Workers' pages as one: each family once, every sample kept, and who does not answer left out."""

from streamward.runner.manager_metrics import RunnerMetrics, merged, union
from streamward.runner.manager_parts import Counts
from streamward.runner.metrics import WorkerMetrics
from streamward.runtime.local_http import Asked, LocalApi, Reply, Route
from tests.support.ports import free_port


def page(shard: str, camera: str) -> str:
    metrics = WorkerMetrics(runner_id="r1", shard_id=shard)
    metrics.pipeline(5.0)
    metrics.failed(camera, "TCP_REFUSED")
    metrics.looked(camera, inference_s=0.01, e2e_s=0.02)
    return metrics.render().decode()


def test_each_family_is_told_once_and_no_sample_is_lost():
    pages = [page("s0", "cam-1"), page("s1", "cam-2")]
    lines = merged(pages).decode().splitlines()
    types = [line for line in lines if line.startswith("# TYPE")]
    assert len(types) == len(set(types))
    samples = {line for each in pages for line in each.splitlines() if line and not line.startswith("#")}
    assert samples <= set(lines)
    at = lines.index('pipeline_fps{runner_id="r1",shard_id="s0"} 5.0')
    assert lines[at + 1] == 'pipeline_fps{runner_id="r1",shard_id="s1"} 5.0'
    of_errors = [line for line in lines if line.startswith("stream_errors_total")]
    assert [line.split('"')[1] for line in of_errors] == ["cam-1", "cam-2"]


async def test_a_worker_that_does_not_answer_is_left_out():
    async def told(_asked: Asked) -> Reply:
        return Reply(200, page("s0", "cam-1").encode())

    api = LocalApi({("GET", "/metrics"): Route(told)})
    port = await api.start()
    try:
        assert b'camera_uuid="cam-1"' in await union([port, free_port()])
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
