"""Alembic's entry. The connection, with its transaction, is always handed in by `migrate`."""

from typing import Any

from alembic import context

from waypost.database.migrations.steps import commit
from waypost.database.tables import metadata


def _finish_revision(*_: Any, **__: Any) -> None:
    commit()


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    on_version_apply=_finish_revision,
)
context.run_migrations()
