"""Where in a camera's picture things count, how sure to be of which, and how often it is looked at.

Zones and thresholds are JSON, as labels are. Going back forgets all three.
"""

from alembic import op

revision = "0009"
down_revision = "0008"

_COLUMNS = {
    "detect_every_n_frames": "integer",
    "zones": "text NOT NULL DEFAULT '[]'",
    "thresholds": "text NOT NULL DEFAULT '{}'",
}


def upgrade() -> None:
    for name, kind in _COLUMNS.items():
        op.execute(f"ALTER TABLE cameras ADD COLUMN {name} {kind}")


def downgrade() -> None:
    for name in _COLUMNS:
        op.execute(f"ALTER TABLE cameras DROP COLUMN {name}")
