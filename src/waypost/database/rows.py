"""The rows that a statement returned: tuples whose columns also have names."""

import functools
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar, TypeVarTuple

from sqlalchemy.exc import MultipleResultsFound, NoResultFound

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")

Executed = tuple[Any, Sequence[tuple[Any, ...]]]
"""The driver's cursor, and all rows."""


class NamedRow(tuple[*_Ts]):
    __slots__ = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


@functools.lru_cache(1_000)
def row_type(names: tuple[str, ...]) -> type[NamedRow[*tuple[Any, ...]]]:
    columns = {name: property(itemgetter(index)) for index, name in enumerate(names)}
    return type("NamedRow", (NamedRow,), {"__slots__": ()} | columns)


class Fetched(Generic[_T]):
    def __init__(self, rows: Sequence[_T]) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[_T]:
        return iter(self._rows)

    def all(self) -> Sequence[_T]:
        return self._rows

    def first(self) -> _T | None:
        return self._rows[0] if self._rows else None

    def one_or_none(self) -> _T | None:
        if len(self._rows) > 1:
            raise MultipleResultsFound("The statement returned several rows.")
        return self.first()

    def one(self) -> _T:
        if not self._rows:
            raise NoResultFound("The statement returned no row.")
        self.one_or_none()
        return self._rows[0]


class Result(Fetched[NamedRow[*_Ts]], Generic[*_Ts]):
    def __init__(self, rows: Sequence[NamedRow[*_Ts]], rowcount: int) -> None:
        """`rowcount`: how many rows the statement inserted, changed or deleted."""
        self._rows = rows
        self.rowcount = rowcount

    def scalars(self: "Result[_T, *tuple[Any, ...]]") -> Fetched[_T]:
        """Return the first column."""
        return Fetched([row[0] for row in self._rows])

    def scalar_one(self: "Result[_T, *tuple[Any, ...]]") -> _T:
        return self.one()[0]

    def scalar_one_or_none(self: "Result[_T, *tuple[Any, ...]]") -> _T | None:
        row = self.one_or_none()
        return None if row is None else row[0]
