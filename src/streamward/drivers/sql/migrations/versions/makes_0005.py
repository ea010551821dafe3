"""Which make of Workers operators want of a runner, and how far it has come. Going back forgets it."""

from alembic import op

revision = "0005"
down_revision = "0004"

_COLUMNS = {
    "make": "integer NOT NULL DEFAULT 0",
    "detector": "text",
    "earlier_detector": "text",
    "proven_make": "integer NOT NULL DEFAULT 0",
    "tried_make": "integer NOT NULL DEFAULT 0",
    "make_problem": "text",
}


def upgrade() -> None:
    for name, kind in _COLUMNS.items():
        op.execute(f"ALTER TABLE runners ADD COLUMN {name} {kind}")


def downgrade() -> None:
    for name in _COLUMNS:
        op.execute(f"ALTER TABLE runners DROP COLUMN {name}")
