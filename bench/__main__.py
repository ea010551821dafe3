"""`make bench`: prints each figure beside the goal that it is held to."""

import asyncio
import sys
import tempfile
from pathlib import Path

from bench import (
    batcher,
    closing,
    detections,
    index,
    inference,
    loop_filter,
    messages,
    pressure,
    readers,
    rings,
    rtp,
    starting,
    swapping,
)
from bench.fleet import fill
from bench.renewals import bare, growth, over_http, singles
from tests.support.postgres import PostgresServer, installed
from tests.support.processes import control

CAMERAS = 10_000
SIZES = (100, 1_000, 10_000, 100_000)
PASSES = 3


def main() -> int:
    """Measures RTP, cameras, models, bus and open batches, then leases and detections on a private PostgreSQL."""
    rtp.main()
    readers.main()
    pressure.main()
    loop_filter.main()
    inference.main()
    starting.main()
    swapping.main()
    rings.main()
    messages.main()
    index.main()
    binaries = installed()
    if binaries is None:
        print("PostgreSQL is not installed: nothing to measure against", file=sys.stderr)
        return 1
    server = PostgresServer(binaries)
    try:
        server.start()
        asyncio.run(server.make_template())
        _measure(server)
        batcher.main(server)
        closing.main(server)
    finally:
        server.stop()
    return 0


def _measure(server: PostgresServer) -> None:
    url = server.url(asyncio.run(server.create()))
    asyncio.run(fill(url, cameras=CAMERAS))
    with tempfile.TemporaryDirectory() as folder, control(Path(folder) / "data", DATABASE_URL=url) as process:
        ratios = []
        for number in range(1, PASSES + 1):
            straight = asyncio.run(bare(url))
            served = asyncio.run(over_http(process))
            ratios.append(served.per_second / straight.per_second)
            print(
                f"pass {number}: renewals of 40: straight {straight.per_second:,.0f}/s (p99 {straight.p99_ms:.1f} ms), "
                f"over HTTP {served.per_second:,.0f}/s (p99 {served.p99_ms:.1f} ms), share {ratios[-1]:.0%}",
                flush=True,
            )
        _tell("renewals of 40 over HTTP, share of straight", f"{sorted(ratios)[PASSES // 2]:.0%}", "≥ 60 %")
        for name, rates in asyncio.run(singles(process, passes=PASSES)).items():
            middle = rates[PASSES // 2]
            shown = f"{middle.per_second:,.0f} (p99 {middle.p99_ms:.1f} ms)"
            _tell(f"single {name} per second", shown, "≥ 1,000")
            print(f"  in {PASSES} passes: " + ", ".join(f"{rate.per_second:,.0f}" for rate in rates), flush=True)
    detections.main(url)
    costs = asyncio.run(growth(url, SIZES, passes=PASSES))
    shown = ", ".join(f"{size:,}: {cost * 1e6:.0f} µs" for size, cost in costs.items())
    _tell("cost per renewal by cameras", shown, "flat")
    _tell("cost at 100,000 against 100", f"{costs[SIZES[-1]] / costs[SIZES[0]]:.2f} ×", "≤ 1.5 ×")


def _tell(what: str, figure: str, goal: str) -> None:
    print(f"{what:<46}{figure:<34}goal {goal}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
