"""Grants have an interval, a tenant and a site, records keep their stamp, runners report slow answers.

Grants of cameras that are not there any more get the tenant and site that their lease row remembers.
"""

from importlib import resources

from alembic import op

revision = "0013"
down_revision = "0012"

_MOVES = {
    "PENDING": ("ACTIVE", "TERMINATED"),
    "ACTIVE": ("PENDING", "PAUSED", "ORPHANED", "TERMINATED"),
    "PAUSED": ("ACTIVE", "PENDING", "ORPHANED", "TERMINATED"),
    "ORPHANED": ("ACTIVE", "PENDING", "TERMINATED"),
    "TERMINATED": ("PENDING", "ACTIVE"),
}
_POSTGRES = ('text COLLATE "C"', "timestamptz", "double precision")
_SQLITE = ("text", "integer", "real")
_ADDED = ("TERMINATED", "ACTIVE")
# What this migration replaces: the script that has it as it was, and what it was called there.
_REPLACED = {
    "postgresql": (
        ("postgresql_0001.sql", "CREATE FUNCTION lease_follows_camera()"),
        ("postgresql_0001.sql", "CREATE FUNCTION lease_granted()"),
        ("postgresql_0001.sql", "CREATE TRIGGER lease_moved"),
        ("postgresql_0006.sql", "CREATE FUNCTION grants_of("),
        ("postgresql_0006.sql", "REVOKE EXECUTE ON FUNCTION grants_of"),
    ),
    "sqlite": (
        ("sqlite_0001.sql", "CREATE TRIGGER lease_follows_new_camera"),
        ("sqlite_0001.sql", "CREATE TRIGGER lease_follows_changed_camera"),
        ("sqlite_0001.sql", "CREATE TRIGGER lease_outlives_camera"),
        ("sqlite_0001.sql", "CREATE TRIGGER lease_granted"),
        ("sqlite_0001.sql", "CREATE TRIGGER lease_moved"),
    ),
}


def upgrade() -> None:
    dialect = op.get_bind().dialect.name
    name, instant, real = _POSTGRES if dialect == "postgresql" else _SQLITE
    for table in ("stream_leases", "lease_grants"):
        op.execute(f"ALTER TABLE {table} ADD COLUMN ended_at {instant}")
        op.execute(f"ALTER TABLE {table} ADD COLUMN made_until {instant}")
    for column in ("tenant_id", "site_id"):
        op.execute(f"ALTER TABLE lease_grants ADD COLUMN {column} {name} NOT NULL DEFAULT ''")
        op.execute(
            f"UPDATE lease_grants SET {column} = coalesce((SELECT l.{column} FROM stream_leases AS l"  # noqa: S608
            " WHERE l.camera_uuid = lease_grants.camera_uuid), '')"
        )
    op.execute(f"ALTER TABLE runners ADD COLUMN answer_delay_s {real}")
    for table in ("detections", "zone_events"):
        op.execute(f"ALTER TABLE {table} ADD COLUMN stamped_at {instant}")
        op.execute(f"UPDATE {table} SET stamped_at = made_at")  # noqa: S608 - a table of this migration
    for part in _statements(f"{dialect}_0013.sql", moves=_MOVES):
        op.get_bind().exec_driver_sql(part)


def downgrade() -> None:
    dialect = op.get_bind().dialect.name
    if dialect == "postgresql":
        op.execute("DROP TRIGGER lease_ended ON stream_leases")
        op.execute("DROP FUNCTION lease_ended()")
        op.execute("DROP TRIGGER lease_moved ON stream_leases")
        op.execute("DROP FUNCTION grants_of(text[], bigint[], boolean)")
    else:
        for trigger in (*(name.removeprefix("CREATE TRIGGER ") for _, name in _REPLACED["sqlite"]), "lease_ended"):
            op.execute(f"DROP TRIGGER {trigger}")
    before = {state: tuple(to for to in moves if (state, to) != _ADDED) for state, moves in _MOVES.items()}
    for script, name in _REPLACED[dialect]:
        [part] = [each for each in _statements(script, moves=before) if f"\n{name}" in f"\n{each}"]
        op.get_bind().exec_driver_sql(part.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"))
    op.execute("ALTER TABLE runners DROP COLUMN answer_delay_s")
    for table in ("detections", "zone_events"):
        op.execute(f"ALTER TABLE {table} DROP COLUMN stamped_at")
    for column in ("tenant_id", "site_id"):
        op.execute(f"ALTER TABLE lease_grants DROP COLUMN {column}")
    for table in ("stream_leases", "lease_grants"):
        op.execute(f"ALTER TABLE {table} DROP COLUMN ended_at")
        op.execute(f"ALTER TABLE {table} DROP COLUMN made_until")


def _statements(script: str, *, moves: dict[str, tuple[str, ...]]) -> list[str]:
    text = resources.files("streamward.drivers.sql.migrations").joinpath(script).read_text(encoding="utf-8")
    listed = ", ".join(f"'{old}>{new}'" for old in moves for new in moves[old])
    parts = text.replace("{moves}", listed).split("\n\n")
    return [part for part in parts if not all(line.startswith("--") for line in part.splitlines())]
