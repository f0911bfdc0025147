"""Finds out which column of a table has what, by its name, or as people choose it.

A page that lets people choose calls `describe` of the source `csv`: it returns a `Column` for each column, with up to
three values and the field that it is taken for. The choice goes back as the option `columns`: a list with a field of
FIELDS for each column, or "" for one that is left out. `settings` keeps and checks it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from waypost.resources.links.account_data import CSV_COLUMNS
from waypost.resources.links.lists.csv_file import TITLES

FIELDS: Mapping[str, str] = {
    "destination": "Destination URL",
    "short_url": "Short link",
    "domain": "Domain",
    "path": "Slug",
    "title": "Title",
    "tags": "Tags",
    "created_at": "Creation date",
    "expires_at": "Expiration date",
    "clicks": "Clicks",
    "status": "Status",
    "note": "Note",
    "external_id": "External ID",
    "id": "ID",
}
"""What a column may have, and how people call it."""
DATES = ("created_at", "expires_at")
_NAMES: Mapping[str, str] = {
    "destination": (
        "destinationurl destination longurl originalurl targeturl longlink redirecturl redirectto target url"
    ),
    "short_url": "shortlink shorturl bitlink link",
    "domain": "domain domainname hostname",
    "path": "slug shortcode backhalf slashtag alias custombackhalf keyword path key code",
    "title": "title name",
    "tags": "tags labels",
    "created_at": "createdat created datecreated creationdate timestamp",
    "expires_at": "expiresat expires expirationdate expirydate validuntil",
    "clicks": "clicks totalclicks clickcount visits visitcount",
    "status": "status active isactive enabled isenabled",
    "note": "note notes comment comments",
    "external_id": "externalid",
    "id": "id linkid",
}
"""Names of columns in lower case, without spaces and punctuation. The most exact one of a field comes first."""
_RANKS = {field: names.split() for field, names in _NAMES.items()}
_BY_NAME = {name: field for field, names in _RANKS.items() for name in names}


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    samples: Sequence[str]
    field: str
    """Of FIELDS; empty if the column is left out."""


@dataclass(frozen=True, slots=True)
class Description:
    """What a file is read as, before or after its rows were read."""

    columns: Sequence[Column]
    codec: str
    note: str | None
    """Why the file is read in this encoding, if that is a guess."""
    readings: Sequence[tuple[str, str, str]]
    """Of a guess: see `encodings.readings`."""


def find_field(name: str) -> str | None:
    """Return the field that a column of this name may have."""
    return _BY_NAME.get(_plain(name))


def choose_fields(header: Sequence[str]) -> list[str]:
    """Return the field of each column, or "". Of several columns for one field, the most exact name decides."""
    chosen: dict[str, int] = {}
    for index, name in enumerate(header):
        if (field := find_field(name)) and (
            field not in chosen or _rank(field, name) < _rank(field, header[chosen[field]])
        ):
            chosen[field] = index
    field_of = {index: field for field, index in chosen.items()}
    return [field_of.get(index, "") for index in range(len(header))]


def is_code(name: str) -> bool:
    """Whether a column is named `code`, which may be that of a link or of a redirect."""
    return _plain(name) == "code"


def is_own(header: Sequence[str]) -> bool:
    """Whether an export of Waypost may have written the file, also without some of its columns."""
    return any({*titles[:2]} <= {*header} <= {*titles} for titles in (TITLES, CSV_COLUMNS))


def _rank(field: str, name: str) -> int:
    return _RANKS[field].index(_plain(name))


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.lower())
