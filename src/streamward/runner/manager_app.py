"""A Manager's process put together; its parent starts it (`streamward.runner.parent`).

    parent ─→ Manager ⇄ control plane
                 └─→ fork server ─→ Workers

SIGTERM: it takes nothing more, its cameras stop, each lease is given back as its camera has stopped, the Workers empty
their spools, the incarnation ends. Without its parent it does the same within two seconds, or is ended.
"""

import asyncio
import contextlib
import logging
import random
import secrets
import signal
import ssl
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Protocol

from streamward.drivers.buses import open_bus
from streamward.drivers.clip_folder import checked
from streamward.drivers.control_plane import ControlPlane
from streamward.drivers.key_pair import StoredIdentity
from streamward.drivers.objects import open_store
from streamward.leases.holder import Holder, HolderSpec
from streamward.leases.lease import Owner
from streamward.model.camera import without_credentials
from streamward.model.errors import StreamwardError
from streamward.model.ids import Incarnation, RunnerId, SiteId
from streamward.model.runner import RunnerSpec
from streamward.model.secret import Secret
from streamward.protocol.leases import RegisterRunner
from streamward.protocol.readiness import RunnerReady
from streamward.protocol.shards import ObjectsAt
from streamward.protocol.ticket import ReleaseTicket, ReleaseTokenGiven
from streamward.protocol.worker_link import WorkerExit
from streamward.runner import card, facts, greeting, tenant_data
from streamward.runner.badge import Badge, GivenToken, ProvenToken, Speaker, owner_in
from streamward.runner.bulletin import Bulletin
from streamward.runner.ending import Ending
from streamward.runner.heartbeat import HeartbeatPublisher
from streamward.runner.manager import Manager
from streamward.runner.manager_api import RunnerApi
from streamward.runner.manager_parts import ManagerParts, ManagerSpec
from streamward.runner.pacing import Pacer
from streamward.runner.parent_link import END_WITHIN, ParentLink
from streamward.runner.reading import Reading, program, reading
from streamward.runner.spawner import ForkServerGone, ForkServerKeeper, ForkSpec, Spawner
from streamward.runner.stream_end import StreamEndPublisher
from streamward.runner.template import broker, template
from streamward.runner.ticket_keeper import TicketKeeper
from streamward.runner.watching import ChangeWatch, FreeWatch, SiteWatch
from streamward.runtime import log
from streamward.runtime.clock import Clock, SystemClock
from streamward.runtime.journal import Journal
from streamward.runtime.outbox import MessagesPublished, RecordsDropped
from streamward.runtime.service import Service, Ticks
from streamward.runtime.teller import Teller
from streamward.settings import Settings

_THREADS = 32  # at most, for calls to the restreamer and for resolving host names
_ENTRY = "streamward.runner.born:live"  # not imported here: a Manager decodes nothing
_STARTS = 3  # of the fork server, if it dies while the runner starts
_PRELOADED = ("streamward.drivers.bus", "streamward.drivers.amqp")
_COUNTED = (MessagesPublished, RecordsDropped, facts.LeasesRenewed)  # as lines they would be many
_MOMENT = 2.0  # seconds


class Announce(Protocol):
    """Tells a person that the runner takes cameras, and from which control plane."""

    def __call__(self, ready: RunnerReady, *, url: str) -> None: ...


class NotEnrolled(StreamwardError):
    """A host that no control plane knows."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return (
            f"this host is no runner yet: get a code with `streamward runners invite NAME`, then run "
            f"`streamward enrol URL` here ({self.path} is not there), or set STREAMWARD_TOKEN"
        )


class EnrolledElsewhere(StreamwardError):
    """A host that was enrolled at one control plane, and whose settings name another."""

    def __init__(self, refused: greeting.NotAdmitted, enrolled_at: str) -> None:
        super().__init__(refused, enrolled_at)
        self.refused = refused
        self.enrolled_at = enrolled_at

    def __str__(self) -> str:
        return (
            f"the control plane at {self.refused.url} does not let this runner in ({self.refused.problem.detail}): "
            f"this host was enrolled at {self.enrolled_at}; unset STREAMWARD_CONTROL_URL, or set it to an address of "
            "that control plane"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """What a Manager is plugged into."""

    settings: Settings
    owner: Owner
    speaker: Speaker
    clock: Clock
    journal: Journal
    ending: Ending
    secret: Secret = field(default_factory=lambda: Secret(secrets.token_urlsafe(24)))  # of its HTTP and its Workers'


async def run(settings: Settings, *, parent_channel: int, announce: Announce) -> WorkerExit:
    """Holds leases and has them worked on, until it is told to end or somebody else has taken its place."""
    loop, clock = asyncio.get_running_loop(), SystemClock()
    loop.set_default_executor(ThreadPoolExecutor(_THREADS, thread_name_prefix="call"))
    ending = Ending(grace=settings.runner.grace_s)
    link = ParentLink.inherited(
        parent_channel, on_gone=lambda: ending.drain(WorkerExit.ORPHANED, within=END_WITHIN - 0.5)
    )
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, ending.drain)
    _check(settings)
    settings, stored = _enrolled(settings)
    control = ControlPlane(settings.control_url, tls=_tls(settings))
    badge, incarnation = _badge(settings, stored, control, clock=clock)
    _write_logs(settings)
    try:
        runner_id = await _named(settings, badge, ending)
    except greeting.NotAdmitted as refused:
        await _delete_gone(settings, refused)
        raise _explained(refused, stored) from refused
    if runner_id is None:
        return ending.code
    owner = Owner(runner_id, incarnation)
    journal = _journal(settings, owner)
    around = _Around(
        settings=settings, owner=owner, speaker=Speaker(control, badge), clock=clock, journal=journal, ending=ending
    )
    try:
        if not await _is_admitted(around):
            return ending.code
        with card.shown(settings.data, runner_id):
            async with _managing(around, link, announce) as manager:
                await _until_ended(manager, ending)
                has_left = await _wind_down(manager, ending)
        if has_left:
            link.withdraw()  # else the parent gives back what is left
    finally:
        link.close()
        control.close()
    if manager.is_superseded:
        logging.getLogger(__name__).warning("a later start of this runner has taken its place, so this one ended")
    return WorkerExit.FENCED if manager.is_superseded else ending.code


def _check(settings: Settings) -> None:
    """Before anything begins: what is missing is said at once."""
    program(settings)
    checked(settings.runner.clip_folder)


async def _named(settings: Settings, badge: Badge, ending: Ending) -> RunnerId | None:
    """Who this runner is, by its token; None: it was told to end before anybody could say."""
    for asked in count():
        token = await greeting.unless_ended(badge.token(), ending.wanted)
        if token is not None:
            return greeting.same(settings.runner.id, owner_in(token).runner_id)
        if badge.refusal is not None:
            greeting.check(badge.refusal, url=settings.control_url)
        if await greeting.waited(asked, url=settings.control_url, ended=ending.wanted):
            break
    return None


async def _delete_gone(settings: Settings, refused: greeting.NotAdmitted) -> None:
    """If the tenant of this runner was deleted, deletes what this host has of it."""
    runner_id = (refused.problem.fields or {}).get("subject", settings.runner.id)
    if tenant_data.is_gone(refused.problem) and runner_id is not None:
        journal = Journal()
        journal.subscribe(log.log_fact)
        await _tenant_data(settings, RunnerId(runner_id), journal).delete_all()


def _tenant_data(settings: Settings, runner_id: RunnerId, journal: Journal) -> tenant_data.TenantData:
    folder = settings.data.absolute()
    is_local = settings.objects.at is None
    objects = open_store(ObjectsAt(url=(folder / "objects").as_uri())) if is_local else None
    return tenant_data.TenantData(folder, runner_id, objects=objects, journal=journal)


def _tenant_data_keeper(around: _Around) -> tenant_data.TenantDataKeeper:
    data = _tenant_data(around.settings, around.owner.runner_id, around.journal)
    return tenant_data.TenantDataKeeper(data, around.speaker, refusal=lambda: around.speaker.refusal)


async def _is_admitted(around: _Around) -> bool:
    """Whether its events are read and the control plane lets it in; not: it was told to end before that was known."""
    if not await _is_read(around):
        return False
    spec = _holder_spec(around).runner
    message = RegisterRunner(
        runner_id=spec.runner_id,
        incarnation=spec.incarnation,
        site_id=spec.site_id,
        policy=spec.policy,
        capacity_streams=spec.capacity,
    )
    url = around.settings.control_url
    try:
        return await greeting.greet(around.speaker, message, url=url, ended=around.ending.wanted)
    except greeting.NotAdmitted as refused:
        if tenant_data.is_gone(refused.problem):
            await _tenant_data(around.settings, around.owner.runner_id, around.journal).delete_all()
        raise


async def _is_read(around: _Around) -> bool:
    folder, url = around.settings.data.absolute(), broker(around.settings)
    bus = open_bus(url, folder, clock=around.clock)
    name = f"files in {folder}" if url is None else without_credentials(url.reveal()).partition("?")[0]
    try:
        return await greeting.has_reader(bus, name=name, ended=around.ending.wanted)
    finally:
        await bus.close()


@contextlib.asynccontextmanager
async def _managing(around: _Around, link: ParentLink, announce: Announce) -> AsyncIterator[Manager]:
    """A Manager at work, and all that keeps it informed."""
    settings, journal, clock = around.settings, around.journal, around.clock
    read = reading(settings, around.speaker, clock=clock, journal=journal)
    spawner = Spawner(
        ForkSpec(entry=_ENTRY, preload=_PRELOADED),
        on_exit=lambda news: manager.crew.exited(news),  # noqa: PLW0108 - the Manager comes after it
        on_lost=lambda: restart.poke(),  # noqa: PLW0108
        others=read.children,
    )
    bus = open_bus(broker(settings), settings.data.absolute(), clock=clock)
    teller = Teller(bus, journal=journal, clock=clock)
    manager = _manager(around, read, spawner, teller)
    restart = Service("fork server", ForkServerKeeper(spawner), journal=journal)
    managing = Service("manager", manager, journal=journal)
    pacer = Pacer(manager.crew, lambda: manager.staffing.planned, read.known, around.speaker, clock)
    manager.poke, manager.tell_paces = managing.poke, pacer.tell
    try:
        await read.start(managing.poke)
        await _ready(spawner, manager)
        async with contextlib.AsyncExitStack() as opened:
            await opened.enter_async_context(teller)
            bulletin = Bulletin(manager, around.speaker)
            opened.push_async_callback(bulletin.close)
            for service in (
                restart,
                managing,
                Service("ticket", _ticket_keeper(around, link), journal=journal),
                *(Service(name, body, journal=journal) for name, body in _watches(around, read, manager).items()),
                Service("paces", pacer, journal=journal),
                Service("heartbeat", _heartbeats(around, manager, teller), journal=journal),
                Service("bulletin", bulletin, journal=journal),
                Service("deleted tenants", _tenant_data_keeper(around), journal=journal),
            ):
                await opened.enter_async_context(service)
            api = RunnerApi(manager, around.owner.runner_id, secret=around.secret)
            announce(await opened.enter_async_context(api.served(settings, journal)), url=settings.control_url)
            yield manager
    finally:
        await manager.close()
        await spawner.close()
        await read.stop()
        await bus.close()


def _watches(around: _Around, read: Reading, manager: Manager) -> dict[str, Ticks]:
    """What keeps a Manager informed."""
    return {
        "frees": FreeWatch(around.speaker, manager),
        "changes": ChangeWatch(around.speaker, read.known, manager),
        "sites": SiteWatch(read.known, manager),
        "handovers": manager.handovers,
    }


async def _ready(spawner: Spawner, manager: Manager) -> None:
    """The fork server runs and a Worker has its eyes, before anything is held; who dies on the way is started again."""
    for left in reversed(range(_STARTS)):
        try:
            await spawner.start()
            await manager.staffing.prove()
        except ForkServerGone:
            if not left:
                raise
        else:
            return


def _heartbeats(around: _Around, manager: Manager, teller: Teller) -> HeartbeatPublisher:
    every = around.settings.heartbeat_interval_s
    return HeartbeatPublisher(manager, around.owner, teller=teller, clock=around.clock, every=every)


def _manager(around: _Around, read: Reading, spawner: Spawner, teller: Teller) -> Manager:
    return Manager(
        ManagerSpec(
            template=template(around.settings, around.owner, around.secret),
            target=around.settings.target_streams_per_shard,
            continues_fenced=around.settings.on_control_loss == "continue-fenced",
        ),
        ManagerParts(
            holder=Holder(_holder_spec(around)),
            control=read.control,
            known=read.known,
            spawner=spawner,
            clock=around.clock,
            journal=around.journal,
            log=sys.stderr.fileno(),
            random=random.SystemRandom(),
            ends=StreamEndPublisher(around.owner, teller=teller, clock=around.clock),
        ),
    )


def _ticket_keeper(around: _Around, link: ParentLink) -> TicketKeeper:
    return TicketKeeper(
        around.owner,
        around.speaker,
        clock=around.clock,
        place=lambda given: _ticket(around, given),
        hand_over=link.hand_over,
    )


async def _until_ended(manager: Manager, ending: Ending) -> None:
    """Told to end, or replaced."""
    told = asyncio.ensure_future(ending.wanted())
    try:
        while not told.done() and not manager.is_superseded:
            await asyncio.wait([told], timeout=0.2)
    finally:
        told.cancel()


async def _wind_down(manager: Manager, ending: Ending) -> bool:
    """Cameras, leases, Workers; returns whether all is given back. Whoever was replaced has a moment only."""
    try:
        within = _MOMENT if manager.is_superseded else ending.within
        async with asyncio.timeout(within):
            manager.leave()
            await _until_empty(manager, within / 2)
            return await manager.finish()
    except TimeoutError:
        return False


async def _until_empty(manager: Manager, seconds: float) -> None:
    """With the control plane away nobody takes the leases back, and Workers still have spools to empty."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not manager.is_empty:  # noqa: ASYNC110 - it ends once
                await asyncio.sleep(0.05)


def _holder_spec(around: _Around) -> HolderSpec:
    settings = around.settings
    return HolderSpec(
        runner=RunnerSpec(
            runner_id=around.owner.runner_id,
            incarnation=around.owner.incarnation,
            site_id=None if settings.runner.site is None else SiteId(settings.runner.site),
            capacity=settings.capacity_streams,
        ),
        renew_every=settings.lease.renew_interval_s,
        beat_every=settings.heartbeat_interval_s,
    )


def _ticket(around: _Around, given: ReleaseTokenGiven) -> ReleaseTicket:
    control = around.settings.control
    return ReleaseTicket(
        url=around.settings.control_url,
        token=given.token,
        runner_id=around.owner.runner_id,
        incarnation=around.owner.incarnation,
        ttl_s=around.settings.lease.ttl_s,
        ca=_text(control.ca),
        certificate=_text(control.client_certificate),
        key=_text(control.client_key),
    )


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path.absolute())


def _enrolled(settings: Settings) -> tuple[Settings, StoredIdentity | None]:
    """This host's identity, and settings that name the control plane which it was enrolled at, unless they name one.

    None: it was given a token, and was not enrolled.
    """
    if settings.token is not None:
        return settings, None
    if not settings.runner_identity_file.exists():
        raise NotEnrolled(settings.runner_identity_file)
    stored = StoredIdentity.load(settings.runner_identity_file)
    if settings.control.url is None:
        settings = settings.model_copy(update={"control": settings.control.model_copy(update={"url": stored.url})})
    return settings, stored


def _explained(refused: greeting.NotAdmitted, stored: StoredIdentity | None) -> StreamwardError:
    """A control plane that never knew this host is not to be asked for another code."""
    if stored is None or stored.url.rstrip("/") == refused.url:
        return refused
    return EnrolledElsewhere(refused, stored.url)


def _badge(
    settings: Settings, stored: StoredIdentity | None, control: ControlPlane, *, clock: Clock
) -> tuple[Badge, Incarnation]:
    """What proves who this runner is, and which start of it this is."""
    if stored is None:
        assert settings.token is not None
        token = Secret(settings.token.get_secret_value())
        return GivenToken(token), owner_in(token).incarnation
    incarnation = Incarnation(secrets.token_hex(8))

    def assertion() -> str:
        return stored.pair.assertion(now=int(clock.wall().timestamp()), incarnation=incarnation)

    return ProvenToken(control, assertion, clock=clock), incarnation


def _tls(settings: Settings) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=settings.control.ca)
    if settings.control.client_certificate is not None:
        context.load_cert_chain(settings.control.client_certificate, settings.control.client_key)
    return context


def _journal(settings: Settings, owner: Owner) -> Journal:
    """Facts to log lines, each with its runner."""
    _write_logs(settings, runner_id=owner.runner_id)
    journal = Journal()
    journal.subscribe(lambda fact: None if isinstance(fact, _COUNTED) else log.log_fact(fact))
    return journal


def _write_logs(settings: Settings, **context: str) -> None:
    log.configure(
        log.form_for(sys.stderr, settings.log.format), level=settings.log.level, context=context, out=sys.stderr
    )
    for chatty in ("aio_pika", "aiormq"):  # each lost connection with its stack
        logging.getLogger(chatty).setLevel(logging.CRITICAL)
