"""A runner's metrics (S0-057 to S0-059), and those of all its Workers as one page.

Each Worker serves its own on a loopback port that nobody knows beforehand; the Manager asks them all and puts the
answers together: each family once, with every Worker's samples, each of them with its Worker's `shard_id`. Without that
label two Workers would expose the same series, and Prometheus keeps one of them without a warning.
"""

import asyncio
import contextlib
import re
from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, Gauge, ProcessCollector, generate_latest

from streamward.model.ids import ShardId
from streamward.runner.manager_parts import Counts

ASK_WITHIN = 1.0  # seconds
LARGEST_PAGE = 1 << 22  # bytes
_SUFFIX = re.compile(r"_(?:total|created|bucket|count|sum)$")


class RunnerMetrics:
    """What Prometheus scrapes of a Manager."""

    def __init__(self, runner_id: str) -> None:
        self._registry = every = CollectorRegistry()
        label = ("runner_id",)
        self._owned = Gauge("runner_streams_owned", "Cameras that it holds", label, registry=every).labels(runner_id)
        self._running = Gauge("runner_streams_running", "Cameras that Workers run", label, registry=every).labels(
            runner_id
        )
        self._shards = Gauge("runner_shards", "Shards of its cameras", label, registry=every).labels(runner_id)
        self._workers = Gauge("runner_workers", "Worker processes", label, registry=every).labels(runner_id)
        self._draining = Gauge("drain_in_progress", "1 while cameras are drained", label, registry=every).labels(
            runner_id
        )
        self._desired = _twins("streams_desired_total", "streams_desired", "Cameras that it should run", every)
        self._active = _twins("active_leases_total", "leases_active", "Leases that it trusts", every)
        self._pending = _twins("streams_pending_total", "streams_pending", "Cameras of its that no Worker runs", every)
        ProcessCollector(registry=every)

    def show(self, counts: Counts) -> None:
        """How it stands."""
        self._owned.set(counts.owned)
        self._running.set(counts.running)
        self._shards.set(counts.shards)
        self._workers.set(counts.workers)
        self._draining.set(counts.is_draining)
        for twins, count in (
            (self._desired, counts.desired),
            (self._active, counts.owned),
            (self._pending, counts.pending),
        ):
            for gauge in twins:
                gauge.set(count)

    def render(self) -> bytes:
        """Everything as text."""
        return generate_latest(self._registry)


def _twins(spelled: str, clean: str, about: str, registry: CollectorRegistry) -> tuple[Gauge, Gauge]:
    """One value under S0's name, and under one that does not look like a counter's."""
    return Gauge(spelled, about, registry=registry), Gauge(clean, about, registry=registry)


async def union(ports: Mapping[ShardId, int]) -> bytes:
    """The pages of the Workers of these shards as one; a Worker that does not answer in time is left out."""
    pages = await asyncio.gather(*map(_page, ports.values()))
    return merged({shard_id: page for shard_id, page in zip(ports, pages, strict=True) if page})


def merged(pages: Mapping[ShardId, str]) -> bytes:
    """Several shards' pages as one: the head of a family stands once, before all its samples, each with its shard."""
    heads: dict[str, list[str]] = {}
    samples: dict[str, list[str]] = {}
    for shard_id, page in pages.items():
        for family, line in _lines(page):
            if line.startswith("#"):
                known = heads.setdefault(family, [])
                known += [] if line in known else [line]
            else:
                samples.setdefault(family, []).append(_labelled(line, shard_id))
    told = (line for family in heads | samples for line in (*heads.get(family, ()), *samples.get(family, ())))
    return "".join(f"{line}\n" for line in told).encode()


def _labelled(sample: str, shard_id: ShardId) -> str:
    """A sample with its shard, unless it has one; a Worker writes no timestamps, so the value stands last."""
    series, _, value = sample.rpartition(" ")
    name, _, labels = series.removesuffix("}").partition("{")
    if re.search(r'(?:^|,)shard_id="', labels):
        return sample
    every = ",".join(filter(None, (labels, f'shard_id="{shard_id}"')))
    return f"{name}{{{every}}} {value}"


def _lines(page: str) -> Iterator[tuple[str, str]]:
    """Each line with its family: that of the last `# TYPE` that it belongs to, else its own name."""
    family = ""
    for line in filter(None, page.splitlines()):
        if line.startswith("#"):
            family = line.split(" ")[2]
            yield family, line
            continue
        name = re.split(r"[{ ]", line, maxsplit=1)[0]
        is_of_family = name == family or _SUFFIX.sub("", name) == _SUFFIX.sub("", family)
        yield (family if is_of_family else name), line


async def _page(port: int) -> str | None:
    with contextlib.suppress(OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
        async with asyncio.timeout(ASK_WITHIN):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=LARGEST_PAGE)
            try:
                writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
                head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
            finally:
                writer.close()
        return body.decode() if b" 200 " in head.split(b"\r\n")[0] else None
    return None
