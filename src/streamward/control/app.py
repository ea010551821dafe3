"""The control process put together: the only module of this package that names drivers."""

import contextlib
import gc
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from streamward.control import credentials, demo
from streamward.control.admission import Admission
from streamward.control.api.application import Holdings, create_app
from streamward.control.clerk import Clerk
from streamward.control.heartbeats import HeartbeatWatch
from streamward.control.keeper import ReclaimKeeper
from streamward.control.key_watch import WatchedKeys
from streamward.control.keys import load_keyring, make_key
from streamward.control.master_keys import MasterKeys
from streamward.control.queues import QueueKeeper
from streamward.control.rebalancing import Rebalancer, RebalanceService
from streamward.control.refusals import CallRefused
from streamward.control.relay import Outbox, Relay
from streamward.control.server import HttpServer, listen
from streamward.control.sole import sole_use
from streamward.control.tenant_purger import TenantPurger
from streamward.control.tls import Tls, TlsFiles
from streamward.control.trust import Trust, trust
from streamward.drivers.buses import open_bus
from streamward.drivers.memory import MemoryDatabase, MemoryInsight, MemoryStore
from streamward.drivers.sql.insight import SqlInsight
from streamward.drivers.sql.migrate import Inspected, SchemaBehind, inspect, migrate, newest
from streamward.drivers.sql.store import SqlStore
from streamward.drivers.vault import AesVault
from streamward.insight.database import Insight
from streamward.insight.rules import Rules
from streamward.leases.facts import RunnerHeard
from streamward.leases.policy import BY_NAME, FAST, Policies
from streamward.leases.store import KeyKind, Store, StoreUnavailable
from streamward.model.camera import without_credentials
from streamward.model.errors import StreamwardError
from streamward.model.secret import Secret
from streamward.protocol.fields import ClearText
from streamward.protocol.readiness import ControlReady
from streamward.runtime import failpoints, log
from streamward.runtime.bell import Bell
from streamward.runtime.clock import Clock, SystemClock
from streamward.runtime.journal import Journal
from streamward.runtime.service import Service
from streamward.settings import AmqpSettings, LeaseSettings, LogSettings, Settings, TlsSettings

_SQLITE = "sqlite:///"


class KeysForeign(StreamwardError):
    """A host whose keys are not those of the other control planes of its database."""

    def __init__(self, kind: KeyKind, *, recorded: str, folder: Path) -> None:
        super().__init__(kind, recorded, folder)
        self.kind = kind
        self.recorded = recorded
        self.folder = folder

    def __str__(self) -> str:
        return (
            f"the control planes of this database share another {self.kind} key (id {self.recorded}) than those in "
            f"{self.folder}: copy the folder `keys` of one of them to this host, with mode 0600. If their keys are "
            "lost, `streamward keys adopt` lets these count instead; what was signed or sealed under the others "
            "(tokens, camera credentials) has to be made anew"
        )


class FolderUnusable(StreamwardError):
    """The data folder cannot be used."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(path, why)
        self.path = path
        self.why = why

    def __str__(self) -> str:
        return f"cannot use the data folder {self.path} ({self.why}): set STREAMWARD_DATA to another one"


class DatabaseSilent(StreamwardError):
    """The database does not answer at start."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(url, why)
        self.url = url
        self.why = why

    def __str__(self) -> str:
        return f"the database {self.url} does not answer ({self.why}): see that it runs, or set STREAMWARD_DATABASE_URL"


_COUNTED = (RunnerHeard, CallRefused)  # in the metrics; as lines they would be many


class Announce(Protocol):
    """Tells a person that the process serves."""

    def __call__(self, ready: ControlReady, *, database: str) -> None: ...


async def serve(settings: Settings, *, with_demo: bool, announce: Announce) -> None:
    """Runs one control plane until it is told to stop."""
    _write_logs(settings.log)
    clock, bell, journal = SystemClock(), Bell(), Journal()
    journal.subscribe(lambda fact: None if isinstance(fact, _COUNTED) else log.log_fact(fact))
    tls = _tls(settings.tls)
    with _held(settings) as listener:
        vault = AesVault(_master_keys(settings).read)
        async with _opened(settings) as register:  # closed before it serves: that wipes SQLite's journal too
            for kind in KeyKind:
                await _agree_key(register, settings, kind)
            await credentials.seal_urls(register, vault)
        store = _store(settings, clock=clock, bell=bell)
        believed = trust(store, WatchedKeys(settings.key_file, clock=clock), clock=clock)
        rules = settings.batch.rules
        holdings = Holdings(store, _insight(store, rules), rules, settings.sources.limits)
        app = create_app(holdings, bell=bell, journal=journal, trust=believed, vault=vault, clock=clock)
        failpoints.arm(failpoints.parse(settings.failpoints))
        try:
            await _open(store, settings)
            if with_demo:
                await demo.seed(store, clock=clock)
            await believed.standing.tick()
            async with (
                Service("reclaim", ReclaimKeeper(store, journal), journal=journal),
                _relaying(settings, store, journal=journal, clock=clock),
                Service("standing", believed.standing, journal=journal),
                Service("refusals", app.state.refusals, journal=journal),
                Service("tenant purger", TenantPurger(store, journal), journal=journal),
                _rebalancing(settings, store, journal=journal),
                contextlib.nullcontext() if tls is None else tls.followed(journal),
            ):
                gc.freeze()  # what was loaded lives as long as the process: looking through it stalls every call
                code = await _first_code(store, believed, clock=clock)
                ready = ControlReady(
                    pid=os.getpid(), url=_address(listener, tls), code=None if code is None else ClearText(code)
                )
                announce(ready, database=without_credentials(settings.database_url))
                context = None if tls is None else tls.context
                await HttpServer(app, on_stop=bell.close, tls=context).serve(sockets=[listener])
        finally:
            await store.close()


async def _first_code(store: Store, trust: Trust, *, clock: Clock) -> Secret | None:
    """A one-time code for whoever started this, as long as nobody is admin."""
    if await store.has_admin():
        return None
    clerk = Clerk(store, digest_keys=lambda: trust.check.derive("once"))
    return await Admission(store, clerk=clerk, mint=trust.mint, clock=clock).invite_first()


async def rotate_keys(settings: Settings) -> credentials.Resealed:
    """Seals every credential with a new key, while control planes run: they learn it when they meet it.

    Keys in the environment are changed by whoever set them: then the first one there is the new one.
    """
    keys = _master_keys(settings)
    async with _opened(settings) as register:
        await _agree_key(register, settings, KeyKind.MASTER)
        if keys.is_file:
            keys.add()
        vault = AesVault(keys.read)
        await register.record_key(KeyKind.MASTER, vault.key_ids[0])
        return await credentials.reseal(register, vault)


async def record_signing_key(settings: Settings) -> None:
    """Tells the database which key signs from now on."""
    async with _opened(settings) as register:
        await register.record_key(KeyKind.SIGNING, _key_ids(settings, KeyKind.SIGNING)[0])


async def adopt_keys(settings: Settings) -> dict[KeyKind, str]:
    """Makes this host's keys those that every control plane of the database needs; returns their ids."""
    with data_folder(settings.data):
        make_key(settings.key_file)
        _master_keys(settings).make()
    async with _opened(settings) as register:
        ids = {kind: _key_ids(settings, kind)[0] for kind in KeyKind}
        for kind, key_id in ids.items():
            await register.record_key(kind, key_id)
        return ids


async def foreign_keys(settings: Settings) -> KeysForeign | None:
    """What keeps a control plane with this host's keys from starting; looks, and changes nothing."""
    store = _store(settings, clock=SystemClock(), bell=Bell())
    try:
        for kind in KeyKind:
            recorded = await store.find_key(kind)
            if recorded is not None and recorded not in _key_ids(settings, kind):
                return KeysForeign(kind, recorded=recorded, folder=settings.key_file.parent)
    finally:
        await store.close()
    return None


async def _agree_key(store: Store, settings: Settings, kind: KeyKind) -> None:
    """Raises KeysForeign if this host has another key than the control planes that used the database before it."""
    known = _key_ids(settings, kind)
    recorded = await store.agree_key(kind, known[0])
    if recorded not in known:
        raise KeysForeign(kind, recorded=recorded, folder=settings.key_file.parent)


def _key_ids(settings: Settings, kind: KeyKind) -> list[str]:
    """This host's keys of one kind, the one that signs or seals first."""
    if kind is KeyKind.SIGNING:
        return [key.kid for key in load_keyring(settings.key_file).keys]
    return AesVault(_master_keys(settings).read).key_ids


async def examine(settings: Settings) -> Inspected:
    """How a SQL database stands to this program; looks, and changes nothing."""
    try:
        return await inspect(settings.database_url)
    except StoreUnavailable as err:
        raise _silent(settings, err) from err


async def migrate_schema(settings: Settings) -> tuple[str | None, str]:
    """Brings the database to the newest schema; returns the one before, or None if there was none, and the newest."""
    try:
        return await migrate(settings.database_url), newest()
    except SchemaBehind:
        raise
    except StoreUnavailable as err:
        raise _silent(settings, err) from err


async def reach_broker(amqp: AmqpSettings) -> None:
    """Connects to the broker once, or raises why that cannot be."""
    if amqp.url is not None:
        from streamward.drivers.amqp import AmqpBus, Broker  # noqa: PLC0415 only where it is used

        bus = AmqpBus(Broker(url=Secret(amqp.url.get_secret_value()), clock=SystemClock()))
        try:
            await bus.reach()
        finally:
            await bus.close()


@contextlib.contextmanager
def data_folder(path: Path) -> Iterator[None]:
    """The folder, made if it is not there; whatever keeps it from being used is one sentence."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)  # keys lie there
        yield
    except (PermissionError, NotADirectoryError, FileExistsError) as err:
        raise FolderUnusable(path, (err.strerror or str(err)).lower()) from None


@contextlib.contextmanager
def _held(settings: Settings) -> Iterator[socket.socket]:
    """What only this process may have: the address, and a SQLite file."""
    with contextlib.ExitStack() as held:
        with data_folder(settings.data):
            make_key(settings.key_file)
            _master_keys(settings).make()
            if settings.database_url.startswith(_SQLITE):
                held.enter_context(sole_use(Path(settings.database_url.removeprefix(_SQLITE))))
        yield held.enter_context(listen(settings.host, settings.port))


def _store(settings: Settings, *, clock: Clock, bell: Bell) -> MemoryStore | SqlStore:
    policies = _policies(settings.lease)
    if settings.database_url.startswith("memory:"):
        return MemoryStore(MemoryDatabase(clock=clock), clock=clock, bell=bell, policies=policies)
    return SqlStore(settings.database_url, clock=clock, bell=bell, policies=policies)


def _insight(store: MemoryStore | SqlStore, rules: Rules) -> Insight:
    """The other half of the same database."""
    if isinstance(store, MemoryStore):
        return MemoryInsight(store.database, rules=rules)
    return SqlInsight(store.database, rules=rules)


def _master_keys(settings: Settings) -> MasterKeys:
    given = settings.master_key
    return MasterKeys(settings.master_key_file, None if given is None else Secret(given.get_secret_value()))


def _policies(lease: LeaseSettings) -> Policies:
    fast = replace(FAST, ttl=lease.ttl_s, renew_every=lease.renew_interval_s)
    return {**BY_NAME, fast.name: fast}


@contextlib.asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Store]:
    """The database for one task."""
    store = _store(settings, clock=SystemClock(), bell=Bell())
    try:
        await _open(store, settings)
        yield store
    finally:
        await store.close()


def _rebalancing(
    settings: Settings, store: Store, *, journal: Journal
) -> Service | contextlib.AbstractAsyncContextManager[None]:
    """Automatic rounds, if any are wanted."""
    every, most = settings.rebalance.every_s, settings.rebalance.cameras
    if not every:
        return contextlib.nullcontext()
    return Service("rebalance", Rebalancer(RebalanceService(store, journal), every=every, most=most), journal=journal)


@contextlib.asynccontextmanager
async def _relaying(settings: Settings, outbox: Outbox, *, journal: Journal, clock: Clock) -> AsyncIterator[None]:
    """Tells the bus of changes, hears runners there, and sees that there is a queue for what Workers see."""
    url = settings.amqp.url
    bus = open_bus(None if url is None else Secret(url.get_secret_value()), settings.data, clock=clock)
    hearing = HeartbeatWatch(bus, journal=journal)
    try:
        async with (
            Service("queues", QueueKeeper(bus), journal=journal),
            Service("heartbeats", hearing, journal=journal),
            Service("relay", Relay(outbox, bus, journal=journal, clock=clock), journal=journal),
        ):
            yield
    finally:
        await hearing.close()
        await bus.close()


async def _open(store: Store, settings: Settings) -> None:
    try:
        await store.open()
    except SchemaBehind:
        raise
    except StoreUnavailable as err:
        raise _silent(settings, err) from err


def _silent(settings: Settings, err: StoreUnavailable) -> DatabaseSilent:
    return DatabaseSilent(without_credentials(settings.database_url), type(err.__cause__ or err).__name__)


def _write_logs(settings: LogSettings) -> None:
    log.configure(log.form_for(sys.stderr, settings.format), level=settings.level, out=sys.stderr)
    for chatty in ("uvicorn", "alembic"):  # what they do at start and stop is announced by us
        logging.getLogger(chatty).setLevel(logging.WARNING)
    for chatty in ("aio_pika", "aiormq"):  # each lost connection with its stack; the relay says it in a sentence
        logging.getLogger(chatty).setLevel(logging.CRITICAL)


def _tls(settings: TlsSettings) -> Tls | None:
    if settings.certificate is None or settings.key is None:
        return None
    return Tls(TlsFiles(certificate=settings.certificate, key=settings.key, client_ca=settings.client_ca))


def _address(listener: socket.socket, tls: Tls | None) -> str:
    scheme = "http" if tls is None else "https"
    host, port, *_ = listener.getsockname()
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
