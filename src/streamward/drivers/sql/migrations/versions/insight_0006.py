"""Detections, batches, analyses, broadcasts, and what tenants wish of batching. Going back loses them."""

from importlib import resources

from alembic import op

revision = "0006"
down_revision = "0005"

_WORDS = {
    "postgresql": {
        "id": 'text COLLATE "C"',
        "instant": "timestamptz",
        "serial": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "real": "double precision",
    },
    "sqlite": {
        "id": "text",
        "instant": "integer",
        "serial": "integer PRIMARY KEY AUTOINCREMENT",
        "real": "real",
    },
}
_TABLES = ("batching_rules", "broadcasts", "analyses", "batches", "detections")


def upgrade() -> None:
    dialect = op.get_bind().dialect.name
    _run("tables_0006.sql", _WORDS[dialect])
    if dialect == "postgresql":
        _run("postgresql_0006.sql", {})


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP TRIGGER grant_is_alone ON lease_grants")
        op.execute("DROP FUNCTION grant_is_alone()")
        op.execute("DROP FUNCTION grants_of(text[], bigint[], boolean)")
    for table in _TABLES:
        op.execute(f"DROP TABLE {table}")


def _run(script: str, words: dict[str, str]) -> None:
    text = resources.files("streamward.drivers.sql.migrations").joinpath(script).read_text(encoding="utf-8")
    for part in text.format_map(words).split("\n\n"):
        if not all(line.startswith("--") for line in part.splitlines()):
            op.get_bind().exec_driver_sql(part)
