"""A process with an outbox, to be killed at a failpoint: `python -m tests.support.outbox_process …`.

    <bus> <root> <name> <count> [<failpoints>]

Takes over what dead processes left below `<root>`, appends `<name>-0` to `<name>-<count − 1>` to a spool of its own,
says each once it is appended, and ends when everything is published. `<bus>` is the embedded bus's file, or `away`.
Under a name that begins with `large` they are events that are too large for a bus, and go to the folder
`<root>/../objects`.
"""

import asyncio
import os
import sys
from pathlib import Path

import msgspec

from streamward.drivers.bus import EmbeddedBus
from streamward.drivers.objects.folder import FolderObjects
from streamward.model.message import Message
from streamward.model.objects import MOST_STORED
from streamward.protocol import codec
from streamward.protocol.events import SeenThing
from streamward.runner.pointing import PointingPublisher
from streamward.runtime import failpoints
from streamward.runtime.clock import SystemClock
from streamward.runtime.journal import Journal
from streamward.runtime.outbox import MessagesPublished, Outbox, SpoolRelay
from streamward.runtime.spool import Gap, Spool, abandoned
from tests.support.builders import an_event

MOST_BYTES = 400_000


def a_letter(message_id: str, kind: str, body: bytes) -> Message:
    return Message(
        exchange="kills.topic",
        routing_key=f"kills.{kind}",
        message_id=message_id,
        kind=kind,
        at=SystemClock().wall(),
        body=body,
        is_mandatory=True,
    )


def tell_gap(spool: Spool, gap: Gap) -> Message:
    return a_letter(f"{spool.folder.name}-gap-{gap.first}-{gap.until}", "gap", str(gap.count).encode())


def _large(event_id: str) -> bytes:
    """An event that fits no bus."""
    thing = SeenThing(label="person", conf=0.5, bbox_xyxy=[1.0, 2.0, 3.0, 4.0])
    return codec.encode(msgspec.structs.replace(an_event(), event_id=event_id, detections=[thing] * 5000))


async def main(place: str, root: str, name: str, count: str, points: str = "") -> None:
    bus = EmbeddedBus(Path("/dev/null/nowhere" if place == "away" else place), clock=SystemClock())
    heirs = abandoned(Path(root), most_bytes=MOST_BYTES)
    journal = Journal()
    is_large = name.startswith("large")
    spool = Spool(Path(root) / name, most_bytes=MOST_BYTES * (100 if is_large else 1))
    relay = SpoolRelay(
        spool,
        PointingPublisher(bus, FolderObjects(Path(root).parent / "objects")),
        tell_gap=tell_gap,
        journal=journal,
        clock=SystemClock(),
        most_bytes=MOST_STORED,
    )
    async with Outbox(relay, journal=journal) as outbox:
        for heir in heirs:
            outbox.adopt(heir)
        failpoints.arm(failpoints.parse(points))
        for number in range(int(count)):
            body = _large(f"{name}-{number}") if is_large else b"x" * 1000
            outbox.append(a_letter(f"{name}-{number}", "event", body))
            os.write(1, f"{name}-{number}\n".encode())
            await asyncio.sleep(0)
        while not relay.is_empty:
            await journal.first(MessagesPublished)
    await bus.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
