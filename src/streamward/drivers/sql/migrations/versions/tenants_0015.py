"""Internal ids of tenants, and the record of deleted ones, whose data is deleted afterwards.

Going back forgets which tenants were deleted; what is still to be deleted stays where it is.
"""

from importlib import resources

from alembic import op

revision = "0015"
down_revision = "0014"

_WORDS = {
    "postgresql": {
        "id": 'text COLLATE "C"',
        "instant": "timestamptz",
        "random": "replace(gen_random_uuid()::text, '-', '')",
    },
    "sqlite": {"id": "text", "instant": "integer", "random": "lower(hex(randomblob(16)))"},
}
_TRIGGERS = {
    "postgresql": ("status_ends_with_camera ON cameras", "grant_is_kept ON lease_grants", "audit_is_redacted ON audit"),
    "sqlite": ("status_ends_with_camera", "grant_is_not_deleted", "audit_is_not_changed"),
}


def upgrade() -> None:
    _run("tables_0015.sql")
    _run(f"{_dialect()}_0015.sql")


def downgrade() -> None:
    for trigger in _TRIGGERS[_dialect()]:
        op.execute(f"DROP TRIGGER {trigger}")
    _run(f"{_dialect()}_0015_down.sql")
    for table in ("tenant_deletions", "batchers"):
        op.execute(f"DROP TABLE {table}")
    for index in ("tenants_by_key", "lease_grants_by_tenant"):
        op.execute(f"DROP INDEX {index}")
    op.execute("ALTER TABLE tenants DROP COLUMN tenant_key")


def _dialect() -> str:
    return op.get_bind().dialect.name


def _run(script: str) -> None:
    text = resources.files("streamward.drivers.sql.migrations").joinpath(script).read_text(encoding="utf-8")
    for part in text.format_map(_WORDS[_dialect()]).split("\n\n"):
        if not all(line.startswith("--") for line in part.splitlines()):
            op.get_bind().exec_driver_sql(part)
