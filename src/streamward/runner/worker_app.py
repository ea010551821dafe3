"""A Worker's process put together: the only module of this package that names drivers.

    alone    config ─→ leases of its own ─→ Worker ─→ spool ─→ bus
    managed  channel ─Begin, Feed, Add …→ Worker ─→ spool ─→ bus

Guaranteed: SIGTERM and `/drain` end it within its grace, its cameras first, then its leases, then what waits for the
bus; what is not confirmed by then waits in the spool for another Worker of this runner and tenant.
"""

import asyncio
import contextlib
import json
import logging
import os
import random
import secrets
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from streamward.drivers import addresses, camera
from streamward.drivers.addresses import CameraAddress, HostLimits
from streamward.drivers.buses import open_bus
from streamward.drivers.control_plane import ControlPlane
from streamward.drivers.decoder import decoder_for
from streamward.drivers.detectors.loading import Renewals, load_detector
from streamward.drivers.hardware import AvDevice, Hardware, HardwareUnusable
from streamward.drivers.key_pair import StoredIdentity
from streamward.drivers.movement import PictureComparer
from streamward.drivers.objects import open_store
from streamward.drivers.rounds import Rounds
from streamward.leases.lease import Owner
from streamward.leases.logins import LoginId, login_of
from streamward.model.errors import StreamwardError
from streamward.model.ids import CameraId, Incarnation, RunnerId
from streamward.model.objects import MOST_STORED
from streamward.model.secret import Secret
from streamward.model.stream_error import StreamFailure
from streamward.model.video import HardwareDecoding, SkipLoopFilter
from streamward.protocol import shards
from streamward.protocol.events import BATCHER
from streamward.protocol.readiness import WorkerReady
from streamward.protocol.shards import ObjectsAt, ShardConfig, Source
from streamward.protocol.worker_link import Began, WorkerExit
from streamward.runner import clips
from streamward.runner.alone import Alone, AloneParts
from streamward.runner.badge import Badge, GivenToken, ProvenToken, Speaker, owner_in
from streamward.runner.dialing import Host
from streamward.runner.ending import Ending
from streamward.runner.facts import HardwareNotUsed, LeasesRenewed, LoopFilterSkipped, StreamEnded
from streamward.runner.fed_leases import FedLeases
from streamward.runner.heir import Heir
from streamward.runner.logins import ControlLogins, Logins
from streamward.runner.obeying import Obeying, first_order
from streamward.runner.parts import Ear, Stamps, WorkerParts
from streamward.runner.pointing import PointingPublisher
from streamward.runner.pulse import Pulse
from streamward.runner.recent import Recent
from streamward.runner.sink import BusSink, Sender, tell_gap
from streamward.runner.worker import Worker
from streamward.runner.worker_api import WorkerApi
from streamward.runtime import failpoints, log, private_file
from streamward.runtime.blame import Board
from streamward.runtime.channel import Channel
from streamward.runtime.clock import Clock, SystemClock
from streamward.runtime.journal import Journal
from streamward.runtime.listening import CannotListen
from streamward.runtime.local_http import HOST
from streamward.runtime.outbox import MessagesPublished, Outbox, RecordsDropped, SpoolRelay
from streamward.runtime.service import Service, ticking
from streamward.runtime.spool import Spool, SpoolInUse
from streamward.runtime.teller import Teller
from streamward.vision.camera import CameraListener
from streamward.vision.sampling import READ_EVERY, can_wait
from streamward.vision.unusable import DetectorUnusable

_COUNTED = (MessagesPublished, RecordsDropped, LeasesRenewed)  # in the metrics; as lines they would be many
_CLOSING = 0.5  # seconds of the grace that are kept for closing what is open

Announce = Callable[[ShardConfig, WorkerReady], None]
GiveBack = Callable[[], Awaitable[None]]


class NoLeases(StreamwardError):
    """A Worker that nobody gives leases to."""

    def __str__(self) -> str:
        return (
            "a Worker runs only cameras that it holds a lease of: name the control plane in `cp` "
            '({"base_url": …, "token": …} or "identity_file"), or let a runner start it'
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shell:
    """What a Worker of either kind has around it."""

    config: ShardConfig
    clock: Clock
    journal: Journal
    ending: Ending
    stamps: Stamps
    logins: Logins
    ear: Ear
    board: Board | None = None
    is_managed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Working:
    """A Worker at work, and how it is spoken to."""

    worker: Worker
    sink: BusSink
    port: int
    secret: Secret


async def run_alone(config: ShardConfig, *, announce: Announce) -> WorkerExit:
    """Watches the cameras of a config whose leases it can get, until it is told to end."""
    if config.cp is None:
        raise NoLeases
    clock, ending = SystemClock(), Ending(grace=config.grace_timeout_s)
    control = ControlPlane(config.cp.base_url, tls=_tls(config.cp.ca_file))
    badge, incarnation = _badge(config, config.cp, control, clock=clock)
    config = msgspec.structs.replace(config, incarnation=incarnation)
    owner = Owner(RunnerId(config.runner_id), incarnation)
    journal, speaker = _journal(config), Speaker(control, badge)
    parts = AloneParts(control=speaker, clock=clock, journal=journal, random=random.SystemRandom())
    alone = Alone(config, owner, parts, ending=ending)
    shell = _Shell(
        config=config,
        clock=clock,
        journal=journal,
        ending=ending,
        stamps=alone.leases,
        logins=ControlLogins(owner, speaker, clock=clock),
        ear=alone,
    )
    async with _working(shell) as working:
        with _card(config, working) as card:
            alone.begin(working.worker)
            url = f"http://{HOST}:{working.port}"
            announce(config, WorkerReady(pid=os.getpid(), url=url, secret_file=str(card)))
            async with contextlib.aclosing(alone), ticking(alone.bodies, journal=journal):
                await ending.wanted()
            await _wind_down(working, ending, alone.leases.give_back)
    control.close()
    return ending.code


def exit_code(error: StreamwardError) -> WorkerExit:
    """How a Worker ends that could not begin."""
    return WorkerExit.DETECTOR_UNUSABLE if isinstance(error, DetectorUnusable) else WorkerExit.MISCONFIGURED


async def run_managed(end: socket.socket, *, board: Board | None = None) -> WorkerExit:
    """Does what a Manager says over a channel, until that ends or says so."""
    clock, channel = SystemClock(), await Channel.over(end)
    config = await first_order(channel, load_detector)
    if isinstance(config, WorkerExit):
        await channel.close()
        return config
    ending = Ending(grace=config.grace_timeout_s)
    owner = Owner(RunnerId(config.runner_id), Incarnation(config.incarnation or ""))
    leases = FedLeases(owner, clock=clock)
    obeying = Obeying(channel, leases, ending=ending)
    journal = _journal(config)
    shell = _Shell(
        config=config,
        clock=clock,
        journal=journal,
        ending=ending,
        stamps=leases,
        logins=ControlLogins(owner, obeying.control, clock=clock),
        ear=obeying,
        board=board,
        is_managed=True,
    )
    async with _working(shell) as working, Service("channel", obeying, journal=journal):
        obeying.say(Began(pid=os.getpid(), port=working.port))
        for source in config.sources:
            working.worker.add(source)
        listening = asyncio.ensure_future(obeying.obey(working.worker))
        await ending.wanted()
        await _wind_down(working, ending)
        obeying.flush()
        listening.cancel()
    await channel.close()
    return ending.code


@contextlib.asynccontextmanager
async def _working(shell: _Shell) -> AsyncIterator[_Working]:
    """A Worker at work."""
    config = shell.config
    load_detector(config.detector, config.models)  # before anything is begun: a shard without eyes is no shard
    clips.check(config)
    limits = addresses.host_limits(config.source_limits)
    for source in config.sources:
        addresses.address(source, limits)
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, shell.ending.drain)
    async with contextlib.AsyncExitStack() as opened:
        sink = await opened.enter_async_context(_sink(shell))
        if config.skip_loop_filter is not SkipLoopFilter.NONE:
            shell.journal.record(LoopFilterSkipped(pictures=config.skip_loop_filter))
        recent = await opened.enter_async_context(clips.kept(config, shell.journal))
        worker = Worker(config, _parts(shell, sink, recent), is_managed=shell.is_managed)
        shell.journal.subscribe(worker.metrics.count)
        shell.journal.subscribe(lambda fact: recent.drop(fact.camera_id) if isinstance(fact, StreamEnded) else None)
        running = asyncio.ensure_future(worker.run())
        running.add_done_callback(lambda _: shell.ending.drain(WorkerExit.FAILED))  # it ends all its cameras first
        opened.push_async_callback(_ended, running)
        secret = config.api_secret.secret if config.api_secret else Secret(secrets.token_urlsafe(24))
        api = WorkerApi(worker, shell.ending, recent, secret=secret)
        try:
            port = await api.start(config.port)
        except OSError as err:
            remedy = "choose another with `port` in its config, 0 for any that is free"
            raise CannotListen.because(err, HOST, config.port, remedy=remedy) from err
        opened.push_async_callback(api.stop)
        pulse = Pulse(config, worker, sink, stamps=shell.stamps, clock=shell.clock)
        await opened.enter_async_context(Service("pulse", pulse, journal=shell.journal))
        await opened.enter_async_context(Service("looks", worker.impatience, journal=shell.journal))
        await opened.enter_async_context(Service("models", worker.renewing, journal=shell.journal))
        yield _Working(worker=worker, sink=sink, port=port, secret=secret)


async def _wind_down(working: _Working, ending: Ending, give_back: GiveBack | None = None) -> None:
    """Cameras first, so that nothing more is made; then their leases; then, while there is time, what waits."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(max(0.0, ending.within - _CLOSING)):
            await working.worker.close()
            if give_back is not None:
                await give_back()
            await working.sink.emptied()


async def _ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.wait([task])


@contextlib.asynccontextmanager
async def _sink(shell: _Shell) -> AsyncIterator[BusSink]:
    """The way to the bus, with what dead Workers left before."""
    config, journal, clock = shell.config, shell.journal, shell.clock
    sender = Sender(
        runner_id=config.runner_id,
        shard_id=config.shard_id,
        ex_detect=config.amqp.ex_detect,
        ex_status=config.amqp.ex_status,
    )
    data = _folder(config)
    bus = open_bus(config.amqp.reached_by, data, clock=clock, needed=(BATCHER,))
    failpoints.arm(failpoints.parse(config.failpoints))  # the bus that is used has points of its own
    publisher = PointingPublisher(bus, open_store(config.objects or ObjectsAt(url=(data / "objects").as_uri())))
    root = data / "spool" / config.runner_id / config.tenant_id
    spool = _spool(root, config)
    gap = tell_gap(sender, config.tenant_id, clock.wall)
    relay = SpoolRelay(spool, publisher, tell_gap=gap, journal=journal, clock=clock, most_bytes=MOST_STORED)
    outbox = Outbox(relay, journal=journal)
    heir = Service("heir", Heir(root, outbox, most_bytes=config.spool_bytes), journal=journal)
    try:
        async with outbox, heir, Teller(publisher, journal=journal, clock=clock) as teller:
            yield BusSink(sender, outbox=outbox, teller=teller, journal=journal)
    finally:
        await bus.close()


def _folder(config: ShardConfig) -> Path:
    """The data folder, made if it is not there."""
    path = Path(config.data).absolute()
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def _spool(root: Path, config: ShardConfig) -> Spool:
    """A fresh one; if an heir of others was faster to take it, another."""
    while True:
        with contextlib.suppress(SpoolInUse):
            return Spool(root / f"{config.shard_id}.{secrets.token_hex(4)}", most_bytes=config.spool_bytes)


def _parts(shell: _Shell, sink: BusSink, recent: Recent) -> WorkerParts:
    clock, rounds, limits = shell.clock, Rounds(every=READ_EVERY), addresses.host_limits(shell.config.source_limits)

    async def dial(source: Source, listener: CameraListener) -> StreamFailure:
        waits = can_wait(source.max_fps or shell.config.max_fps)
        heard = recent.hearing(CameraId(source.camera_uuid), listener)
        failure = await camera.watch(
            addresses.way(source, limits), heard, clock=clock, rounds=rounds if waits else None
        )
        return failure if source.via is None else await camera.explained(addresses.address(source, limits), failure)

    return WorkerParts(
        clock=clock,
        detector=partial(load_detector, models=shell.config.models),
        newer=Renewals(shell.config.models).newer,
        decoder=partial(decoder_for, skip=shell.config.skip_loop_filter, hardware=_hardware(shell)),
        compare=PictureComparer,
        dial=dial,
        login=_login,
        logins=shell.logins,
        stamps=shell.stamps,
        sink=sink,
        ear=shell.ear,
        journal=shell.journal,
        random=random.SystemRandom(),
        end=shell.ending.drain,
        host=partial(_host, limits=limits),
        board=shell.board,
        watchdogs=[recent],
    )


def _hardware(shell: _Shell) -> Hardware | None:
    asked, loop = shell.config.hardware, asyncio.get_running_loop()
    if asked is HardwareDecoding.NONE:
        return None

    def tell(error: HardwareUnusable) -> None:
        """Comes from the threads that decode."""
        loop.call_soon_threadsafe(shell.journal.record, HardwareNotUsed(error=error))

    return Hardware(AvDevice(asked), tell)


def _login(source: Source) -> LoginId | None:
    address = addresses.address(source, HostLimits())  # which host it is on does not matter here
    return login_of(address.url, address.credential)


def _host(source: Source, *, limits: HostLimits) -> Host | None:
    """Of the camera itself: a restreamer that is away keeps nobody from it but its own."""
    address, way = addresses.address(source, limits), addresses.way(source, limits)
    places = [address] if source.via is None else [way, address]
    return None if address.host is None else Host(key=address.host, probe=partial(_answer_all, places))


async def _answer_all(places: list[CameraAddress]) -> bool:
    """One after the other: a camera is left alone while its restreamer is away."""
    for place in places:
        if not await camera.probe(place):
            return False
    return True


def _badge(
    config: ShardConfig, place: shards.ControlPlane, control: ControlPlane, *, clock: Clock
) -> tuple[Badge, Incarnation]:
    """What proves who this runner is, and which start of it this is."""
    if place.token is not None:
        return GivenToken(place.token.secret), owner_in(place.token.secret).incarnation
    if place.identity_file is None:
        raise NoLeases
    incarnation = Incarnation(config.incarnation or secrets.token_hex(8))
    pair = StoredIdentity.load(Path(place.identity_file)).pair
    return (
        ProvenToken(
            control,
            lambda: pair.assertion(now=int(clock.wall().timestamp()), incarnation=incarnation),
            clock=clock,
        ),
        incarnation,
    )


@contextlib.contextmanager
def _card(config: ShardConfig, working: _Working) -> Iterator[Path]:
    """A file for its owner's eyes that says where this Worker is spoken to, and by what secret."""
    path = Path(config.data) / "workers" / f"{config.runner_id}.{config.shard_id}.json"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    said = {"pid": os.getpid(), "url": f"http://127.0.0.1:{working.port}", "secret": working.secret.reveal()}
    private_file.replace(path, json.dumps(said).encode())
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _tls(ca_file: str | None) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca_file)


def _journal(config: ShardConfig) -> Journal:
    """Facts to log lines, each with its runner and shard."""
    context = {"runner_id": config.runner_id, "shard_id": config.shard_id}
    form = log.form_for(sys.stderr, config.log.format)
    log.configure(form, level=config.log.level, context=context, out=sys.stderr)
    for chatty in ("aio_pika", "aiormq"):  # each lost connection with its stack; the outbox says it in a sentence
        logging.getLogger(chatty).setLevel(logging.CRITICAL)
    journal = Journal()
    journal.subscribe(lambda fact: None if isinstance(fact, _COUNTED) else log.log_fact(fact))
    return journal
