"""The lease policy `faster`. Going back gives its sites and runners the policy `fast`."""

from alembic import op

revision = "0019"
down_revision = "0018"

_BEFORE = "policy IN ('fast', 'sticky', 'task')"
_NOW = "policy IN ('fast', 'faster', 'sticky', 'task')"


def upgrade() -> None:
    _check(_BEFORE, _NOW)


def downgrade() -> None:
    for table in ("sites", "runners"):
        op.execute(f"UPDATE {table} SET policy = 'fast' WHERE policy = 'faster'")  # noqa: S608 - a constant
    _check(_NOW, _BEFORE)


def _check(before: str, now: str) -> None:
    """Another check of the same columns, which every row passes that passed the one before."""
    if op.get_bind().dialect.name == "postgresql":
        for table in ("sites", "runners"):
            op.execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_policy_check")
            op.execute(f"ALTER TABLE {table} ADD CONSTRAINT {table}_policy_check CHECK ({now})")
        return
    # As in "Making Other Kinds Of Table Schema Changes" of SQLite's ALTER TABLE page: no data is rewritten.
    op.execute("PRAGMA writable_schema = ON")
    op.get_bind().exec_driver_sql(
        "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE type = 'table' AND name IN ('sites', 'runners')",
        (before, now),
    )
    op.execute("PRAGMA writable_schema = RESET")
