"""The lease paths under load: through the control plane, and the same statement straight to PostgreSQL."""

from collections.abc import Sequence
from functools import partial
from itertools import count
from operator import attrgetter
from statistics import median

import asyncpg
from sqlalchemy.dialects.postgresql.asyncpg import dialect
from sqlalchemy.sql.compiler import SQLCompiler

from bench.fleet import LEASES_PER_RUNNER, fill, names
from bench.load import Call, HttpCaller, Rate, measure
from streamward.drivers.sql.dialect import PostgresDialect
from streamward.drivers.sql.renewals import renew_and_list
from streamward.protocol import codec
from streamward.protocol.leases import AcquireCamera, NamedLease, ReleaseCamera, RenewCamera, RenewCameras
from tests.support.processes import ControlProcess

SECONDS = 4.0
STRAIGHT = 4  # connections: the pool of a control plane
CALLERS = 16


async def bare(url: str, *, callers: int = STRAIGHT) -> Rate:
    """The control plane's own renewal statement, prepared, from asyncpg."""
    compiled = renew_and_list(PostgresDialect()).compile(dialect=dialect())  # type: ignore[no-untyped-call]
    connections = [await asyncpg.connect(url) for _ in range(callers)]
    try:
        calls = [await _statement(each, compiled, runner) for runner, each in enumerate(connections)]
        return await measure(calls, seconds=SECONDS)
    finally:
        for connection in connections:
            await connection.close()


async def over_http(process: ControlProcess) -> Rate:
    """Sixteen runners that renew forty leases each, without rest."""
    callers = await _callers(process)
    try:
        calls = [partial(_renew_forty, caller, _forty(runner)) for runner, caller in enumerate(callers)]
        return await measure(calls, seconds=SECONDS)
    finally:
        await _close(callers)


async def singles(process: ControlProcess, *, passes: int) -> dict[str, list[Rate]]:
    """One lease at a time, in the specification's single forms; slowest pass first."""
    callers = await _callers(process)
    calls: dict[str, Sequence[Call]] = {
        "renewals": [partial(_renew_one, caller, runner) for runner, caller in enumerate(callers)],
        "releases and acquisitions": [_swapping(caller, runner) for runner, caller in enumerate(callers)],
    }
    try:
        return {
            name: sorted([await measure(each, seconds=SECONDS) for _ in range(passes)], key=attrgetter("per_second"))
            for name, each in calls.items()
        }
    finally:
        await _close(callers)


async def growth(url: str, sizes: Sequence[int], *, passes: int) -> dict[int, float]:
    """Seconds of one renewal, in statements of forty from one caller, by how many cameras there are."""
    took: dict[int, list[float]] = {size: [] for size in sizes}
    for size in [*sizes] * passes:  # each size again and again: the machine's bad moments hit all alike
        await fill(url, cameras=size)
        rate = await bare(url, callers=1)
        took[size].append(rate.p50_ms / 1e3 / LEASES_PER_RUNNER)  # the median: a commit at times waits for the disk
    return {size: median(each) for size, each in took.items()}


async def _statement(connection: asyncpg.Connection, compiled: SQLCompiler, runner: int) -> Call:
    """Spread over the runners that there are, as real ones are."""
    prepared = await connection.prepare(str(compiled))
    runner = min(runner, await connection.fetchval("SELECT count(*) - 1 FROM runners"))
    pack = PostgresDialect().pack
    rows = [(place, 0, name, 1, None) for place, name in enumerate(names(runner))]
    params = pack(("caller", "runner_id", "incarnation"), [(0, f"runner-{runner}", "inc")], alias="m")
    params |= pack(("place", "caller", "camera_uuid", "generation", "ttl"), rows)
    arguments = [params[name] for name in compiled.positiontup or ()]

    async def call() -> None:
        await prepared.fetch(*arguments)

    return call


async def _callers(process: ControlProcess) -> list[HttpCaller]:
    callers = []
    for runner in range(CALLERS):
        token = process.token("--runner", f"runner-{runner}", "--incarnation", "inc")
        caller = HttpCaller(process.url, token)
        await caller.connect()
        callers.append(caller)
    return callers


async def _close(callers: Sequence[HttpCaller]) -> None:
    for caller in callers:
        await caller.close()


def _forty(runner: int) -> bytes:
    cameras = [NamedLease(camera_uuid=name, version=1) for name in names(runner)]
    return codec.encode(RenewCameras(runner_id=f"runner-{runner}", cameras=cameras))


async def _renew_forty(caller: HttpCaller, body: bytes) -> None:
    await caller.post("/v1/leases/cameras/renew", body)


async def _renew_one(caller: HttpCaller, runner: int) -> None:
    message = RenewCamera(runner_id=f"runner-{runner}", camera_uuid=names(runner)[0], ttl_seconds=600)
    await caller.post("/v1/leases/camera/renew", codec.encode(message))


def _swapping(caller: HttpCaller, runner: int) -> Call:
    """Gives one camera back and takes it again, in turn."""
    runner_id, camera_uuid = f"runner-{runner}", names(runner)[1]
    release = codec.encode(ReleaseCamera(runner_id=runner_id, camera_uuid=camera_uuid))
    acquire = codec.encode(AcquireCamera(runner_id=runner_id, camera_uuid=camera_uuid, ttl_seconds=600))
    turn = count()

    async def call() -> None:
        if next(turn) % 2:
            await caller.post("/v1/leases/camera/acquire", acquire)
        else:
            await caller.post("/v1/leases/camera/release", release)

    return call
