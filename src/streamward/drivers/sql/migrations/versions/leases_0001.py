"""Cameras, sites, runners, leases, grants, dial budgets and stream reports."""

from importlib import resources

from alembic import op

revision = "0001"
down_revision = None

_MOVES = {
    "PENDING": ("ACTIVE", "TERMINATED"),
    "ACTIVE": ("PENDING", "PAUSED", "ORPHANED", "TERMINATED"),
    "PAUSED": ("ACTIVE", "PENDING", "ORPHANED", "TERMINATED"),
    "ORPHANED": ("ACTIVE", "PENDING", "TERMINATED"),
    "TERMINATED": ("PENDING",),
}
_WORDS = {
    "postgresql": {
        "id": 'text COLLATE "C"',  # ordered as Python orders them, whatever the server's locale
        "real": "double precision",
        "instant": "timestamptz",
        "json": "jsonb",
        "never": "to_timestamp(0)",
        "serial": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "often_updated": "WITH (fillfactor = 50)",
        "capacity_json": "resources || jsonb_build_object('slots', capacity_streams)",
    },
    "sqlite": {
        "id": "text",
        "real": "real",
        "instant": "integer",
        "json": "text",
        "never": "0",
        "serial": "integer PRIMARY KEY",
        "often_updated": "",
        "capacity_json": "json_set(resources, '$.slots', capacity_streams)",
    },
}
_VIEWS = ("workers", "camera_sessions")
_TABLES = (
    "stream_status",
    "lease_grants",
    "stream_leases",
    "incarnations",
    "runners",
    "cameras",
    "site_dials",
    "site_start_budget",
    "sites",
)
_FUNCTIONS = ("wake_waiters", "lease_moved", "lease_granted", "lease_follows_camera", "lease_now")


def upgrade() -> None:
    dialect = op.get_bind().dialect.name
    _run("tables_0001.sql", _WORDS[dialect])
    _run(f"{dialect}_0001.sql", {"moves": ", ".join(f"'{old}>{new}'" for old in _MOVES for new in _MOVES[old])})


def downgrade() -> None:
    for view in _VIEWS:
        op.execute(f"DROP VIEW {view}")
    for table in _TABLES:
        op.execute(f"DROP TABLE {table}")
    if op.get_bind().dialect.name == "postgresql":
        for function in _FUNCTIONS:
            op.execute(f"DROP FUNCTION {function}()")


def _run(script: str, words: dict[str, str]) -> None:
    text = resources.files("streamward.drivers.sql.migrations").joinpath(script).read_text(encoding="utf-8")
    for part in text.format_map(words).split("\n\n"):
        if not all(line.startswith("--") for line in part.splitlines()):
            op.get_bind().exec_driver_sql(part)
