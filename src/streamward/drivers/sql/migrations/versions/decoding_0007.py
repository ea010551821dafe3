"""How much of a camera is decoded. Going back forgets it."""

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.execute("ALTER TABLE cameras ADD COLUMN decode text")


def downgrade() -> None:
    op.execute("ALTER TABLE cameras DROP COLUMN decode")
