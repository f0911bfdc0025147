"""The country of an IP address, from a MaxMind-format file of the operator."""

from collections.abc import Callable, Collection
from datetime import UTC, date, datetime
from functools import partial
from ipaddress import IPv6Address, ip_address
from itertools import islice
from pathlib import Path

import maxminddb

from waypost.kit.errors import SettingsError

_SETTING = "WAYPOST_GEOIP_DATABASE"
_SAMPLE_SIZE = 10_000  # networks of a file to search for a country


def open_maxmind(path: Path, known: Collection[str]) -> tuple[Callable[[str], str], date]:
    """Return what finds the country of an address, one of `known` or "", and the day when the data was compiled.

    Raises SettingsError for an unusable file.
    """
    try:
        reader = maxminddb.open_database(path)
        has_countries = any(_country(record, known) for _, record in islice(reader, _SAMPLE_SIZE))
    except (OSError, ValueError, maxminddb.InvalidDatabaseError) as error:
        reason = getattr(error, "strerror", None) or "not a MaxMind-format database, or damaged"
        raise SettingsError(f"{_SETTING}: {path}: {reason}") from None
    metadata = reader.metadata()
    if not has_countries:
        raise SettingsError(f"{_SETTING}: {path}: has no countries ({metadata.database_type}). Use a Country database.")
    return partial(_find, reader, known), datetime.fromtimestamp(metadata.build_epoch, UTC).date()


def _find(reader: maxminddb.Reader, known: Collection[str], address: str) -> str:
    try:
        ip = ip_address(address)
        mapped = ip.ipv4_mapped if isinstance(ip, IPv6Address) else None
        return _country(reader.get(mapped or ip), known)
    except (ValueError, maxminddb.InvalidDatabaseError):  # not an IP address, or a damaged part of the file
        return ""


def _country(record: object, known: Collection[str]) -> str:
    """Return the location of the IP address, otherwise the registration of its network."""
    for key in ("country", "registered_country"):
        country = record.get(key) if isinstance(record, dict) else None
        code = country.get("iso_code") if isinstance(country, dict) else None
        if isinstance(code, str) and code in known:
            return code
    return ""
