"""A set of addresses that may contain others by mistake, in two to four bytes each: a Bloom filter with two probes.

It answers most questions about addresses that do not exist without the database.
"""

from collections.abc import Iterable
from typing import Final

_MIN_BYTES: Final = 1 << 13
_MAX_BYTES: Final = 1 << 26
_BYTES_PER_ADDRESS: Final = 2
MAX_ADDRESSES: Final = _MAX_BYTES // _BYTES_PER_ADDRESS
"""With more of them, too many answers would be wrong."""


class AddressFilter:
    def __init__(self, expected: int) -> None:
        """`expected`: number of addresses. With twice as many, `is_full` says so."""
        size = _MIN_BYTES
        while size < expected * _BYTES_PER_ADDRESS and size < _MAX_BYTES:
            size *= 2
        self._bits = bytearray(size)
        self._mask = size - 1
        self._added = 0

    @property
    def is_full(self) -> bool:
        """Whether it has so many addresses that a larger one should replace it."""
        return self._added * _BYTES_PER_ADDRESS > 2 * len(self._bits)

    @property
    def size(self) -> int:
        """In bytes."""
        return len(self._bits)

    def add(self, address: bytes) -> None:
        if address not in self:
            self.add_hashes((hash(address),))

    def add_hashes(self, hashes: Iterable[int]) -> None:
        """`hashes`: what `hash` of this process returns for the addresses."""
        bits, mask = self._bits, self._mask
        for number in hashes:
            bits[number >> 3 & mask] |= 1 << (number & 7)
            bits[number >> 35 & mask] |= 1 << (number >> 32 & 7)
            self._added += 1

    def __contains__(self, address: bytes) -> bool:
        """Return False only for an address that was not added."""
        number = hash(address)
        if not self._bits[number >> 3 & self._mask] & 1 << (number & 7):
            return False
        return bool(self._bits[number >> 35 & self._mask] & 1 << (number >> 32 & 7))
