"""A Worker with twelve cameras whose bus dies, stands still, cannot be reached or is locked by somebody else."""

import contextlib
import signal
from collections.abc import Iterator

import pytest

from streamward.drills.network.wire import Wire
from streamward.drivers.bus.file import held
from streamward.drivers.buses import FILE
from streamward.protocol.events import BATCHER
from streamward.protocol.worker_link import WorkerExit
from tests.support.labs import Plant, WorkerProcess, bus_of, plant, until
from tests.support.ledgers import Ledger, read_ledger
from tests.support.outages import Outage, Site, crowded, is_drained, kept, quantile
from tests.support.rabbitmq import RabbitServer

MORE_MEMORY = 64 << 20  # bytes that a Worker may take during an outage; its spool is on disk


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with plant(tmp_path_factory.mktemp("lab"), "--cameras", "12", "--fps", "10") as made:
        yield made


@pytest.fixture
def site(lab: Plant, mortal_rabbitmq: RabbitServer) -> Iterator[Site]:
    with contextlib.closing(Wire(mortal_rabbitmq.port)) as wire:
        yield Site(lab, mortal_rabbitmq, wire)


def endure(worker: WorkerProcess, outage: Outage) -> tuple[int, int]:
    """An outage that is too long for the spool; returns what the Worker counts as made and as lost in the end."""
    until(worker.is_ready)
    until(lambda: worker.metric("messages_published_total") > 50)
    memory = worker.memory
    with outage():
        until(lambda: worker.metric("events_lost_total") > 20)
        assert worker.is_ready()
        assert worker.memory < memory + MORE_MEMORY
    until(lambda: is_drained(worker))
    assert quantile(worker.histogram("event_hand_off_seconds"), 0.99) <= 0.5
    made, lost = kept(worker), worker.metric("events_lost_total")
    assert worker.ended(signal.SIGTERM) == WorkerExit.DRAINED
    return made, int(lost)


def assert_accounted_for(ledger: Ledger, *, made: int, lost: int) -> None:
    """Every event arrived, or is in a gap that was told."""
    assert ledger.missing(made) == set()
    assert ledger.lost == lost
    ledger.assert_no_two_of_a_name()


@pytest.mark.parametrize("kind", ["killed", "frozen", "unreachable"])
async def test_what_is_lost_while_a_broker_is_away_is_told_to_the_last_event(site: Site, kind: str) -> None:
    async with bus_of(site.lab, site.broker.url()) as bus:
        await bus.declare(BATCHER)
    with site.lab.worker(site.config(kind, **crowded(site.lab))) as worker:
        made, lost = endure(worker, lambda: site.outage(kind))
    async with bus_of(site.lab, site.broker.url()) as bus:
        ledger = await read_ledger(bus, Ledger(kind), until=lambda ledger: not ledger.missing(made))
    assert_accounted_for(ledger, made=made, lost=lost)


async def test_an_embedded_bus_that_another_process_holds_is_an_outage_like_any(lab: Plant) -> None:
    with lab.worker(lab.config(runner_id="r-file", grace_timeout_s=60, **crowded(lab))) as worker:
        made, lost = endure(worker, lambda: held(lab.data / FILE))
    async with bus_of(lab) as bus:
        ledger = await read_ledger(bus, Ledger("r-file"), until=lambda ledger: not ledger.missing(made))
    assert_accounted_for(ledger, made=made, lost=lost)
