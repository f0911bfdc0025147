"""SQLite's index of what links' texts are made of: three characters each. Triggers keep it (migration 0019).

PostgreSQL has one of its own and takes it by itself; here it is asked beforehand whether a text is rare.
"""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, column, func, select, table, text

from waypost.accounts import accounts
from waypost.database import Id, Tx
from waypost.resources.links.model import links

_SCANNED = 5_000
"""Links that are searched in 1 ms, one after the other. The index is of all accounts and may take longer."""
_RARE = 1_000
"""Texts that more links have are found soon on the way through all of them."""
_TOKENS = 16
"""Of a text that has more, some from all of it: each takes its time, and what is found is compared with the text."""

_NUMBERS = table("link_numbers", column("number"), column("account_id", Id), column("link_id", Id))
_MATCHING = text("SELECT rowid FROM link_trigrams WHERE link_trigrams MATCH :tokens LIMIT :most")


async def numbers(tx: Tx, account_id: UUID, wanted: str) -> list[int] | None:
    """Of links, whosever they are, that may hold the text: all that do are among them. None where it is not rare."""
    tokens = list(dict.fromkeys(wanted[at : at + 3] for at in range(len(wanted) - 2)))
    if tx.dialect.name != "sqlite" or not tokens:
        return None
    if (await tx.scalar(select(accounts.c.links_count).where(accounts.c.id == account_id)) or 0) <= _SCANNED:
        return None
    every = " AND ".join('"' + token.replace('"', '""') + '"' for token in tokens[:: -(-len(tokens) // _TOKENS)])
    found = (await tx.execute(_MATCHING, {"tokens": every, "most": _RARE + 1})).scalars().all()
    return None if len(found) > _RARE else list(found)


def is_one_of(account_id: UUID, numbers: Sequence[int]) -> ColumnElement[bool]:
    """One parameter, however many the numbers."""
    each: Any = func.json_each(json.dumps(numbers)).table_valued("value")
    its = _NUMBERS.c.number.in_(select(each.c.value)), _NUMBERS.c.account_id == account_id
    return links.c.id.in_(select(_NUMBERS.c.link_id).where(*its))
