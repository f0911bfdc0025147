"""Any number of ids or rows, some at a time."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar, TypeVarTuple

from sqlalchemy import ColumnElement, Select

from waypost.database.rows import NamedRow
from waypost.database.transaction import Tx

_T = TypeVar("_T")
_C = TypeVarTuple("_C")


def batches_of(entries: Iterable[_T], size: int = 500) -> Iterator[Sequence[_T]]:
    """Divide the entries. `size`: by default as many as are the parameters of one statement."""
    remaining = list(entries)
    return (remaining[start : start + size] for start in range(0, len(remaining), size))


async def rows_with(
    tx: Tx, query: Select[*_C], column: ColumnElement[Any], values: Iterable[Any]
) -> list[NamedRow[*_C]]:
    """Return the rows in which the column has one of the values, which may be any number."""
    return [row for batch in batches_of(values) for row in await tx.execute(query.where(column.in_(batch)))]


async def read_in_batches(
    read: Callable[[], AbstractAsyncContextManager[Tx]], query: Select[*_C], key: ColumnElement[Any], size: int
) -> AsyncIterator[Sequence[NamedRow[*_C]]]:
    """Yield the rows of a query in the order of its first column, `key`. Each batch has a transaction of its own.

    `read`: such as `db.read`. Rows with equal keys may be left out.
    """
    page, after, is_last = query.order_by(key).limit(size), None, False
    while not is_last:
        async with read() as tx:
            rows: Sequence[Any] = (await tx.execute(page if after is None else page.where(key > after))).all()
        if rows:
            yield rows
            after = rows[-1][0]
        is_last = len(rows) < size
