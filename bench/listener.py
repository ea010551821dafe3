"""A consumer in a process of its own: `python -m bench.listener <bus> <queue> <count>` prints how late each was."""

import asyncio
import sys
import time

from tests.support.bus_process import bus_at


async def main(place: str, queue: str, count: str) -> None:
    bus = bus_at(place)
    consumer = bus.consume(queue, prefetch=100)
    late: list[float] = []
    await consumer.take(at_most=1, within=0.1)
    print("ready", flush=True)
    while len(late) < int(count):
        taken = await consumer.take(at_most=100, within=5.0)
        now = time.time_ns()
        late += [(now - int(each.message.body[:20])) / 1e6 for each in taken]
        await consumer.ack(taken)
    await consumer.close()
    await bus.close()
    print(" ".join(f"{each:.3f}" for each in late), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
