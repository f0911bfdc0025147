"""SQL of the audit log: writes entries, and finds those of a page without reading many others."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, delete, func, insert, literal, select, tuple_, update

from waypost.audit.actions import AuditAction
from waypost.audit.changes import MAX_TEXT, shorten
from waypost.audit.model import Actor, AuditEntry, Changes, Item, audit_entries
from waypost.database import Id, NamedRow, Tx
from waypost.kit.clock import microseconds
from waypost.kit.ids import first_id, new_id

MAX_SCANNED = 5_000
"""Entries that are read for a page whose filters have no index."""
_RECENT = 1_000
_MAX_CHANGES = 30
_LOWEST, _HIGHEST = UUID(int=0), UUID(int=(1 << 128) - 1)
_INDEXED = ("item_id", "actor_id", "action")  # the first one of a filter is used
_FILTERED = (*_INDEXED, "actor_type")
_NO_ITEM = Item()

_entries = audit_entries.c
_COLUMNS = tuple(_entries)
_INSERT = insert(audit_entries)


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """What is None matches all. `since` is included, `until` is not."""

    actor_id: UUID | None = None
    actor_type: str | None = None
    action: str | None = None
    item_id: UUID | None = None
    text: str | None = None
    """In the item's name, in any case."""
    since: datetime | None = None
    until: datetime | None = None


async def record(
    tx: Tx,
    actor: Actor,
    action: AuditAction,
    now: datetime,
    item: Item = _NO_ITEM,
    *,
    changes: Changes | None = None,
    details: Mapping[str, Any] | None = None,
    entry_id: UUID | None = None,
) -> None:
    """Write an entry in the transaction of the change. Never pass a secret.

    `changes`: see `changes.compare`. Those beyond the first ones are left out. `entry_id`: a `new_entry_id(now)`.
    """
    row = {
        "account_id": actor.account_id,
        "id": entry_id or new_entry_id(now),
        "at": now,
        "actor_type": actor.type,
        "actor_id": actor.id,
        "actor_name": shorten(actor.name, MAX_TEXT),
        "ip": actor.ip or None,
        "action": action,
        "item_id": item.id,
        "item": shorten(item.name, MAX_TEXT),
        "changes": dict(list(changes.items())[:_MAX_CHANGES]) if changes else None,
        "details": _bounded(details) if details else None,
    }
    await tx.execute(_INSERT, row)


async def record_progress(
    tx: Tx,
    entry_id: UUID,
    actor: Actor,
    action: AuditAction,
    at: datetime,
    item: Item = _NO_ITEM,
    *,
    details: Mapping[str, Any],
) -> None:
    """Write the entry of a change in several transactions, of which only one runs at a time, or add details to it.

    `entry_id`: a `new_entry_id(at)`.
    """
    own = _entries.account_id == actor.account_id, _entries.id == entry_id
    written = (await tx.execute(select(_entries.details).where(*own))).one_or_none()
    if written is None:
        await record(tx, actor, action, at, item, details=details, entry_id=entry_id)
    else:
        merged = {**(written.details or {}), **details}
        await tx.execute(update(audit_entries).where(*own).values(details=merged or None))


def new_entry_id(at: datetime) -> UUID:
    """Return a UUIDv7 of that time, to the microsecond: entries are found and sorted by their ids."""
    fraction = microseconds(at) % 1_000 << 2
    return UUID(int=first_id(at).int | 0x7 << 76 | fraction << 64 | new_id().int & (1 << 64) - 1)


async def list_before(
    tx: Tx, account_id: UUID, filter_: AuditFilter, before: UUID | None, *, limit: int
) -> tuple[list[AuditEntry], UUID | None]:
    """Return entries before `before`, newest first, and the `before` of the next page if there is one.

    An index finds the entries by one filter. Others are applied to at most `MAX_SCANNED` of these entries, so that a
    page can have few or no entries and still a next page.
    """
    values = {name: value for name in _FILTERED if (value := getattr(filter_, name)) is not None}
    index = next((name for name in _INDEXED if name in values), None)
    query = _newest_first(account_id, index, values.pop(index) if index else None, filter_, before)
    is_scan = bool(values or filter_.text)
    window = query.limit(MAX_SCANNED if is_scan else limit + 1).subquery()
    conditions = [window.c[name] == value for name, value in values.items()]
    if filter_.text:
        conditions.append(_contains(window.c.item, filter_.text, tx.dialect.name))
    ids = list(await tx.scalars(select(window.c.id).where(*conditions).order_by(window.c.id.desc()).limit(limit + 1)))
    rows = await tx.execute(  # by their ids: in one statement SQLite would read all columns of the window
        select(*_COLUMNS).where(_entries.account_id == account_id, _entries.id.in_(ids)).order_by(_entries.id.desc())
    )
    entries = [_entry(row) for row in rows]
    if len(entries) > limit:
        return entries[:limit], entries[limit - 1].id
    last_scanned = query.with_only_columns(_entries.id).offset(MAX_SCANNED - 1).limit(1)
    return entries, (await tx.execute(last_scanned)).scalar_one_or_none() if is_scan else None


async def find_newest_of(tx: Tx, account_id: UUID, actor_id: UUID) -> Actor | None:
    """Return the person or key as the newest entry names it."""
    entries, _ = await list_before(tx, account_id, AuditFilter(actor_id=actor_id), None, limit=1)
    return entries[0].actor if entries else None


async def list_recent_actors(tx: Tx, account_id: UUID) -> list[Actor]:
    """Return who made the newest `_RECENT` changes: each person, key, command and so on once."""
    columns = (_entries.actor_type, _entries.actor_id, _entries.actor_name)
    newest = select(*columns).where(_entries.account_id == account_id).order_by(_entries.id.desc()).limit(_RECENT)
    rows = await tx.execute(select(newest.subquery()).distinct())
    return list({(row.actor_type, row.actor_id): Actor(account_id, *row) for row in rows}.values())


async def delete_some(tx: Tx, account_id: UUID, limit: int, *, before: datetime | None = None) -> int:
    """Delete the oldest entries of an account, if they are from before that time. Return how many."""
    query = select(_entries.id).where(_entries.account_id == account_id)
    if before is not None:
        query = query.where(_entries.id < first_id(before))
    ids = list(await tx.scalars(query.order_by(_entries.id).limit(limit)))
    if ids:
        await tx.execute(delete(audit_entries).where(_entries.account_id == account_id, _entries.id.in_(ids)))
    return len(ids)


async def find_oldest_after(tx: Tx, account_id: UUID) -> tuple[UUID, datetime] | None:
    """Return the next account that has entries, in the order of ids, and the time of its oldest one."""
    query = select(_entries.account_id, _entries.at).where(_entries.account_id > account_id)
    row = (await tx.execute(query.order_by(_entries.account_id, _entries.id).limit(1))).first()
    return None if row is None else (row.account_id, row.at)


def _bounded(details: Mapping[str, Any]) -> dict[str, Any]:
    return {name: shorten(value) if isinstance(value, str) else value for name, value in details.items()}


def _newest_first(
    account_id: UUID, index: str | None, value: Any, filter_: AuditFilter, before: UUID | None
) -> Select[Any]:
    """Select entries by the index that begins with the account and the column `index`.

    The column is compared as a range with the id. If it were compared for equality, the databases could ignore this
    index, and read all entries of the account for the few of a rare value.
    """
    first = first_id(filter_.since) if filter_.since else _LOWEST
    end = min(first_id(filter_.until) if filter_.until else _HIGHEST, before or _HIGHEST)
    query = select(*(_entries[name] for name in ("id", *_FILTERED, "item"))).where(_entries.account_id == account_id)
    if index is None:
        return query.where(_entries.id >= first, _entries.id < end).order_by(_entries.id.desc())
    columns, type_ = (_entries[index], _entries.id), _entries[index].type
    lower, upper = (tuple_(literal(value, type_), literal(id_, Id)) for id_ in (first, end))
    return query.where(tuple_(*columns) >= lower, tuple_(*columns) < upper).order_by(*(each.desc() for each in columns))


def _contains(column: ColumnElement[str], text: str, dialect: str) -> ColumnElement[bool]:
    find = func.strpos if dialect == "postgresql" else func.instr
    return find(func.lower(column), text.lower()) > 0


def _entry(row: NamedRow[Any]) -> AuditEntry:
    actor = Actor(row.account_id, row.actor_type, row.actor_id, row.actor_name, row.ip)
    item = Item(row.item_id, row.item)
    return AuditEntry(row.id, row.at, actor, row.action, item, row.changes or {}, row.details or {})
