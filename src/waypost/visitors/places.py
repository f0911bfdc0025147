"""Names of the places that visitors come from: hosts and apps that people know as one, such as Facebook."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple


class Place(NamedTuple):
    name: str
    icon: str
    """Its id in `symbols/brands.svg`; empty if there is none."""


_TABLE: Final = Path(__file__).parent / "places.txt"
_OF_COUNTRY = re.compile(r"\.(?:com?\.)?[a-z]{2,3}", re.ASCII)


def _read_table() -> Iterator[tuple[str, Place]]:
    for line in _TABLE.read_text().splitlines()[1:]:
        name, icon, *hosts = line.split()
        place = Place(name.replace("_", " "), icon.strip("-"))
        yield from ((host.lower(), place) for host in hosts)


PLACES: Final = dict(_read_table())
"""By host, or package of an app, in small letters."""


def find_place(host: str) -> Place | None:
    """Return the place of a host, or of one of the domains that it is below."""
    rest = host.lower()
    while rest:
        if place := PLACES.get(rest):
            return place
        first, dot, parent = rest.partition(".")
        if _OF_COUNTRY.fullmatch(dot + parent) and (place := PLACES.get(f"{first}.*")):
            return place
        rest = parent
    return None
