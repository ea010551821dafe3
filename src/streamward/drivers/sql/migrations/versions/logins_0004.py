"""How often each login was refused. Going back forgets it."""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    is_postgres = op.get_bind().dialect.name == "postgresql"
    name, instant = ('text COLLATE "C"', "timestamptz") if is_postgres else ("text", "integer")
    op.execute(
        f"CREATE TABLE logins (tenant_id {name} NOT NULL, login {name} NOT NULL, record text NOT NULL,"
        f" updated_at {instant} NOT NULL, PRIMARY KEY (tenant_id, login))"
    )


def downgrade() -> None:
    op.execute("DROP TABLE logins")
