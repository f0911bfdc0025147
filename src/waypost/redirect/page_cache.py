"""Pages about links, rendered once for each version of a link's route, and documents of hosts."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

_MAX_BYTES = 8 << 20
_COST = 300  # bytes in addition to the page


class PageCache(Generic[T]):
    """Those that were requested last."""

    def __init__(self, size_of: Callable[[T], int], max_bytes: int = _MAX_BYTES) -> None:
        self._size_of = size_of
        self._max_bytes = max_bytes
        self._kept: OrderedDict[bytes, tuple[object, T]] = OrderedDict()
        self._size = 0

    def find(self, key: bytes, version: object) -> T | None:
        """Return the page, or None if it was rendered for another version."""
        kept = self._kept.get(key)
        if kept is None or kept[0] is not version:
            return None
        self._kept.move_to_end(key)
        return kept[1]

    def keep(self, key: bytes, version: object, page: T) -> None:
        """`version`: what the page was rendered for. While it is kept, no other object is the same."""
        self._drop(key)
        self._kept[key] = version, page
        self._size += self._size_of(page) + _COST
        while self._size > self._max_bytes:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: bytes) -> None:
        kept = self._kept.pop(key, None)
        if kept:
            self._size -= self._size_of(kept[1]) + _COST
