"""The runner's sentence to a stream's error, and when it tries again. Going back forgets both."""

from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    instant = "timestamptz" if op.get_bind().dialect.name == "postgresql" else "integer"
    op.execute("ALTER TABLE stream_status ADD COLUMN error_detail text")
    op.execute(f"ALTER TABLE stream_status ADD COLUMN retry_at {instant}")


def downgrade() -> None:
    for name in ("error_detail", "retry_at"):
        op.execute(f"ALTER TABLE stream_status DROP COLUMN {name}")
