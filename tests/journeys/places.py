"""Addresses with the country each is in, by a reading of our own of the data Debian installs for Tor.

Where that is not installed, or is not what the service's own pack was made from: of universities, which stay.
"""

import socket
from bisect import bisect_right
from collections.abc import Callable, Iterator
from datetime import date
from ipaddress import IPv6Address
from pathlib import Path
from random import Random

_DATA = Path("/usr/share/tor")
_NO_COUNTRIES = {"??", "AN", "AP", "CS", "EU", "UK"}
_OWN = {10, 100, 127, 169, 172, 192}  # not from the outside, in part
_UNIVERSITIES = [
    ("18.9", "US"), ("133.11", "JP"), ("129.67", "GB"), ("129.206", "DE"), ("129.132", "CH"), ("138.96", "FR"),
    ("143.107", "BR"), ("128.250", "AU"), ("129.97", "CA"), ("166.111", "CN"), ("143.248", "KR"), ("130.225", "DK"),
    ("130.237", "SE"), ("147.83", "ES"), ("131.114", "IT"), ("132.248", "MX"), ("146.141", "ZA"), ("130.216", "NZ"),
]  # fmt: skip

Place = tuple[bytes, str]
"""(address, country)"""


Ranges = tuple[list[int], list[tuple[int, str]]]
"""(first addresses, (last address, country) of each)"""


def places(chance: Random, of: date) -> Iterator[Place]:
    """Without end. Neighbours up to a /24, or a /48, are in the same country. `of`: the day of the service's pack."""
    if not _is_installed(of):
        while True:
            block, country = chance.choice(_UNIVERSITIES)
            yield f"{block}.{chance.randrange(256)}.{chance.randrange(1, 255)}".encode(), country
    old, new = (
        _read("geoip", int),
        _read("geoip6", lambda text: int.from_bytes(socket.inet_pton(socket.AF_INET6, text))),
    )
    while True:
        found = _in_version_4(chance, old) if chance.random() < 0.95 else _in_version_6(chance, new)
        if found:
            yield found


def _is_installed(of: date) -> bool:
    path = _DATA / "geoip"
    lines = path.read_text().splitlines()[:40] if path.exists() else []
    return any(line.startswith("# Generated:") and f"{of:%d %b %Y}" in line for line in lines)


def _read(name: str, number: Callable[[str], int]) -> Ranges:
    rows = [line.split(",") for line in (_DATA / name).read_text().splitlines() if line and line[0] != "#"]
    return [number(row[0]) for row in rows], [(number(row[1]), row[2]) for row in rows]


def _in_version_4(chance: Random, ranges: Ranges) -> Place | None:
    block = chance.randrange(1 << 24, 224 << 24) & ~255
    country = _country(ranges, block, block | 255)
    if country is None or block >> 24 in _OWN:
        return None
    return b"%d.%d.%d.%d" % (block >> 24, block >> 16 & 255, block >> 8 & 255, chance.randrange(1, 255)), country


def _in_version_6(chance: Random, ranges: Ranges) -> Place | None:
    starts, rest = ranges
    place = chance.randrange(len(starts))
    block = chance.randrange(starts[place], rest[place][0] + 1) >> 80 << 80
    country = _country(ranges, block, block | (1 << 80) - 1)
    if country is None:
        return None
    return str(IPv6Address(block | chance.getrandbits(64))).encode(), country


def _country(ranges: Ranges, first: int, last: int) -> str | None:
    """None where that is not stated, or not the same throughout."""
    starts, rest = ranges
    place = bisect_right(starts, first) - 1
    if place < 0:
        return None
    end, country = rest[place]
    return country if last <= end and country not in _NO_COUNTRIES else None
