"""When the earliest frame of a batch arrived, beside when the batch was opened. Going back forgets it."""

from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    instant = "timestamptz" if op.get_bind().dialect.name == "postgresql" else "integer"
    op.execute(f"ALTER TABLE batches ADD COLUMN pipeline_start_time {instant}")


def downgrade() -> None:
    op.execute("ALTER TABLE batches DROP COLUMN pipeline_start_time")
