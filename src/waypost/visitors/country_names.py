"""Names of countries in English, as the time zone database spells them."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files


def country_name(code: str) -> str:
    """Return the name of a country, or its code if it has none."""
    return _names().get(code, code)


@cache
def _names() -> Mapping[str, str]:
    table = (files("tzdata") / "zoneinfo" / "iso3166.tab").read_text("utf-8")
    return dict(line.split("\t") for line in table.splitlines() if not line.startswith("#"))
