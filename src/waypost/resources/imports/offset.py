"""Reads lists by offset or page number, although links are created and deleted in them meanwhile."""

from dataclasses import dataclass
from typing import Any

from waypost.resources.imports.json_fields import BadField, integer


@dataclass(frozen=True, slots=True)
class Offset:
    """Where a list is read on, counted in rows or in pages, and how many rows it had when the page before was read.

    Rows that are created move others to a later page: these are read twice. Rows that are deleted move others to an
    earlier page, so that page has to be read again.
    """

    start: int
    total: int | None = None
    """None: the source does not say."""

    @classmethod
    def parse(cls, cursor: str | None, *, first: int = 0) -> "Offset":
        if cursor is None:
            return cls(first)
        start, _, total = cursor.partition(" of ")
        return cls(int(start), int(total) if total else None)

    def __str__(self) -> str:
        return str(self.start) if self.total is None else f"{self.start} of {self.total}"

    def deleted_since(self, total: int | None) -> int:
        """Return how many rows fewer there are now."""
        return max(0, self.total - total) if self.total is not None and total is not None else 0


def total(answer: Any, name: str) -> int | None:
    """Return the number of rows that the source says it has; None for anything that is not a number."""
    try:
        return integer(answer, name) if isinstance(answer, dict) else None
    except BadField:
        return None
