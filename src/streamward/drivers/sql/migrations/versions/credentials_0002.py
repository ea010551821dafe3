"""Credentials beside their cameras, sealed; address policies; revisions; names of creations.

Going back loses the credentials: no older program could open them.
"""

from alembic import op

revision = "0002"
down_revision = "0001"

_COLUMNS = {
    "cameras": {
        "sealed_credential": "text",
        "credential_version": "integer NOT NULL DEFAULT 0",
        "revision": "bigint NOT NULL DEFAULT 1",
    },
    "sites": {"address_policy": "text NOT NULL DEFAULT '{}'", "revision": "bigint NOT NULL DEFAULT 1"},
}
_WOKEN_BY = "tenant_id, site_id, rtsp_url, enabled, do_not_process"


def upgrade() -> None:
    for table, columns in _COLUMNS.items():
        for name, kind in columns.items():
            op.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind}")
    instant = "timestamptz" if _is_postgres() else "integer"
    op.execute(
        "CREATE TABLE created_once (subject text NOT NULL, once_key text NOT NULL, digest text NOT NULL,"
        f" camera_uuid text NOT NULL, made_at {instant} NOT NULL, PRIMARY KEY (subject, once_key))"
    )
    _wake_waiters_by(f"{_WOKEN_BY}, credential_version")


def downgrade() -> None:
    _wake_waiters_by(_WOKEN_BY)
    op.execute("DROP TABLE created_once")
    for table, columns in _COLUMNS.items():
        for name in columns:
            op.execute(f"ALTER TABLE {table} DROP COLUMN {name}")


def _wake_waiters_by(columns: str) -> None:
    """A new credential must reach the runner that holds the camera; the same under another key need not."""
    if not _is_postgres():
        return
    op.execute("DROP TRIGGER cameras_changed ON cameras")
    op.execute(
        f"CREATE TRIGGER cameras_changed AFTER INSERT OR DELETE OR UPDATE OF {columns} ON cameras"
        " FOR EACH STATEMENT EXECUTE FUNCTION wake_waiters()"
    )


def _is_postgres() -> bool:
    return op.get_bind().dialect.name == "postgresql"
