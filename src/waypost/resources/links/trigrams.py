"""Search by trigrams: both databases have an index of the three-character sequences of the searchable texts.

PostgreSQL uses its own by itself. SQLite's is queried first, to see whether few links match; triggers maintain it.
Either index reads its entry for each trigram in the query, so only a few trigrams are queried.
"""

import json
import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, bindparam, column, func, select, table, text, union_all

from waypost import auth
from waypost.database import Id, Tx
from waypost.resources.links.model import NOT_DELETED, links

_TRIGRAMS = {
    "sqlite": re.compile(r"(?=(.{3}))", re.DOTALL),
    "postgresql": re.compile(r"(?=([^\W_]{3}))"),  # pg_trgm ignores all other characters
}
_QUERIED = 4
_SAMPLED = 25
"""Links, the newest and the oldest ones each, that show which trigrams are rare."""
_COMPARED = 32
"""Trigrams that are looked up in the sample, to bound the time that the event loop waits."""
_SAMPLED_CHARACTERS = 512
_SCANNED = 5_000
"""Links whose texts can be read in 1 ms without an index."""
_SHARE = 3
"""SQLite's index is of all accounts: for one with less than a third of all links, reading its texts is faster. Deleted
links count, too: their highest number is known without counting.
"""
_RARE = 1_000
"""With more matches, reading all links soon finds enough of them."""

_OWN = links.c.account_id == bindparam("account_id", type_=Id), NOT_DELETED
_AGE = links.c.created_at, links.c.id
_SAMPLE = union_all(
    *(
        select(
            select(func.substr(links.c.search_text, 1, _SAMPLED_CHARACTERS))
            .where(*_OWN)
            .order_by(*by_age)
            .limit(_SAMPLED)
            .subquery()
        )
        for by_age in (_AGE, [each.desc() for each in _AGE])
    )
)
_NUMBERS = table("link_numbers", column("number"), column("account_id", Id), column("link_id", Id))
_HOW_MANY = select(
    auth.links_count_subquery(bindparam("account_id", type_=Id)),
    func.coalesce(select(func.max(_NUMBERS.c.number)).scalar_subquery(), 0),
)
_MATCHING = text("SELECT rowid FROM link_trigrams WHERE link_trigrams MATCH :trigrams LIMIT :most")


async def rarest(tx: Tx, account_id: UUID, text_: str) -> list[str]:
    """A few trigrams of a text: those that the fewest links of the account seem to contain."""
    found = list(dict.fromkeys(_TRIGRAMS[tx.dialect.name].findall(text_)))
    found = found[:: -(-len(found) // _COMPARED) or 1]
    if len(found) > _QUERIED:
        sample = (await tx.execute(_SAMPLE, {"account_id": account_id})).scalars().all()
        found.sort(key=lambda trigram: sum(trigram in each for each in sample))
    return found[:_QUERIED]


async def candidates(tx: Tx, account_id: UUID, trigrams: Sequence[str]) -> list[int] | None:
    """Numbers of all links, of any account, that contain all of these trigrams.

    None where the index would not be faster than reading the texts, and on PostgreSQL.
    """
    if tx.dialect.name != "sqlite" or not trigrams:
        return None
    own, all_ = (await tx.execute(_HOW_MANY, {"account_id": account_id})).one()
    if own <= _SCANNED or all_ > _SHARE * own:
        return None
    matching = " AND ".join('"' + each.replace('"', '""') + '"' for each in trigrams)
    found = (await tx.execute(_MATCHING, {"trigrams": matching, "most": _RARE + 1})).scalars().all()
    return None if len(found) > _RARE else list(found)


def is_one_of(account_id: UUID, numbers: Sequence[int]) -> ColumnElement[bool]:
    """Passes all numbers as one parameter."""
    each: Any = func.json_each(json.dumps(numbers)).table_valued("value")
    matches = _NUMBERS.c.number.in_(select(each.c.value)), _NUMBERS.c.account_id == account_id
    return links.c.id.in_(select(_NUMBERS.c.link_id).where(*matches))
