"""Alembic's entry. The connection, with its transaction, is always handed in by `migrate`."""

from alembic import context

from waypost.database.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
