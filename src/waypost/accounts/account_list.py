"""The list of all accounts, for operators. Pages by the last account shown, so that a later page costs no more."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import ColumnElement, func, literal, or_, select, tuple_

from waypost.accounts.model import Account, accounts, api_keys, memberships
from waypost.accounts.sessions.store import sessions
from waypost.accounts.store import ACCOUNT, account_from
from waypost.database import Tx, counts

AccountOrder = Literal["newest", "email", "links"]

_accounts = accounts.c
_KEYS: dict[AccountOrder, tuple[ColumnElement[Any], ...]] = {
    "newest": (_accounts.created_at, _accounts.id),
    "email": (_accounts.email,),
    "links": (_accounts.links_count, _accounts.id),
}
_IS_ASCENDING = frozenset({"email"})
_MEMBERS = select(func.count()).where(memberships.c.account_id == _accounts.id).scalar_subquery()
_LAST_SESSION = select(func.max(sessions.c.seen_at)).where(sessions.c.account_id == _accounts.id).scalar_subquery()
_LAST_KEY = select(func.max(api_keys.c.last_used_at)).where(api_keys.c.account_id == _accounts.id).scalar_subquery()
_USAGE = _accounts.links_count, _accounts.image_bytes, _MEMBERS, _LAST_SESSION, _LAST_KEY


@dataclass(frozen=True, slots=True)
class ListedAccount:
    account: Account
    links: int
    image_bytes: int
    members: int
    last_seen_at: datetime | None
    """The last use of the dashboard or of a key, as far as sessions and keys still exist."""


@dataclass(frozen=True, slots=True)
class AccountFilter:
    search: str = ""
    """Part of the email or name."""
    is_suspended: bool = False


async def count_added(tx: Tx, days: Iterable[int]) -> list[int]:
    return await counts.count_added(tx, _accounts.id, days)


async def list_ids(tx: Tx) -> Sequence[UUID]:
    return (await tx.scalars(select(_accounts.id).where(_accounts.deleted_at.is_(None)))).all()


async def list_page(
    tx: Tx, filter_: AccountFilter, order: AccountOrder, after: UUID | None, limit: int
) -> list[ListedAccount]:
    """Return the next accounts after the account `after`, or the first ones if it does not exist."""
    keys = _KEYS[order]
    is_ascending = order in _IS_ASCENDING
    query = select(_accounts.id).where(_accounts.deleted_at.is_(None), *_conditions(filter_))
    last = (await tx.execute(select(*keys).where(_accounts.id == after))).one_or_none() if after else None
    if last is not None:
        shown = tuple_(*(literal(value, key.type) for value, key in zip(last, keys, strict=True)))
        query = query.where(tuple_(*keys) > shown if is_ascending else tuple_(*keys) < shown)
    query = query.order_by(*(keys if is_ascending else (key.desc() for key in keys))).limit(limit)
    ids = list(await tx.scalars(query))  # first, or the database would find the usage of all accounts that it sorts
    found = {each.account.id: each for each in await _read(tx, ids)}
    return [found[id_] for id_ in ids]


async def find(tx: Tx, account_id: UUID) -> ListedAccount | None:
    return next(iter(await _read(tx, [account_id])), None)


async def find_emails(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, str]:
    rows = await tx.execute(select(_accounts.id, _accounts.email).where(_accounts.id.in_(ids)))
    return {row.id: row.email for row in rows}


def _conditions(filter_: AccountFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if filter_.is_suspended:
        conditions.append(_accounts.suspended_at.is_not(None))
    if text := filter_.search.strip().lower():
        columns = _accounts.email, func.lower(_accounts.name)
        conditions.append(or_(*(column.contains(text, autoescape=True) for column in columns)))
    return conditions


async def _read(tx: Tx, ids: Sequence[UUID]) -> list[ListedAccount]:
    found = []
    query = select(*ACCOUNT, *_USAGE).where(_accounts.id.in_(ids), _accounts.deleted_at.is_(None))
    for row in await tx.execute(query):
        links, image_bytes, members, *times = row[len(ACCOUNT) :]
        last_seen_at = max(filter(None, times), default=None)
        found.append(ListedAccount(account_from(*row[: len(ACCOUNT)]), links, image_bytes, members, last_seen_at))
    return found
