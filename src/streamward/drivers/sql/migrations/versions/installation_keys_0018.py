"""Which keys the control planes of this database share. Going back forgets it."""

from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.execute("CREATE TABLE installation_keys (kind text NOT NULL PRIMARY KEY, key_id text NOT NULL)")


def downgrade() -> None:
    op.execute("DROP TABLE installation_keys")
