"""Which aliases hosts have, in memory for hosts that get many visits of unknown paths: these cost no read then."""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from waypost.kit.errors import Unavailable

_MANY = 100
"""Unknown paths until the aliases of the host are read."""
_MAX_HOSTS = 10_000
"""Hosts whose unknown paths are counted."""
_MAX_KNOWN = 1_000_000
"""Aliases in memory, 8 bytes each. For a host with more of them, unknown paths are read from the database."""


class DigestSource(Protocol):
    async def find_digests(self, host: bytes, after: bytes) -> Sequence[bytes]:
        """Return the next `path_digest`s of the host's aliases in order, a few thousand. Raises Unavailable."""


class KnownAliases:
    """The first 8 bytes of each digest of a host, in order."""

    def __init__(self, source: DigestSource) -> None:
        self._source = source
        self._known: dict[bytes, array[int]] = {}
        self._unknown: Counter[bytes] = Counter()
        self._readings: dict[bytes, object] = {}

    def excludes(self, host: bytes, digest: bytes) -> bool:
        """Return whether the host has no alias with this digest, in hexadecimal. False also if that is not known."""
        known = self._known.get(host)
        if known is None:
            return False
        start = int(digest[:16], 16)
        index = bisect_left(known, start)
        return index == len(known) or known[index] != start

    def forget(self, host: bytes) -> None:
        """A new alias of the host may be missing."""
        self._known.pop(host, None)
        self._readings.pop(host, None)

    def clear(self) -> None:
        self._known.clear()
        self._readings.clear()

    async def count_unknown(self, host: bytes) -> None:
        """Count a visit of an unknown path. Read all aliases of the host if there were many such visits."""
        if host in self._known or host in self._readings:
            return
        if len(self._unknown) >= _MAX_HOSTS:
            self._unknown.clear()
        self._unknown[host] += 1
        if self._unknown[host] >= _MANY:
            del self._unknown[host]
            await self._read(host)

    async def _read(self, host: bytes) -> None:
        reading = self._readings[host] = object()
        known, last = array("Q"), b""
        try:
            while digests := await self._source.find_digests(host, last):
                known.extend(int.from_bytes(digest[:8]) for digest in digests)
                last = digests[-1]
                if len(known) > _MAX_KNOWN:
                    return  # and do not try again until the aliases change
        except Unavailable:
            self.forget(host)
        if self._readings.get(host) is not reading:
            return  # it has a new alias
        del self._readings[host]
        if sum(map(len, self._known.values())) + len(known) > _MAX_KNOWN:
            self._known.clear()
        self._known[host] = known
