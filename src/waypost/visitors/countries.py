"""Finds the country of an IP address, in the bundled data or in a MaxMind-format file of the operator.

The bundled data are ranges of IP addresses: small on disk and in memory, fast to load.

Returns ISO 3166-1 codes only: data sets also have their own codes for "Europe" or "a proxy". The bundled data is loaded
by the first lookup: an idle worker does without its 7 MB.
"""

import lzma
import socket
import sys
from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from itertools import accumulate, islice
from pathlib import Path
from typing import NamedTuple

COUNTRIES = frozenset(
    """
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC
    CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD
    GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH
    KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW
    MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC
    SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY
    UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW
    """.split()  # noqa: SIM905  # as a list literal it would take 249 lines
)
BUNDLED = Path(__file__).parent / "geo" / "countries.xz"

_CACHE_SIZE = 8_192
_CHUNK = 16_384
_MAGIC = b"Waypost-countries-1"
_V4_MAPPED = 0xFFFF  # ::ffff:192.0.2.1

Lookup = Callable[[str], str]
"""The country of an IP address. "" if it is unknown, or if the text is not an IP address."""

Ranges = Sequence[tuple[int, str]]
"""(first IP address, country) of each range; the first starts at 0. For IPv6, the upper half of the address only."""


class Countries(NamedTuple):
    of: Lookup
    day: date
    """When the data was compiled."""


def open_countries(path: Path | None) -> Countries:
    """Open the file, or the bundled data without one. Raises SettingsError for an unusable file."""
    if path:
        return _maxmind(path)
    return Countries(lru_cache(_CACHE_SIZE)(lambda address: _bundled().find(address)), data_date(None))


def _maxmind(path: Path) -> Countries:
    from waypost.visitors.maxmind import open_maxmind  # noqa: PLC0415  # few have such a file

    find, day = open_maxmind(path, COUNTRIES)
    return Countries(lru_cache(_CACHE_SIZE)(find), day)


@cache
def _bundled() -> "CountryPack":
    return read_pack(BUNDLED.read_bytes())


def data_date(path: Path | None) -> date:
    """Return when the data was compiled, without loading the bundled data. Raises SettingsError."""
    return _maxmind(path).day if path else _read_day(BUNDLED.read_bytes())


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
        """Return the country's code, or "" if unknown. Accepts any text."""
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


def write_pack(day: date, ranges4: Ranges, ranges6: Ranges) -> bytes:
    """Write one line with day, countries and counts, then the ranges of IPv4 and IPv6."""
    countries = sorted({country for _, country in (*ranges4, *ranges6)})
    header = [_MAGIC, str(day).encode(), ",".join(countries).encode(), b"%d" % len(ranges4), b"%d" % len(ranges6)]
    body = [_columns(ranges4, countries, 4), _columns(ranges6, countries, 8)]
    return lzma.compress(b" ".join(header) + b"\n" + b"".join(body), preset=7 | lzma.PRESET_EXTREME)


def read_pack(content: bytes) -> CountryPack:
    data = lzma.decompress(content)
    header_end = data.index(b"\n")
    day, countries, count4, count6 = _header(data[:header_end])
    body = memoryview(data)[header_end + 1 :]
    cut = count4 * (4 + 1)
    return CountryPack(day, countries, *_ranges(body[:cut], count4, "I"), *_ranges(body[cut:], count6, "Q"))


def _read_day(content: bytes) -> date:
    """Decompress the header only."""
    return _header(lzma.LZMADecompressor().decompress(content, 4_096).partition(b"\n")[0])[0]


def _header(line: bytes) -> tuple[date, list[str], int, int]:
    magic, day, countries, count4, count6 = line.decode().split(" ")
    if magic != _MAGIC.decode():
        raise ValueError("not a country pack")
    return date.fromisoformat(day), countries.split(","), int(count4), int(count6)


def _columns(ranges: Ranges, countries: Sequence[str], size: int) -> bytes:
    """Encode differences of the starts, all highest bytes first: neighboring bytes are similar and compress well."""
    starts = [start for start, _ in ranges]
    steps = [after - before for before, after in zip([0, *starts], starts, strict=False)]
    indexes = {country: index for index, country in enumerate(countries)}
    columns = [bytes(step >> 8 * index & 0xFF for step in steps) for index in reversed(range(size))]
    return b"".join([*columns, bytes(indexes[country] for _, country in ranges)])


def _ranges(columns: memoryview, count: int, kind: str) -> "tuple[array[int], bytes]":
    size = array(kind).itemsize
    steps = array(kind, bytes(count * size))
    step_bytes = memoryview(steps).cast("B")
    for index in range(size):
        at = index if sys.byteorder == "big" else size - 1 - index
        step_bytes[at::size] = columns[index * count : (index + 1) * count]
    starts, sums = array(kind), accumulate(steps)
    while chunk := array(kind, islice(sums, _CHUNK)):  # all at once would stop the other threads for 40 ms
        starts.extend(chunk)
    return starts, bytes(columns[size * count :])
