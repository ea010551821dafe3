"""A bus that dies, stands still, cannot be reached or is locked, while a Worker goes on."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from streamward.drills.network.wire import Wire
from streamward.drivers.bus.file import held
from streamward.drivers.buses import FILE
from tests.support.labs import Plant, WorkerProcess
from tests.support.rabbitmq import RabbitServer

Outage = Callable[[], contextlib.AbstractContextManager[None]]

# A detector that sees a crowd in every picture: events of about 8 KB, so that a spool is soon full.
CROWD = """
from streamward.model.detection import Box, Detection

_SEEN = tuple(Detection("person", 0.5, Box(x, 1.0, x + 40.0, 99.0)) for x in range(100))


def detect(image):
    return _SEEN
"""

# A detector that needs 300 ms for each picture.
SLOW = """
import time


def detect(image):
    time.sleep(0.3)
    return ()
"""


@dataclass(frozen=True)
class Site:
    """A plant with a broker, and with a way to it that can be cut."""

    lab: Plant
    broker: RabbitServer
    wire: Wire

    def config(self, runner_id: str, **changes: Any) -> dict[str, Any]:
        """A Worker that reaches the broker by that way."""
        url = self.broker.url().replace(f":{self.broker.port}/", f":{self.wire.port}/")
        return self.lab.config(runner_id=runner_id, amqp={"url": url}, grace_timeout_s=60, **changes)

    def outage(self, kind: str) -> contextlib.AbstractContextManager[None]:
        """Its bus is `killed`, `frozen`, `unreachable`, or, the embedded one, `locked`."""
        outages: dict[str, Outage] = {
            "killed": lambda: killed(self.broker),
            "frozen": lambda: frozen(self.broker),
            "unreachable": lambda: unreachable(self.wire),
            "locked": lambda: held(self.lab.data / FILE),
        }
        return outages[kind]()


def crowded(lab: Plant) -> dict[str, Any]:
    """The smallest spool, and a detector that soon fills it."""
    (lab.data.parent / "crowd.py").write_text(CROWD)
    return {"spool_bytes": 1 << 20, "detector": "crowd:detect"}


def kept(worker: WorkerProcess) -> int:
    """How many events it has made."""
    return int(worker.metric("event_hand_off_seconds_count"))


def is_drained(worker: WorkerProcess) -> bool:
    """Whether little more than what is made now is under way."""
    told = dict(line.rpartition(" ")[::2] for line in worker.api.get("/metrics").text.splitlines())
    out = float(told["messages_published_total"]) + float(told["events_lost_total"])
    return out > float(told["event_hand_off_seconds_count"]) - 50


@contextlib.contextmanager
def killed(broker: RabbitServer) -> Iterator[None]:
    """The broker is killed (−9), and started again."""
    broker.kill()
    yield
    broker.start()


@contextlib.contextmanager
def frozen(broker: RabbitServer) -> Iterator[None]:
    """The broker stands still, with its connections open."""
    broker.freeze()
    try:
        yield
    finally:
        broker.thaw()


@contextlib.contextmanager
def unreachable(wire: Wire) -> Iterator[None]:
    """Nothing gets to the broker."""
    wire.cut()
    yield
    wire.mend()


def quantile(buckets: dict[float, float], share: float) -> float:
    """The upper edge of the bucket of a histogram in which so many of its values lie."""
    total = max(buckets.values())
    return min(edge for edge, count in buckets.items() if count >= share * total)


def since(before: dict[float, float], after: dict[float, float]) -> dict[float, float]:
    """What a histogram counted between two looks."""
    return {edge: count - before.get(edge, 0.0) for edge, count in after.items()}
