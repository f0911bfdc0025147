"""SQLite's index of what links' texts are made of: three characters each. Triggers keep it (migration 0019).

PostgreSQL has one of its own and takes it by itself; here it is asked beforehand whether a text is rare.
"""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, bindparam, column, func, select, table, text

from waypost.accounts import accounts
from waypost.database import Id, Tx
from waypost.resources.links.model import links

_SCANNED = 5_000
"""Links whose texts are read in 1 ms, one after the other."""
_SHARE = 3
"""The index is of all accounts: where an account has less than a third of all links, reading its own is faster."""
_RARE = 1_000
"""A text that more links have is found soon on the way through all of them."""
_TOKENS = 8
"""Each costs up to as much as any other, and a few leave hardly more candidates than all of a long text."""

_NUMBERS = table("link_numbers", column("number"), column("account_id", Id), column("link_id", Id))
_HOW_MANY = select(
    select(accounts.c.links_count).where(accounts.c.id == bindparam("account_id", type_=Id)).scalar_subquery(),
    func.coalesce(select(func.max(_NUMBERS.c.number)).scalar_subquery(), 0),
)
_MATCHING = text("SELECT rowid FROM link_trigrams WHERE link_trigrams MATCH :tokens LIMIT :most")


async def candidates(tx: Tx, account_id: UUID, wanted: str) -> list[int] | None:
    """Numbers of links that may hold the text; all of the account's that do are among them.

    None where the index would not be faster than to read the texts.
    """
    tokens = list(dict.fromkeys(wanted[at : at + 3] for at in range(len(wanted) - 2)))
    if tx.dialect.name != "sqlite" or not tokens:
        return None
    own, all_ = (await tx.execute(_HOW_MANY, {"account_id": account_id})).one()
    if own <= _SCANNED or all_ > _SHARE * own:
        return None
    some = tokens[:: -max(1, -(-len(tokens) // _TOKENS))]
    matching = " AND ".join('"' + token.replace('"', '""') + '"' for token in some)
    found = (await tx.execute(_MATCHING, {"tokens": matching, "most": _RARE + 1})).scalars().all()
    return None if len(found) > _RARE else list(found)


def is_one_of(account_id: UUID, numbers: Sequence[int]) -> ColumnElement[bool]:
    """One parameter, however many the numbers."""
    each: Any = func.json_each(json.dumps(numbers)).table_valued("value")
    its = _NUMBERS.c.number.in_(select(each.c.value)), _NUMBERS.c.account_id == account_id
    return links.c.id.in_(select(_NUMBERS.c.link_id).where(*its))
