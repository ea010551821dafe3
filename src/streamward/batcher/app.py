"""A batcher's process put together: the only module of this package that names drivers."""

import asyncio
import contextlib
import logging
import os
import signal
import ssl
import sys
from collections.abc import AsyncIterator
from typing import Protocol

from streamward.batcher import facts
from streamward.batcher.analysing import Analysing, Patience
from streamward.batcher.analysis_facts import AnalysisPostponed, AnalysisRepeated, BatchAnalysed
from streamward.batcher.api import BatcherApi, served
from streamward.batcher.batcher import Batcher, Outside
from streamward.batcher.metrics import BatcherMetrics
from streamward.batcher.opening import opened
from streamward.batcher.parts import parts
from streamward.batcher.pressure import PressureSource, QueueDepth
from streamward.drivers.analysts import Endpoint, load_analyst
from streamward.drivers.buses import open_bus
from streamward.drivers.memory.open_batches import MemoryOpenBatches
from streamward.drivers.objects import open_store
from streamward.drivers.pressure import load_source
from streamward.drivers.sql.database import Database
from streamward.drivers.sql.insight import SqlInsight
from streamward.insight.analysis import AnalystUnusable
from streamward.insight.database import Insight
from streamward.insight.store import OpenBatches
from streamward.model.bus import Bus
from streamward.model.camera import without_credentials
from streamward.model.errors import StreamwardError
from streamward.model.objects import ObjectStore
from streamward.model.secret import Secret
from streamward.protocol.readiness import BatcherReady
from streamward.protocol.shards import ObjectsAt
from streamward.runtime import failpoints, log
from streamward.runtime.bell import Bell
from streamward.runtime.clock import Clock, SystemClock
from streamward.runtime.journal import Journal
from streamward.runtime.local_http import HOST
from streamward.settings import AnalystSettings, RedisSettings, Settings
from streamward.settings.batch import MIB

_COUNTED = (  # in the metrics; as lines they are many
    facts.DetectionsStored,
    facts.ZoneEventsStored,
    facts.MessageSetAside,
    facts.BatchTold,
    BatchAnalysed,
    AnalysisPostponed,
    AnalysisRepeated,
)


NOBODY = "none"  # as the analyst's name: others read the analysis queue


class NothingShared(StreamwardError):
    """A database in memory is that of one process."""

    def __str__(self) -> str:
        return "a batcher shares its database with the control plane: set STREAMWARD_DATABASE_URL to one that is kept"


class Announce(Protocol):
    """Tells a person that the process works."""

    def __call__(self, ready: BatcherReady, *, database: str, retention: str, bus: str, index: str) -> None: ...


async def serve(settings: Settings, *, announce: Announce) -> None:
    """Runs one batcher until it is told to stop; what is away is waited for."""
    told = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, told.set)
    _write_logs(settings)
    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    clock, journal, metrics = SystemClock(), Journal(), BatcherMetrics()
    journal.subscribe(lambda fact: None if isinstance(fact, _COUNTED) else log.log_fact(fact))
    journal.subscribe(metrics.note)
    async with contextlib.AsyncExitStack() as running:
        outside = await running.enter_async_context(_outside(settings, journal=journal, clock=clock))
        failpoints.arm(failpoints.parse(settings.failpoints))
        batcher = Batcher(outside)
        port = await running.enter_async_context(served(BatcherApi(batcher, metrics), settings.batch.port))
        announce(BatcherReady(pid=os.getpid(), url=f"http://{HOST}:{port}"), **_shown(settings))
        if await opened(outside.parts.insight, told, journal=journal, clock=clock):
            await running.enter_async_context(batcher.running())
            await told.wait()


async def reach_index(redis: RedisSettings) -> None:
    """Asks Redis once, or raises why that cannot be."""
    index = _index(redis)
    try:
        await index.began()
    finally:
        await index.close()


@contextlib.asynccontextmanager
async def _outside(settings: Settings, *, journal: Journal, clock: Clock) -> AsyncIterator[Outside]:
    """Ways to everything, none of which is connected yet."""
    url = settings.amqp.url
    insight = _insight(settings, clock)
    bus = open_bus(None if url is None else Secret(url.get_secret_value()), settings.data, clock=clock)
    async with contextlib.AsyncExitStack() as closing:
        closing.push_async_callback(insight.close)
        closing.push_async_callback(bus.close)
        index = _index(settings.redis)
        closing.push_async_callback(index.close)
        yield Outside(
            parts=parts(
                insight,
                index,
                otherwise=settings.batch.rules,
                journal=journal,
                clock=clock,
            ),
            bus=bus,
            objects=_objects(settings),
            pressure={name: _source(name, bus) for name in settings.batch.sources},
            analysing=_analysing(settings.analyst),
            max_bytes=settings.batch.kept_mb * MIB,
        )


def _insight(settings: Settings, clock: Clock) -> Insight:
    if settings.database_url.startswith("memory:"):
        raise NothingShared
    return SqlInsight(Database(settings.database_url, clock=clock, bell=Bell()), rules=settings.batch.rules)


def _index(redis: RedisSettings) -> OpenBatches:
    if redis.url is None:
        return MemoryOpenBatches()
    from streamward.drivers.redis import RedisOpenBatches, RedisServer  # noqa: PLC0415 only where it is used

    return RedisOpenBatches(RedisServer(url=Secret(redis.url.get_secret_value())))


def _objects(settings: Settings) -> ObjectStore:
    return open_store(settings.objects.at or ObjectsAt(url=(settings.data.absolute() / "objects").as_uri()))


def _analysing(analyst: AnalystSettings) -> Analysing | None:
    if analyst.name == NOBODY:
        return None
    return Analysing(
        analyst=load_analyst(analyst.name, endpoint=_endpoint(analyst)),
        patience=Patience(attempts=analyst.attempts, answer_within=analyst.timeout_s),
        at_once=analyst.at_once,
    )


def _endpoint(analyst: AnalystSettings) -> Endpoint | None:
    if analyst.url is None or analyst.model is None:
        return None
    return Endpoint(
        url=analyst.url,
        model=analyst.model,
        key=None if analyst.key is None else Secret(analyst.key.get_secret_value()),
        answer_within=analyst.timeout_s,
        tls=_trust(analyst),
    )


def _trust(analyst: AnalystSettings) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=analyst.ca)
    except OSError as err:
        raise AnalystUnusable(analyst.name, f"the certificates in {analyst.ca} cannot be read") from err


def _source(name: str, bus: Bus) -> PressureSource:
    return QueueDepth(bus) if name == "queue" else load_source(name)


def _shown(settings: Settings) -> dict[str, str]:
    """Where everything is, without passwords."""
    bus, index = settings.amqp.url, settings.redis.url
    return {
        "database": without_credentials(settings.database_url),
        "retention": settings.retention,
        "bus": f"files in {settings.data}" if bus is None else without_credentials(bus.get_secret_value()),
        "index": "memory" if index is None else without_credentials(index.get_secret_value()),
    }


def _write_logs(settings: Settings) -> None:
    log.configure(log.form_for(sys.stderr, settings.log.format), level=settings.log.level, out=sys.stderr)
    for chatty in ("aio_pika", "aiormq", "alembic"):  # each lost connection with its stack; we say it in a sentence
        logging.getLogger(chatty).setLevel(logging.CRITICAL)
