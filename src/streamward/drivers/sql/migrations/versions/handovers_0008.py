"""Who may watch a camera before it holds it. Going back forgets it."""

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    is_postgres = op.get_bind().dialect.name == "postgresql"
    name, instant = ('text COLLATE "C"', "timestamptz") if is_postgres else ("text", "integer")
    op.execute(
        f"CREATE TABLE handovers (camera_uuid {name} PRIMARY KEY, generation bigint NOT NULL,"
        f" runner_id {name} NOT NULL, incarnation {name} NOT NULL, stage text NOT NULL, until {instant} NOT NULL)"
    )


def downgrade() -> None:
    op.execute("DROP TABLE handovers")
