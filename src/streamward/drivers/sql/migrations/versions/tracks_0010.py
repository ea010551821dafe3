"""Which thing a detection is of, as far as somebody followed it, and in which zones it stood. Going back forgets both.

The names of zones are JSON, as boxes are.
"""

from alembic import op

revision = "0010"
down_revision = "0009"

_COLUMNS = {"track_id": "bigint", "zones": "text NOT NULL DEFAULT '[]'"}


def upgrade() -> None:
    for name, kind in _COLUMNS.items():
        op.execute(f"ALTER TABLE detections ADD COLUMN {name} {kind}")


def downgrade() -> None:
    for name in _COLUMNS:
        op.execute(f"ALTER TABLE detections DROP COLUMN {name}")
