"""Search by trigrams: both databases have an index of the three-character sequences of the searchable texts.

PostgreSQL uses its index by itself. That of SQLite is queried first, to see whether few links match; triggers maintain
it.
Either index reads its entry for each trigram in the query, so only a few trigrams are queried.
"""

import json
import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, bindparam, column, func, select, table, text, union_all

from waypost import accounts
from waypost.database import Id, Tx
from waypost.resources.links.model import NOT_DELETED, links

_TRIGRAMS = {
    "sqlite": re.compile(r"(?=(.{3}))", re.DOTALL),
    "postgresql": re.compile(r"(?=([^\W_]{3}))"),  # pg_trgm ignores all other characters
}
_MAX_TRIGRAMS = 4
_SAMPLE_SIZE = 25
"""Number of the newest, and of the oldest links that show which trigrams are rare."""
_MAX_COMPARED = 32
"""Trigrams that are looked up in the sample, to bound the time that the event loop waits."""
_SAMPLED_CHARACTERS = 512
_MAX_SCANNED_LINKS = 5_000
"""Links whose texts can be read in 1 ms without an index."""
_MIN_SHARE = 3
"""SQLite's index is of all accounts: for one with less than a third of all links, reading its texts is faster. Deleted
links count, too: their highest number is known without counting.
"""
_MAX_MATCHES = 1_000
"""With more matches, reading all links soon finds enough of them."""

_OWN_LINKS = links.c.account_id == bindparam("account_id", type_=Id), NOT_DELETED
_AGE = links.c.created_at, links.c.id
_SAMPLE = union_all(
    *(
        select(
            select(func.substr(links.c.search_text, 1, _SAMPLED_CHARACTERS))
            .where(*_OWN_LINKS)
            .order_by(*by_age)
            .limit(_SAMPLE_SIZE)
            .subquery()
        )
        for by_age in (_AGE, [key.desc() for key in _AGE])
    )
)
_NUMBERS = table("link_numbers", column("number"), column("account_id", Id), column("link_id", Id))
_LINK_COUNTS = select(
    accounts.links_count_subquery(bindparam("account_id", type_=Id)),
    func.coalesce(select(func.max(_NUMBERS.c.number)).scalar_subquery(), 0),
)
_MATCHING = text("SELECT rowid FROM link_trigrams WHERE link_trigrams MATCH :trigrams LIMIT :limit")


async def select_rare_trigrams(tx: Tx, account_id: UUID, searched: str) -> list[str]:
    """Return a few trigrams of the searched text: those that the fewest links of the account seem to contain."""
    trigrams = list(dict.fromkeys(_TRIGRAMS[tx.dialect.name].findall(searched)))
    trigrams = trigrams[:: -(-len(trigrams) // _MAX_COMPARED) or 1]
    if len(trigrams) > _MAX_TRIGRAMS:
        sample = (await tx.execute(_SAMPLE, {"account_id": account_id})).scalars().all()
        trigrams.sort(key=lambda trigram: sum(trigram in text for text in sample))
    return trigrams[:_MAX_TRIGRAMS]


async def find_candidates(tx: Tx, account_id: UUID, trigrams: Sequence[str]) -> list[int] | None:
    """Return the numbers of all links, of any account, that contain all of these trigrams.

    None if the index is not faster than reading the texts, and on PostgreSQL.
    """
    if tx.dialect.name != "sqlite" or not trigrams:
        return None
    own_count, total = (await tx.execute(_LINK_COUNTS, {"account_id": account_id})).one()
    if own_count <= _MAX_SCANNED_LINKS or total > _MIN_SHARE * own_count:
        return None
    quoted = " AND ".join('"' + trigram.replace('"', '""') + '"' for trigram in trigrams)
    numbers = (await tx.execute(_MATCHING, {"trigrams": quoted, "limit": _MAX_MATCHES + 1})).scalars().all()
    return None if len(numbers) > _MAX_MATCHES else list(numbers)


def match_numbers(account_id: UUID, numbers: Sequence[int]) -> ColumnElement[bool]:
    """Match the account's links with these numbers, which are passed as one parameter."""
    values: Any = func.json_each(json.dumps(numbers)).table_valued("value")
    conditions = _NUMBERS.c.number.in_(select(values.c.value)), _NUMBERS.c.account_id == account_id
    return links.c.id.in_(select(_NUMBERS.c.link_id).where(*conditions))
