"""Takes rows of a file in batches that are bounded by their number and by the memory that they take."""

from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

MAX_SIZE = 2 << 20
"""Bytes. The row that exceeds it is the last one of its batch."""


def take(rows: Iterator[T], count: int, size_of: Callable[[T], int], max_size: int = MAX_SIZE) -> tuple[list[T], bool]:
    """Return rows, and whether these are the last ones."""
    batch: list[T] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += size_of(row)
        if len(batch) == count or size > max_size:
            return batch, False
    return batch, True
