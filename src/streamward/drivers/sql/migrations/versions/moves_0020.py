"""Handovers of cameras that move to balance a fleet have a deadline. Going back forgets handovers."""

from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    instant = "timestamptz" if op.get_bind().dialect.name == "postgresql" else "integer"
    op.execute(f"ALTER TABLE handovers ADD COLUMN deadline {instant}")


def downgrade() -> None:
    op.execute("DELETE FROM handovers")
    op.execute("ALTER TABLE handovers DROP COLUMN deadline")
