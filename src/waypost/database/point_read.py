"""Reads single rows on SQLite in the event loop's thread.

`RowQuery` is for statements that most requests run: on SQLite it compiles them once and runs them without SQLAlchemy,
whose part of such a statement takes several times as long as SQLite's.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection, CursorResult, Dialect, Engine, Executable, Select

from waypost.database.async_engine import AsyncConnection
from waypost.database.failures import translated

Convert = Callable[[Any], Any]


class RowQuery:
    """A statement whose condition is a unique key. Its parameters are `bindparam`s with their types."""

    def __init__(self, statement: Select[Any]) -> None:
        self.statement = statement
        self._compiled: _Compiled | None = None

    async def find(self, tx: "AsyncConnection | PointRead", parameters: Mapping[str, Any]) -> Sequence[Any] | None:
        """Return the row, or None."""
        if isinstance(tx, PointRead):
            return self._find_in_thread(tx, parameters)
        row: Sequence[Any] | None = (await tx.execute(self.statement, parameters)).one_or_none()
        return row

    def _find_in_thread(self, tx: "PointRead", parameters: Mapping[str, Any]) -> Sequence[Any] | None:
        if self._compiled is None:
            self._compiled = _Compiled(self.statement, tx.dialect)
        try:
            return self._compiled.find(tx.driver_connection(), parameters)
        except sqlite3.Error:  # SQLAlchemy wraps what it raises, and opens a connection again
            row: Sequence[Any] | None = tx.run(self.statement, parameters).one_or_none()
            return row


class _Compiled:
    """The SQL of a statement for SQLite, with what converts its parameters and its columns."""

    def __init__(self, statement: Select[Any], dialect: Dialect) -> None:
        compiled: Any = statement.compile(dialect=dialect)
        self._sql = str(compiled)
        self._parameters = [_parameter(compiled.binds[name], dialect) for name in compiled.positiontup]
        converters = [_result_converter(column.type, dialect) for column in statement.selected_columns]
        self._converters = [(index, convert) for index, convert in enumerate(converters) if convert]

    def find(self, connection: sqlite3.Connection, parameters: Mapping[str, Any]) -> Sequence[Any] | None:
        values = [value if name is None else convert(parameters[name]) for name, value, convert in self._parameters]
        rows = connection.execute(self._sql, values).fetchall()
        if not rows:
            return None
        [found] = rows
        row = list(found)
        for index, convert in self._converters:
            row[index] = convert(row[index])
        return row


def _parameter(bind: Any, dialect: Dialect) -> tuple[str | None, Any, Convert]:
    """Return the name of a parameter and what converts it; without a name, a constant of the statement."""
    convert = bind.type.dialect_impl(dialect).bind_processor(dialect) or _unchanged
    return (bind.key, None, convert) if bind.required else (None, convert(bind.effective_value), convert)


def _result_converter(type_: Any, dialect: Dialect) -> Convert | None:
    converter: Convert | None = type_.dialect_impl(dialect).result_processor(dialect, None)
    return converter


def _unchanged(value: Any) -> Any:
    return value


class PointRead:
    """A connection, opened when it is needed. Enter it for one or a few statements; each has its own snapshot."""

    def __init__(self, engine: Engine, driver_connection: Callable[[], sqlite3.Connection], url: str) -> None:
        self.dialect = engine.dialect
        self.driver_connection = driver_connection
        self._engine = engine
        self._url = url
        self._connection: Connection | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._connection:
            self._connection.close()
        if isinstance(error, Exception) and (other := translated(error, self._url)):
            raise other from error

    async def execute(self, statement: Executable, parameters: Mapping[str, Any] | None = None) -> CursorResult[Any]:
        return self.run(statement, parameters)

    def run(self, statement: Executable, parameters: Mapping[str, Any] | None = None) -> CursorResult[Any]:
        if self._connection is None:
            self._connection = self._engine.connect()
        return self._connection.execute(statement, parameters)
