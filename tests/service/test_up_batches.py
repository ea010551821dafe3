"""What `streamward up` tells of batches: that the first one closed."""

import asyncio

from streamward.runtime.local_http import LocalApi, Reply, Route
from streamward.up.batches import FirstBatch, closed_at


def test_the_first_batch_is_told_once():
    closed = 0.0
    told = FirstBatch(lambda: closed, since_start=lambda _: 93.2)
    assert [line for _ in range(9) for line in told.news()] == []
    closed = 2.0
    assert [line for _ in range(20) for line in told.news()] == [
        "the first batch of detections closed and waits to be analysed, 93 s after the start"
    ]


async def test_batches_are_counted_over_all_reasons_and_a_batcher_that_is_away_has_closed_none():
    page = b'batches_closed_total{reason="idle_timeout"} 2.0\nbatches_closed_total{reason="max_size"} 1.0\nx 7.0\n'

    async def answer(_: object) -> Reply:
        return Reply(200, page, "text/plain")

    api = LocalApi({("GET", "/metrics"): Route(answer)})
    look = closed_at(f"http://127.0.0.1:{await api.start()}/metrics")
    assert await asyncio.to_thread(look) == 3.0
    await api.stop()
    assert await asyncio.to_thread(look) == 0.0
