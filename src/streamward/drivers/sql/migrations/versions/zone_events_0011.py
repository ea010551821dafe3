"""What happened at zones. Going back forgets it."""

from alembic import op

revision = "0011"
down_revision = "0010"

_POSTGRES = ('text COLLATE "C"', "timestamptz", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "double precision")
_SQLITE = ("text", "integer", "integer PRIMARY KEY AUTOINCREMENT", "real")


def upgrade() -> None:
    name, instant, serial, real = _POSTGRES if op.get_bind().dialect.name == "postgresql" else _SQLITE
    op.execute(
        f"CREATE TABLE zone_events (zone_event_id {serial}, event_id {name} NOT NULL, idx integer NOT NULL,"
        f" tenant_id {name} NOT NULL, site_id {name} NOT NULL, camera_uuid {name} NOT NULL, generation bigint NOT NULL,"
        f" made_at {instant} NOT NULL, stored_at {instant} NOT NULL, is_late boolean NOT NULL, type text NOT NULL,"
        f" zone text NOT NULL, track_id bigint NOT NULL, label text NOT NULL, stayed_s {real} NOT NULL,"
        " UNIQUE (event_id, idx))"
    )
    op.execute("CREATE INDEX zone_events_by_camera ON zone_events (camera_uuid, zone_event_id)")
    op.execute("CREATE INDEX zone_events_by_tenant ON zone_events (tenant_id, zone_event_id)")


def downgrade() -> None:
    op.execute("DROP TABLE zone_events")
