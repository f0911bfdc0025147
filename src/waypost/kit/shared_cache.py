"""The least recently used entries are dropped, but nobody can evict those of others by having very many."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SharedCache(Generic[K, V]):
    """Entries of several owners up to a total size.

    An owner may fill it while there is space. When it is full, an owner with more than `share` loses its own oldest
    entry for a new one, and all others evict the oldest of all.
    """

    def __init__(self, limit: int, share: int) -> None:
        self._limit = limit
        self._share = share
        self._size = 0
        self._entries: OrderedDict[K, tuple[V, int, Hashable]] = OrderedDict()
        self._owned: dict[Hashable, OrderedDict[K, None]] = {}
        self._sizes: dict[Hashable, int] = {}

    def get(self, key: K) -> V | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        self._owned[entry[2]].move_to_end(key)
        return entry[0]

    def put(self, key: K, value: V, *, size: int, owner: Hashable) -> None:
        if key in self._entries:
            self._remove(key)
        self._entries[key] = value, size, owner
        self._owned.setdefault(owner, OrderedDict())[key] = None
        self._sizes[owner] = self._sizes.get(owner, 0) + size
        self._size += size
        while self._size > self._limit:
            is_over = self._sizes.get(owner, 0) > self._share
            self._remove(next(iter(self._owned[owner] if is_over else self._entries)))

    def _remove(self, key: K) -> None:
        _, size, owner = self._entries.pop(key)
        self._size -= size
        self._sizes[owner] -= size
        del self._owned[owner][key]
        if not self._owned[owner]:
            del self._owned[owner], self._sizes[owner]
