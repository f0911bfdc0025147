"""Finds the country of an IP address, in the bundled data or in a MaxMind-format file of the operator.

Returns ISO 3166-1 codes only: data sets also have their own codes for "Europe" or "a proxy". Loads nothing before
`open_countries`: processes that answer visitors do not need it.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from itertools import islice
from pathlib import Path
from typing import Any

import maxminddb

from waypost.kit.errors import SettingsError
from waypost.resources.clicks.intake import country_pack

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

_SETTING = "WAYPOST_GEOIP_DATABASE"
_CACHED = 8_192
_SAMPLE = 10_000  # networks of a file to search for a country

Lookup = Callable[[str], str]
"""The country of an IP address. "" if it is unknown, or if the text is not an IP address."""


class Countries:
    """`countries.of("192.0.2.1")`; see Lookup."""

    def __init__(self, find: Lookup, source: str, day: date) -> None:
        self.source = source
        self.date = day
        """When the data was compiled."""
        self.of: Lookup = lru_cache(_CACHED)(find)

    def __call__(self, address: str) -> str:
        return self.of(address)


def open_countries(path: Path | None) -> Countries:
    """Opens the file, or the bundled data without one. Raises SettingsError for an unusable file."""
    if path:
        return _maxmind(path)
    pack = country_pack.read(BUNDLED.read_bytes())
    return Countries(pack.find, "bundled", pack.day)


def data_date(path: Path | None) -> date:
    """When the data was compiled. Does not load the bundled data. Raises SettingsError."""
    return _maxmind(path).date if path else country_pack.read_day(BUNDLED.read_bytes())


def _maxmind(path: Path) -> Countries:
    try:
        reader = maxminddb.open_database(path)
        has_countries = any(_country(record) for _, record in islice(reader, _SAMPLE))
    except (OSError, ValueError, maxminddb.InvalidDatabaseError) as error:
        fault = getattr(error, "strerror", None) or "not a MaxMind-format database, or damaged"
        raise SettingsError(f"{_SETTING}: {path}: {fault}") from None
    about = reader.metadata()
    if not has_countries:
        raise SettingsError(f"{_SETTING}: {path}: has no countries ({about.database_type}). Use a Country database.")
    return Countries(_finder(reader), about.database_type, datetime.fromtimestamp(about.build_epoch, UTC).date())


def _finder(reader: maxminddb.Reader) -> Lookup:
    def find(address: str) -> str:
        try:
            return _country(reader.get(_unwrapped(address)))
        except (ValueError, maxminddb.InvalidDatabaseError):  # not an IP address, or a damaged part of the file
            return ""

    return find


def _unwrapped(address: str) -> Any:
    found = ip_address(address)
    return found.ipv4_mapped or found if isinstance(found, IPv6Address) else found


def _country(record: object) -> str:
    """The location of the IP address, otherwise the registration of its network."""
    for key in ("country", "registered_country"):
        named = record.get(key) if isinstance(record, dict) else None
        code = named.get("iso_code") if isinstance(named, dict) else None
        if isinstance(code, str) and code in COUNTRIES:
            return code
    return ""
