"""Workers killed (−9) at every step from the spool to the bus; the next one publishes what they left."""

import contextlib
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from streamward.drills.network.wire import Wire
from streamward.drivers.bus.file import held
from streamward.drivers.buses import FILE
from streamward.protocol.events import BATCHER
from streamward.protocol.worker_link import WorkerExit
from tests.support.labs import Plant, bus_of, plant, until
from tests.support.ledgers import Ledger, left_behind, read_ledger
from tests.support.outages import Site, crowded, kept
from tests.support.processes import run
from tests.support.rabbitmq import RabbitServer

# Each chain is one runner: at which points its Workers die, and the how many-th time.
CHAINS = {
    "append": ("spool.before-append=exit@30", "spool.after-append=exit@30", "spool.after-handed=exit@10"),
    "publish": ("outbox.before-publish=exit@30", "bus.before-commit=exit@10", "bus.after-commit=exit@10"),
    "confirm": ("spool.before-confirm=exit@30", "spool.after-trim=exit@3"),
    "adopt": (
        "spool.after-append=exit",
        "spool.after-adoption=exit",
        "outbox.after-adopted=exit",
        "spool.before-folder-removal=exit",
    ),
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with plant(tmp_path_factory.mktemp("lab"), "--cameras", "8") as made:
        yield made


def config(lab: Plant, runner_id: str, **changes: Any) -> dict[str, Any]:
    """A Worker with a camera whose lease no dead Worker holds: they take turns."""
    camera = lab.cameras.pop(0)
    lab.cameras.append(camera)
    shape = {"sources": [lab.source(camera)], "max_fps": 25, "grace_timeout_s": 60}
    return lab.config(runner_id=runner_id, **shape, **crowded(lab)) | changes


def waiting(lab: Plant, runner_id: str) -> set[str]:
    return left_behind(lab.data / "spool" / runner_id / "acme", lab.data.parent / "copy")


def killed_at(lab: Plant, runner_id: str, point: str) -> set[str]:
    """A Worker dies at a point; returns what then waits in the spools of its runner."""
    path = lab.written(config(lab, runner_id, failpoints=point))
    ended = run("worker", "--config", str(path), data=lab.data)
    assert ended.returncode == -signal.SIGKILL, ended.stderr[-2000:]
    return waiting(lab, runner_id)


async def inherited(lab: Plant, changes: dict[str, Any], runner_id: str, url: str | None = None) -> Ledger:
    """A Worker that is not killed publishes what is left; everything that ever arrived of that runner."""
    with lab.worker(config(lab, runner_id, **changes)) as worker:
        until(lambda: worker.metric("messages_published_total") > 20)
        made = kept(worker)
        assert worker.ended(signal.SIGTERM) == WorkerExit.DRAINED
    assert not list((lab.data / "spool" / runner_id).glob("*/*"))
    async with bus_of(lab, url) as bus:
        return await read_ledger(bus, Ledger(runner_id), until=lambda ledger: len(ledger.unique) >= made)


def assert_whole(ledger: Ledger, appended: set[str]) -> None:
    assert appended <= ledger.unique.keys()
    for incarnation in ledger.incarnations:
        seqs = ledger.seqs(incarnation)
        assert seqs == set(range(1, max(seqs) + 1))
    ledger.assert_no_two_of_a_name()


@pytest.mark.parametrize("name", CHAINS)
async def test_nothing_appended_is_lost_or_doubled_wherever_workers_die(lab: Plant, name: str) -> None:
    appended: set[str] = set()
    for point in CHAINS[name]:
        appended |= killed_at(lab, name, point)
    ledger = await inherited(lab, {}, name)
    assert appended
    assert_whole(ledger, appended)


@pytest.mark.parametrize("point", ["spool.before-truncate", "spool.before-merge-removal"])
async def test_what_gave_way_is_counted_once_wherever_a_worker_dies(lab: Plant, point: str) -> None:
    name = point.replace(".", "-")
    with held(lab.data / FILE):
        killed_at(lab, name, f"{point}=exit")
    ledger = await inherited(lab, {}, name)
    dead = min(ledger.events, key=lambda event: event.ts).incarnation
    arrived, lost = ledger.seqs(dead), list(ledger.told_lost())
    assert lost
    assert sorted([*arrived, *lost]) == list(range(1, max(*arrived, *lost) + 1))


async def test_a_worker_that_dies_before_it_hears_of_a_confirm_is_repeated_and_not_doubled(
    lab: Plant, mortal_rabbitmq: RabbitServer
) -> None:
    url = mortal_rabbitmq.url()
    async with bus_of(lab, url) as bus:
        await bus.declare(BATCHER)
    with contextlib.closing(Wire(mortal_rabbitmq.port)) as wire:
        site = Site(lab, mortal_rabbitmq, wire)
        with lab.worker(config(lab, "deaf", amqp=site.config("deaf")["amqp"])) as worker:
            until(lambda: worker.metric("messages_published_total") > 20)
            wire.deafen()
            made = kept(worker)
            until(lambda: kept(worker) > made + 20)
            assert worker.ended(signal.SIGKILL) == -signal.SIGKILL
        appended = waiting(lab, "deaf")
        wire.mend()
        ledger = await inherited(lab, {"amqp": {"url": url}}, "deaf", url)
    assert appended
    assert len(ledger.events) > len(ledger.unique)
    assert_whole(ledger, appended)
