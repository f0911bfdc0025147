"""The file format of the bundled country data: ranges of IP addresses, small on disk and in memory, fast to load."""

import lzma
import socket
import sys
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate

_MAGIC = b"Waypost-countries-1"
_V4_MAPPED = 0xFFFF  # ::ffff:192.0.2.1

Ranges = Sequence[tuple[int, str]]
"""(first IP address, country) of each range; the first starts at 0. For IPv6, the upper half of the address only."""


@dataclass(frozen=True, slots=True)
class CountryPack:
    day: date
    countries: Sequence[str]
    starts4: "array[int]"
    owners4: bytes
    """For each range, the index of its country in `countries`."""
    starts6: "array[int]"
    owners6: bytes

    def find(self, address: str) -> str:
        """Returns the country's code, or "" if unknown. Accepts any text."""
        try:
            return self._at4(int.from_bytes(socket.inet_pton(socket.AF_INET, address)))
        except (OSError, ValueError):
            return self._find6(address)

    def _find6(self, address: str) -> str:
        try:
            number = int.from_bytes(socket.inet_pton(socket.AF_INET6, address))
        except (OSError, ValueError):
            return ""
        if number >> 32 == _V4_MAPPED:
            return self._at4(number & 0xFFFFFFFF)
        return self.countries[self.owners6[bisect_right(self.starts6, number >> 64) - 1]]

    def _at4(self, number: int) -> str:
        return self.countries[self.owners4[bisect_right(self.starts4, number) - 1]]


def write(day: date, ranges4: Ranges, ranges6: Ranges) -> bytes:
    """One line with day, countries and counts, then the ranges of IPv4 and IPv6."""
    countries = sorted({country for _, country in (*ranges4, *ranges6)})
    header = [_MAGIC, str(day).encode(), ",".join(countries).encode(), b"%d" % len(ranges4), b"%d" % len(ranges6)]
    body = [_columns(ranges4, countries, 4), _columns(ranges6, countries, 8)]
    return lzma.compress(b" ".join(header) + b"\n" + b"".join(body), preset=7 | lzma.PRESET_EXTREME)


def read(content: bytes) -> CountryPack:
    data = lzma.decompress(content)
    header_end = data.index(b"\n")
    day, countries, count4, count6 = _header(data[:header_end])
    body = memoryview(data)[header_end + 1 :]
    cut = count4 * (4 + 1)
    return CountryPack(day, countries, *_ranges(body[:cut], count4, "I"), *_ranges(body[cut:], count6, "Q"))


def read_day(content: bytes) -> date:
    """Decompresses the header only."""
    return _header(lzma.LZMADecompressor().decompress(content, 4_096).partition(b"\n")[0])[0]


def _header(line: bytes) -> tuple[date, list[str], int, int]:
    magic, day, countries, count4, count6 = line.decode().split(" ")
    if magic != _MAGIC.decode():
        raise ValueError("not a country pack")
    return date.fromisoformat(day), countries.split(","), int(count4), int(count6)


def _columns(ranges: Ranges, countries: Sequence[str], size: int) -> bytes:
    """Differences of the starts, all highest bytes first: neighbouring bytes are similar and compress well."""
    starts = [start for start, _ in ranges]
    steps = [after - before for before, after in zip([0, *starts], starts, strict=False)]
    places = {country: place for place, country in enumerate(countries)}
    planes = [bytes(step >> 8 * place & 0xFF for step in steps) for place in reversed(range(size))]
    return b"".join([*planes, bytes(places[country] for _, country in ranges)])


def _ranges(columns: memoryview, count: int, kind: str) -> "tuple[array[int], bytes]":
    size = array(kind).itemsize
    steps = array(kind, bytes(count * size))
    places = memoryview(steps).cast("B")
    for place in range(size):
        at = place if sys.byteorder == "big" else size - 1 - place
        places[at::size] = columns[place * count : (place + 1) * count]
    return array(kind, accumulate(steps)), bytes(columns[size * count :])
