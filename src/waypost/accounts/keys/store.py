"""Every statement on `api_keys`."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, bindparam, case, delete, func, insert, or_, select, update

from waypost.accounts.model import ApiCaller, ApiKey, KeyMaker, accounts, api_keys, memberships, people
from waypost.accounts.store import ACCOUNT, account_from
from waypost.database import Tx
from waypost.kit.pagination import Page, PageRequest

_keys = api_keys.c
_KEY = tuple(_keys[name] for name in ApiKey.__dataclass_fields__)
_MAKER = and_(memberships.c.account_id == _keys.account_id, memberships.c.person_id == _keys.created_by)
_FIND_API_CALLER = (
    select(*ACCOUNT, *_KEY, memberships.c.role)
    .join_from(api_keys, accounts, _keys.account_id == accounts.c.id)
    .outerjoin(memberships, _MAKER)
    .where(_keys.digest == bindparam("digest"), accounts.c.deleted_at.is_(None))
)
_RECORD_USE = (
    update(api_keys)
    .where(_keys.id == bindparam("key_id"))
    .where(or_(_keys.last_used_at.is_(None), _keys.last_used_at <= bindparam("stale")))
    .values(last_used_at=bindparam("at"))
)
_NEWEST_FIRST = _keys.created_at.desc(), _keys.id.desc()


async def add_key(tx: Tx, key: ApiKey, digest: str) -> None:
    values: dict[str, Any] = {
        "id": key.id,
        "account_id": key.account_id,
        "name": key.name,
        "prefix": key.prefix,
        "digest": digest,
    }
    values |= {"created_by": key.created_by, "expires_at": key.expires_at, "created_at": key.created_at}
    await tx.execute(insert(api_keys).values(**values, scopes=list(key.scopes)))


async def revoke_key(tx: Tx, key_id: UUID, now: datetime) -> tuple[ApiKey, bool] | None:
    """Revoke the key. Return it, and whether it was not revoked yet: revoking it again changes nothing."""
    statement = update(api_keys).where(_keys.id == key_id, _keys.revoked_at.is_(None)).values(revoked_at=now)
    is_new = (await tx.execute(statement)).rowcount > 0
    key = await tx.find(_key, select(*_KEY).where(_keys.id == key_id))
    return (key, is_new) if key else None


async def revoke_keys_of_person(tx: Tx, person_id: UUID, now: datetime) -> None:
    statement = update(api_keys).where(_where_key_of_person(person_id), _keys.revoked_at.is_(None))
    await tx.execute(statement.values(revoked_at=now))


async def revoke_keys_of_member(tx: Tx, account_id: UUID, person_id: UUID, now: datetime) -> None:
    statement = update(api_keys).where(*_where_key_of_member(account_id, person_id), _keys.revoked_at.is_(None))
    await tx.execute(statement.values(revoked_at=now))


async def hand_over_keys(tx: Tx, account_id: UUID, person_id: UUID, receiver_id: UUID) -> bool:
    """Let the keys that a member made be those of another, whose role then limits them. Return False without keys."""
    statement = update(api_keys).where(*_where_key_of_member(account_id, person_id))
    return (await tx.execute(statement.values(created_by=receiver_id))).rowcount > 0


async def delete_keys(tx: Tx, account_id: UUID) -> None:
    await tx.execute(delete(api_keys).where(_keys.account_id == account_id))


async def delete_keys_of_person(tx: Tx, person_id: UUID) -> None:
    await tx.execute(delete(api_keys).where(_where_key_of_person(person_id)))


async def list_keys_of_person(tx: Tx, person_id: UUID) -> list[ApiKey]:
    rows = await tx.execute(select(*_KEY).where(_where_key_of_person(person_id)).order_by(*_NEWEST_FIRST))
    return [_key(*row) for row in rows]


async def count_usable_keys(tx: Tx, account_id: UUID, now: datetime) -> int:
    return int(await tx.scalar(_count_keys(account_id).where(_where_usable(now))) or 0)


async def list_keys_page(tx: Tx, account_id: UUID, request: PageRequest, now: datetime) -> Page[ApiKey]:
    """List usable keys first, then by age, newest first."""
    usable_first = case((_where_usable(now), 0), else_=1)
    query = select(*_KEY).where(_keys.account_id == account_id).order_by(usable_first, *_NEWEST_FIRST)
    rows = await tx.execute(query.offset(request.offset).limit(request.per_page))
    return Page([_key(*row) for row in rows], int(await tx.scalar(_count_keys(account_id)) or 0), request)


async def find_key(tx: Tx, account_id: UUID, key_id: UUID) -> ApiKey | None:
    return await tx.find(_key, select(*_KEY).where(_keys.account_id == account_id, _keys.id == key_id))


async def list_keys(tx: Tx, account_id: UUID) -> list[ApiKey]:
    """List all keys, newest first, revoked and expired ones included."""
    rows = await tx.execute(select(*_KEY).where(_keys.account_id == account_id).order_by(*_NEWEST_FIRST))
    return [_key(*row) for row in rows]


async def find_key_makers(tx: Tx, key_ids: Sequence[UUID]) -> dict[UUID, KeyMaker]:
    """Return by the key's id the people who made keys. Commands made the other keys."""
    columns = _keys.id, people.c.name, memberships.c.role
    query = select(*columns).join_from(api_keys, people, people.c.id == _keys.created_by).outerjoin(memberships, _MAKER)
    rows = await tx.execute(query.where(_keys.id.in_(key_ids)))
    return {key_id: KeyMaker(name, role) for key_id, name, role in rows}


async def find_api_caller(tx: Tx, digest: str) -> ApiCaller | None:
    """Read key, account and the role of the key's maker in one statement: every API request runs it.

    The key of a person who is no longer a member is no key.
    """
    row = (await tx.execute(_FIND_API_CALLER, {"digest": digest})).one_or_none()
    if row is None:
        return None
    *fields, role = row
    key = _key(*fields[len(ACCOUNT) :])
    if key.created_by is not None and role is None:
        return None
    return ApiCaller(account_from(*fields[: len(ACCOUNT)]), key, role)


async def record_uses(tx: Tx, uses: Mapping[UUID, datetime], *, at_most_every: timedelta) -> None:
    """Record the last uses. If several processes saw the same key within the interval, the first to write wins."""
    # sorted: two processes that used the same keys wait for each other in the same order
    rows = [{"key_id": key_id, "at": at, "stale": at - at_most_every} for key_id, at in sorted(uses.items())]
    await tx.execute(_RECORD_USE, rows)


def _key(key_id: UUID, account_id: UUID, name: str, prefix: str, scopes: Sequence[str], *others: Any) -> ApiKey:
    return ApiKey(key_id, account_id, name, prefix, tuple(scopes), *others)


def _count_keys(account_id: UUID) -> Select[int]:
    return select(func.count()).select_from(api_keys).where(_keys.account_id == account_id)


def _where_key_of_person(person_id: UUID) -> ColumnElement[bool]:
    """Match the keys that the person made, and those that a command made for accounts that the person owns."""
    owned = select(memberships.c.account_id).where(memberships.c.person_id == person_id, memberships.c.role == "owner")
    return or_(_keys.created_by == person_id, and_(_keys.created_by.is_(None), _keys.account_id.in_(owned)))


def _where_key_of_member(account_id: UUID, person_id: UUID) -> tuple[ColumnElement[bool], ...]:
    return _keys.account_id == account_id, _keys.created_by == person_id


def _where_usable(now: datetime) -> ColumnElement[bool]:
    """`ApiKey.is_usable` as SQL."""
    return and_(_keys.revoked_at.is_(None), or_(_keys.expires_at.is_(None), _keys.expires_at > now))
