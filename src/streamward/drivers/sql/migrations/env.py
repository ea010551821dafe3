"""Alembic runs this: the connection is the caller's, and so is the transaction."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
