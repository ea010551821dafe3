"""Tenants, one-time codes, identities, the audit, announcements, and more to say of cameras.

Tenants that sites and cameras name are made. Going back loses what only this schema holds.
"""

from importlib import resources

from alembic import op

revision = "0003"
down_revision = "0002"

_WORDS = {
    "postgresql": {
        "id": 'text COLLATE "C"',
        "instant": "timestamptz",
        "never": "to_timestamp(0)",
        "serial": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "real": "double precision",
    },
    "sqlite": {
        "id": "text",
        "instant": "integer",
        "never": "0",
        "serial": "integer PRIMARY KEY AUTOINCREMENT",
        "real": "real",
    },
}
_COLUMNS = {
    "cameras": {"detector": "text", "max_fps": "{real}", "labels": "text NOT NULL DEFAULT '{{}}'"},
    "runners": {"revision": "bigint NOT NULL DEFAULT 1"},
}
_TABLES = ("outbox", "audit", "identities", "invitations", "tenants")


def upgrade() -> None:
    words = _WORDS[_dialect()]
    for table, columns in _COLUMNS.items():
        for name, kind in columns.items():
            op.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind.format_map(words)}")
    # Each with a default of its own kind: SQLite takes no expression there.
    op.execute(f"ALTER TABLE sites ADD COLUMN updated_at {words['instant']} NOT NULL DEFAULT {_constant(words)}")
    op.execute("ALTER TABLE created_once RENAME COLUMN camera_uuid TO object_id")
    _run("tables_0003.sql", words)
    _run(f"{_dialect()}_0003.sql", words)


def downgrade() -> None:
    for table in _TABLES:
        op.execute(f"DROP TABLE {table}")
    if _dialect() == "postgresql":
        op.execute("DROP FUNCTION audit_is_kept()")
    op.execute("ALTER TABLE created_once RENAME COLUMN object_id TO camera_uuid")
    op.execute("ALTER TABLE sites DROP COLUMN updated_at")
    for table, columns in _COLUMNS.items():
        for name in columns:
            op.execute(f"ALTER TABLE {table} DROP COLUMN {name}")


def _constant(words: dict[str, str]) -> str:
    return "'1970-01-01 00:00:00+00'" if _dialect() == "postgresql" else words["never"]


def _dialect() -> str:
    return op.get_bind().dialect.name


def _run(script: str, words: dict[str, str]) -> None:
    text = resources.files("streamward.drivers.sql.migrations").joinpath(script).read_text(encoding="utf-8")
    for part in text.format_map(words).split("\n\n"):
        if not all(line.startswith("--") for line in part.splitlines()):
            op.get_bind().exec_driver_sql(part)
