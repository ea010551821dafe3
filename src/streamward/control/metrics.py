"""Metrics: counters from the journal's facts, gauges read from the store at each scrape."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from streamward.control.heartbeats import Silence
from streamward.control.refusals import WATCHED, CallRefused
from streamward.leases import facts
from streamward.leases.store import (
    BudgetView,
    CameraFilter,
    CameraStore,
    DialStore,
    LeaseCounts,
    LeaseRecords,
    RunnerStore,
)
from streamward.model.camera import Camera
from streamward.model.ids import CameraId, Incarnation, RunnerId, SiteId
from streamward.runtime.clock import Clock

CONTENT_TYPE = CONTENT_TYPE_LATEST
PAGE = 1000  # cameras read at a time

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 30.0)


class MeasuredStore(CameraStore, LeaseRecords, RunnerStore, DialStore, Protocol):
    """The ports that gauges are read from."""

    async def ping(self) -> datetime: ...
    @property
    def statements(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What the gauges say at one scrape."""

    desired: dict[CameraId, bool]
    leases: LeaseCounts
    budgets: dict[SiteId, BudgetView]
    heartbeats_missing: int
    running: dict[RunnerId, Incarnation]
    statements: int

    @property
    def wanted(self) -> int:
        """Cameras that a runner should hold."""
        return sum(self.desired.values())

    @property
    def pending(self) -> int:
        """Those that none does; one that is held though nobody wants it any more is given back in a moment."""
        return max(0, self.wanted - self.leases.leased)


class Metrics:
    """One process's metrics, on a registry of their own."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._silence = Silence()
        self._registry = registry = CollectorRegistry()
        self._owner_changes = Counter("owner_changes", "Cameras that got a new owner.", registry=registry)
        self._attempts = Counter("assign_attempts", "Leases asked for, camera by camera.", registry=registry)
        self._successes = Counter("assign_success", "Leases granted.", registry=registry)
        self._reclaims = Counter(
            "reclaims", "Expired leases taken in (soft) or after (hard) their soft window.", ["kind"], registry=registry
        )
        self._orphans = Counter("leases_orphaned", "Leases that ran out.", registry=registry)
        self._dials = Counter("dials", "First connections, by what was answered.", ["answer"], registry=registry)
        self._refusals = Counter("refusals", "Calls that were refused, by the reason.", ["reason"], registry=registry)
        self._jumps = Counter("database_clock_jumps", "Times the database's clock was set.", registry=registry)
        self._latency = Histogram(
            "http_request_duration_seconds",
            "Time to answer a call.",
            ["route", "status"],
            buckets=_BUCKETS,
            registry=registry,
        )
        self._under_way = Gauge("http_requests_in_progress", "Calls under way, waiting ones too.", registry=registry)
        for reason in WATCHED:
            self._refusals.labels(reason)
        for kind in ("soft", "hard"):
            self._reclaims.labels(kind)  # shown as 0 before the first: an alert can tell 0 from absent

    def note(self, fact: object) -> None:
        """The journal sink that counts."""
        match fact:
            case facts.LeaseGranted():
                self._owner_changes.inc()
                self._attempts.inc()
                self._successes.inc()
            case facts.LeaseDenied():
                self._attempts.inc()
            case facts.LeaseOrphaned():
                self._orphans.inc()
            case facts.LeaseReclaimed(hard=hard):
                self._reclaims.labels("hard" if hard else "soft").inc()
            case facts.DatabaseClockJumped():
                self._jumps.inc()
            case facts.DialAllowed() | facts.DialDelayed():
                self._dials.labels(getattr(fact, "reason", "allowed")).inc()
            case facts.RunnerHeard(runner_id=runner_id):
                self._silence.heard(runner_id, self._clock.boot())

    def note_refusal(self, fact: object) -> None:
        """The same for refusals."""
        if isinstance(fact, CallRefused):
            self._refusals.labels(fact.reason).inc()

    def begin(self) -> None:
        """Takes in a call that has come."""
        self._under_way.inc()

    def observe(self, route: str, *, status: int, seconds: float) -> None:
        """Takes in one answered call."""
        self._under_way.dec()
        self._latency.labels(route, str(status)).observe(seconds)

    async def render(self, store: MeasuredStore) -> bytes:
        """Everything in Prometheus's text form; written in a thread, since 100,000 cameras take a while."""
        snapshot = await _look(store)
        silent_for = self._silence.ages(snapshot.running, self._clock.boot())
        return await asyncio.to_thread(self._written, snapshot, silent_for)

    def _written(self, snapshot: Snapshot, silent_for: dict[RunnerId, float]) -> bytes:
        gauges = CollectorRegistry()
        gauges.register(_Gauges(snapshot, silent_for))
        return generate_latest(self._registry) + generate_latest(gauges)


class _Gauges(Collector):
    """A snapshot as Prometheus's client wants it."""

    def __init__(self, snapshot: Snapshot, silent_for: dict[RunnerId, float]) -> None:
        self._snapshot = snapshot
        self._silent_for = silent_for

    def collect(self) -> Iterator[Metric]:
        seen = self._snapshot
        desired = GaugeMetricFamily("camera_desired", "Whether a runner should hold it.", labels=["camera_uuid"])
        for camera_id, is_desired in seen.desired.items():
            desired.add_metric([camera_id], float(is_desired))
        yield desired
        leases = GaugeMetricFamily("stream_leases", "Leases by state.", labels=["state"])
        for state in ("leased", "free", "orphaned"):
            leases.add_metric([state], getattr(seen.leases, state))
        yield leases
        yield from _counted(seen)
        yield GaugeMetricFamily("heartbeats_missing", "Runners that did not renew lately.", seen.heartbeats_missing)
        silent = GaugeMetricFamily(
            "runner_heartbeat_age_seconds", "Since it was heard on the bus.", labels=["runner_id"]
        )
        for runner_id, age in self._silent_for.items():
            silent.add_metric([runner_id], age)
        yield silent
        tokens = GaugeMetricFamily("site_budget_tokens", "Dial tokens left.", labels=["site_id"])
        in_flight = GaugeMetricFamily("site_dials_in_flight", "First connections under way.", labels=["site_id"])
        waiting = GaugeMetricFamily("site_dials_waiting", "Cameras that were not dialed yet.", labels=["site_id"])
        for site_id, view in seen.budgets.items():
            tokens.add_metric([site_id], view.bucket.tokens)
            in_flight.add_metric([site_id], view.in_flight)
            waiting.add_metric([site_id], view.waiting)
        yield from (tokens, in_flight, waiting)
        yield CounterMetricFamily("database_statements", "Statements that this process sent.", seen.statements)


def _counted(seen: Snapshot) -> Iterator[Metric]:
    """Each under S0's name, and under one that does not look like a counter's."""
    counts = (
        ("streams_desired_total", "streams_desired", "Cameras that a runner should hold.", seen.wanted),
        ("active_leases_total", "leases_active", "Leases that are granted and not expired.", seen.leases.leased),
        ("streams_pending_total", "streams_pending", "Cameras that no runner holds.", seen.pending),
    )
    for *names, about, count in counts:
        for name in names:
            yield GaugeMetricFamily(name, about, count)


async def _look(store: MeasuredStore) -> Snapshot:
    cameras = [camera async for camera in _all_cameras(store)]
    now = await store.ping()
    runners = await store.runners()
    return Snapshot(
        desired={camera.camera_id: camera.is_wanted for camera in cameras},
        leases=await store.counts(),
        budgets=await store.budgets(),
        heartbeats_missing=sum(runner.incarnation is not None and not runner.is_healthy(now) for runner in runners),
        statements=store.statements,
        running={runner.runner_id: runner.incarnation for runner in runners if runner.incarnation is not None},
    )


async def _all_cameras(store: CameraStore) -> AsyncIterator[Camera]:
    after: CameraId | None = None
    while True:
        page = await store.page(CameraFilter(scope=None, after=after, limit=PAGE))
        for camera in page:
            yield camera
        if len(page) < PAGE:
            return
        after = page[-1].camera_id
