"""Inserts and finds thousands of rows without SQLAlchemy, for the few statements that take most of the time.

Rows contain what the drivers take: bytes for an `Id`, microseconds for an `Instant`, text for a `Json`.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Double, Integer, SmallInteger, Table, Text

from waypost.database.tables import Id, Instant, Json
from waypost.database.transaction import Tx
from waypost.kit.clock import from_microseconds, microseconds

BulkRow = tuple[Any, ...]

_SIZES = (1_000, 250, 60, 15, 4, 1)
"""Rows per statement. SQLite takes at most 32,766 parameters. The driver releases Python's global lock within a
statement and waits for it after each, so few large statements let another thread prepare the next batch.
"""

_ARRAYS: dict[type, str] = {
    BigInteger: "bigint",
    Boolean: "boolean",
    Double: "double precision",
    Id: "uuid",
    Instant: "timestamptz",
    Integer: "integer",
    Json: "jsonb",
    SmallInteger: "smallint",
    Text: "text",
}

_CONVERTERS: dict[type, Callable[[Any], Any]] = {
    Id: attrgetter("bytes"),
    Instant: microseconds,
    Json: json.JSONEncoder(ensure_ascii=False).encode,
}

Statement = tuple[str, Any]
"""SQL, and its parameters as the driver takes them."""


def to_row(table: Table, values: Mapping[str, Any]) -> BulkRow:
    """Return the row with the values by name of their columns. Columns without a value are null."""
    return tuple(
        [
            value if (value := values.get(name)) is None or convert is None else convert(value)
            for name, convert in _converters(table)
        ]
    )


@lru_cache
def _converters(table: Table) -> Sequence[tuple[str, Callable[[Any], Any] | None]]:
    return [(column.name, _CONVERTERS.get(type(column.type))) for column in table.c]


async def insert(tx: Tx, table: Table, rows: Sequence[BulkRow], *, on_conflict: str = "") -> int:
    """Insert rows, each with a value for every column of the table, in the table's order.

    `on_conflict`: the SQL clause. Without it, a conflict raises IntegrityError. Return how many rows were written.
    """
    return await execute(tx, prepare_insert(tx.dialect.name, table, rows, on_conflict=on_conflict))


def prepare_insert(dialect: str, table: Table, rows: Sequence[BulkRow], *, on_conflict: str = "") -> list[Statement]:
    """Return what `insert` executes, to compute it before the transaction."""
    if not rows:
        return []
    if dialect == "postgresql":
        return [(_insert_arrays(table, on_conflict), _arrays(table.c, rows))]
    return [  # one round trip to the connection's thread for each size
        (_insert_values(table, size, on_conflict), [tuple(chain.from_iterable(batch)) for batch in batches])
        for size, batches in groupby(_batches(rows), key=len)
    ]


async def execute(tx: Tx, statements: Iterable[Statement]) -> int:
    """Return how many rows were written."""
    return sum([(await tx.exec_driver_sql(sql, parameters)).rowcount for sql, parameters in statements])


async def find(tx: Tx, table: Table, keys: Sequence[BulkRow]) -> list[BulkRow]:
    """Return the existing rows with these primary keys, all columns; ids as bytes."""
    if tx.dialect.name == "postgresql":
        query = _select_keys(table, _unnested(table.primary_key))
        return await _find_arrays(tx, table, query, table.primary_key, keys)
    return await _find_values(tx, keys, lambda values: _select_keys(table, values))


async def find_first(tx: Tx, table: Table, prefixes: Sequence[BulkRow], *, limit: int) -> list[BulkRow]:
    """Return the existing rows whose primary key begins with one of these, at most `limit` of each; ids as bytes.

    The last column of the key, which the prefixes don't have, is an `Id`.
    """
    if tx.dialect.name == "postgresql":
        columns = list(table.primary_key)[:-1]
        query = _select_first(table, _unnested(columns), limit, _FIRST_ROWS["postgresql"])
        return await _find_arrays(tx, table, query, columns, prefixes)
    return await _find_values(tx, prefixes, lambda values: _select_first(table, values, limit, _FIRST_ROWS["sqlite"]))


async def _find_arrays(
    tx: Tx, table: Table, query: str, columns: Iterable[Column[Any]], keys: Sequence[BulkRow]
) -> list[BulkRow]:
    if not keys:
        return []
    ids = {number for number, column in enumerate(table.c) if isinstance(column.type, Id)}
    return [
        tuple(value.bytes if value and number in ids else value for number, value in enumerate(row))
        for row in await tx.exec_driver_sql(query, _arrays(columns, keys))
    ]


async def _find_values(tx: Tx, keys: Sequence[BulkRow], query: Callable[[str], str]) -> list[BulkRow]:
    found: list[BulkRow] = []
    for batch in _batches(keys):
        values = _values(len(batch[0]), len(batch))
        found += map(tuple, await tx.exec_driver_sql(query(f"VALUES {values}"), tuple(chain.from_iterable(batch))))
    return found


def _batches(rows: Sequence[BulkRow]) -> Iterator[Sequence[BulkRow]]:
    start = 0
    for size in _SIZES:
        while start + size <= len(rows):
            yield rows[start : start + size]
            start += size


@lru_cache
def _insert_values(table: Table, size: int, on_conflict: str) -> str:
    return f"{_into(table)} VALUES {_values(len(table.c), size)} {on_conflict}"


@lru_cache
def _insert_arrays(table: Table, on_conflict: str) -> str:
    return f"{_into(table)} {_unnested(table.c)} {on_conflict}"


@lru_cache
def _select_keys(table: Table, keys: str) -> str:
    """CROSS JOIN makes SQLite look up each key instead of scanning the keys for each row."""
    names = [column.name for column in table.primary_key]
    key_names = ", ".join(f"key_{name}" for name in names)
    matching = " AND ".join(f"{name} = key_{name}" for name in names)
    columns = ", ".join(table.c.keys())
    query = f"SELECT {columns} FROM keys CROSS JOIN {table.name} WHERE {matching}"  # noqa: S608  # our own names
    return f"WITH keys ({key_names}) AS ({keys}) {query}"


_FIRST_ROWS = {
    # a subquery in a join can refer to the rows before it only on PostgreSQL
    "postgresql": "LATERAL (SELECT * FROM {table} WHERE {matching} ORDER BY {last} LIMIT {limit}) AS first_rows",
    "sqlite": "{table} ON {matching} AND {last} <= coalesce(("
    "SELECT {last} FROM {table} WHERE {matching} ORDER BY {last} LIMIT 1 OFFSET {limit} - 1), {highest})",
}


@lru_cache
def _select_first(table: Table, keys: str, limit: int, rows: str) -> str:
    *names, last = table.primary_key.columns.keys()
    key_names = ", ".join(f"key_{name}" for name in names)
    matching = " AND ".join(f"{name} = key_{name}" for name in names)
    first = rows.format(table=table.name, matching=matching, last=last, limit=limit, highest=f"x'{'ff' * 16}'")
    return f"WITH keys ({key_names}) AS ({keys}) SELECT {', '.join(table.c.keys())} FROM keys CROSS JOIN {first}"  # noqa: S608  # our own names


def _values(columns: int, rows: int) -> str:
    return ", ".join([f"({', '.join('?' * columns)})"] * rows)


def _unnested(columns: Iterable[Column[Any]]) -> str:
    arrays = ", ".join(f"%s::{_ARRAYS[type(column.type)]}[]" for column in columns)
    return f"SELECT * FROM unnest({arrays})"  # noqa: S608  # see above


def _into(table: Table) -> str:
    return f"INSERT INTO {table.name} ({', '.join(table.c.keys())})"


def _arrays(columns: Iterable[Column[Any]], rows: Sequence[BulkRow]) -> tuple[str, ...]:
    return tuple(_array(column, values) for column, values in zip(columns, zip(*rows, strict=True), strict=True))


def _array(column: Column[Any], values: BulkRow) -> str:
    """Return a PostgreSQL array literal. The driver would call a Python function for each value."""
    if None in values:
        literals = iter(_literals(column, tuple(value for value in values if value is not None)))
        return f"{{{','.join('NULL' if value is None else next(literals) for value in values)}}}"
    return f"{{{','.join(_literals(column, values))}}}"


def _literals(column: Column[Any], values: BulkRow) -> Iterable[str]:
    if isinstance(column.type, Id):
        return map(bytes.hex, values)
    if isinstance(column.type, Text | Json):
        return map(_quoted, values)
    if isinstance(column.type, Instant):
        return (from_microseconds(value).isoformat() for value in values)
    return map(str, values)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", r"\\").replace('"', r"\"")
    return f'"{escaped}"'
