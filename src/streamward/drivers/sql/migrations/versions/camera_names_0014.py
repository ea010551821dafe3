"""What a tenant calls its cameras, unique in the tenant. Going back forgets it."""

from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    kind = 'text COLLATE "C"' if op.get_bind().dialect.name == "postgresql" else "text"
    op.execute(f"ALTER TABLE cameras ADD COLUMN name {kind}")
    op.execute("CREATE UNIQUE INDEX cameras_by_name ON cameras (tenant_id, name)")


def downgrade() -> None:
    op.execute("DROP INDEX cameras_by_name")
    op.execute("ALTER TABLE cameras DROP COLUMN name")
