"""Fills a database with cameras and leases, directly: making 100,000 through the API is not what is measured."""

import asyncpg

LEASES_PER_RUNNER = 40


async def fill(url: str, *, cameras: int) -> None:
    """So many cameras at one site, leased to runners of forty, incarnation `inc`."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("TRUNCATE cameras, sites, runners, incarnations, stream_leases, lease_grants CASCADE")
        await connection.execute(
            "INSERT INTO tenants (tenant_id, name, updated_at) VALUES ('tenant', '', lease_now())"
            " ON CONFLICT DO NOTHING"
        )
        await connection.execute("INSERT INTO sites (site_id, tenant_id) VALUES ('site', 'tenant')")
        await connection.execute(
            "INSERT INTO cameras (camera_uuid, tenant_id, site_id, rtsp_url, enabled, do_not_process, updated_at) "
            "SELECT 'cam-' || i, 'tenant', 'site', 'rtsp://192.0.2.1/' || i, true, false, lease_now() "
            "FROM generate_series(0, $1::int - 1) AS i",
            cameras,
        )
        runners = -(-cameras // LEASES_PER_RUNNER)
        await connection.execute(
            "INSERT INTO runners (runner_id, incarnation, policy, capacity_streams, last_seen_at) "
            "SELECT 'runner-' || i, 'inc', 'fast', 10000, lease_now() "
            "FROM generate_series(0, $1::int - 1) AS i",
            runners,
        )
        await connection.execute(
            "INSERT INTO incarnations (runner_id, incarnation, registered_at) "
            "SELECT runner_id, incarnation, lease_now() FROM runners"
        )
        await connection.execute(
            "UPDATE stream_leases SET generation = 1, incarnation = 'inc', state = 'ACTIVE', ttl = 600, "
            "runner_id = 'runner-' || (substr(camera_uuid, 5)::int / $1::int), "
            "granted_at = lease_now(), expires_at = lease_now() + interval '600 s'",
            LEASES_PER_RUNNER,
        )
        await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()


def names(runner: int) -> list[str]:
    """The cameras of one runner."""
    first = runner * LEASES_PER_RUNNER
    return [f"cam-{number}" for number in range(first, first + LEASES_PER_RUNNER)]
