"""Short transactions on PostgreSQL, in which migrations change very many rows while the service uses them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from alembic import op

_BATCH = 1_000


def commit() -> None:
    """Let others go on. The revision must be able to begin again from here. On SQLite, all is one transaction."""
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        connection.commit()


def in_batches(key: sa.ColumnClause[Any], change: Callable[[sa.ColumnElement[bool]], None]) -> None:
    """Call with a condition for each batch of the rows, in the order of their key. Commit after each."""
    rest: sa.ColumnElement[bool] = sa.true()
    while True:
        batch = sa.select(key).where(rest).order_by(key).limit(_BATCH).subquery()
        last = op.get_bind().scalar(sa.select(batch.c[0]).order_by(batch.c[0].desc()).limit(1))
        if last is None:
            return
        change(rest & (key <= last))
        commit()
        rest = key > last


@contextmanager
def _autocommit() -> Iterator[None]:
    connection = op.get_bind()
    connection.commit()
    level = connection.get_isolation_level()
    connection.commit()
    connection.execution_options(isolation_level="AUTOCOMMIT")
    yield
    connection.commit()
    connection.execution_options(isolation_level=level)


def create_index(
    name: str, table: str, columns: list[str], where: sa.TextClause | None = None, *, unique: bool = False
) -> None:
    """Create an index, again if there is one. On PostgreSQL others read and write the table meanwhile."""
    if op.get_bind().dialect.name == "postgresql":
        with _autocommit():
            op.drop_index(name, table, if_exists=True, postgresql_concurrently=True)
            op.create_index(name, table, columns, unique=unique, postgresql_concurrently=True, postgresql_where=where)
    else:
        op.drop_index(name, table, if_exists=True)
        op.create_index(name, table, columns, unique=unique, sqlite_where=where)
