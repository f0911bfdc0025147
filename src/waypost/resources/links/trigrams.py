"""Which links may hold a text: both databases have an index of what texts are made of, three characters each.

PostgreSQL takes its own by itself. SQLite's is asked beforehand whether there are few such links; triggers keep it
(migration 0019). Either has to read what it knows of each trigram that it is asked for, so it is asked for few.
"""

import json
import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, bindparam, column, func, select, table, text, union_all

from waypost import auth
from waypost.database import Id, Tx
from waypost.resources.links.model import ALIVE, links

_TRIGRAMS = {
    "sqlite": re.compile(r"(?=(.{3}))", re.DOTALL),
    "postgresql": re.compile(r"(?=([^\W_]{3}))"),  # it knows none of other signs
}
_ENOUGH = 4
_SOME = 25
"""Links, of the newest and of the oldest each, by which rare trigrams are told from common ones."""
_COMPARED = 32
"""Trigrams that are looked for in these links, each in so many characters of a text: the event loop waits for it."""
_LOOKED_THROUGH = 512
_SCANNED = 5_000
"""Links whose texts are read in 1 ms, one after the other."""
_SHARE = 3
"""SQLite's index is of all accounts: where one has less than a third of all links, reading its own is faster. Deleted
ones count, too: numbers are all that tells how many there are without counting.
"""
_RARE = 1_000
"""A text that more links have is found soon on the way through all of them."""

_ITS = links.c.account_id == bindparam("account_id", type_=Id), ALIVE
_AGE = links.c.created_at, links.c.id
_SAMPLE = union_all(
    *(
        select(
            select(func.substr(links.c.search_text, 1, _LOOKED_THROUGH))
            .where(*_ITS)
            .order_by(*by_age)
            .limit(_SOME)
            .subquery()
        )
        for by_age in (_AGE, [each.desc() for each in _AGE])
    )
)
_NUMBERS = table("link_numbers", column("number"), column("account_id", Id), column("link_id", Id))
_HOW_MANY = select(
    auth.links_count_of(bindparam("account_id", type_=Id)),
    func.coalesce(select(func.max(_NUMBERS.c.number)).scalar_subquery(), 0),
)
_MATCHING = text("SELECT rowid FROM link_trigrams WHERE link_trigrams MATCH :trigrams LIMIT :most")


async def rarest(tx: Tx, account_id: UUID, wanted: str) -> list[str]:
    """Some trigrams of a text, those that the fewest of the account's links seem to have."""
    found = list(dict.fromkeys(_TRIGRAMS[tx.dialect.name].findall(wanted)))
    found = found[:: -(-len(found) // _COMPARED) or 1]
    if len(found) > _ENOUGH:
        some = (await tx.execute(_SAMPLE, {"account_id": account_id})).scalars().all()
        found.sort(key=lambda trigram: sum(trigram in each for each in some))
    return found[:_ENOUGH]


async def candidates(tx: Tx, account_id: UUID, wanted: Sequence[str]) -> list[int] | None:
    """Numbers of links that have all the wanted trigrams; every one of the account's is among them.

    None where the index would not be faster than to read the texts, and on PostgreSQL.
    """
    if tx.dialect.name != "sqlite" or not wanted:
        return None
    own, all_ = (await tx.execute(_HOW_MANY, {"account_id": account_id})).one()
    if own <= _SCANNED or all_ > _SHARE * own:
        return None
    matching = " AND ".join('"' + each.replace('"', '""') + '"' for each in wanted)
    found = (await tx.execute(_MATCHING, {"trigrams": matching, "most": _RARE + 1})).scalars().all()
    return None if len(found) > _RARE else list(found)


def is_one_of(account_id: UUID, numbers: Sequence[int]) -> ColumnElement[bool]:
    """One parameter, however many the numbers."""
    each: Any = func.json_each(json.dumps(numbers)).table_valued("value")
    its = _NUMBERS.c.number.in_(select(each.c.value)), _NUMBERS.c.account_id == account_id
    return links.c.id.in_(select(_NUMBERS.c.link_id).where(*its))
