"""Rows of changes of many links from the dashboard, and the links that a change selects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import ColumnElement, select, update

from waypost.audit import Actor
from waypost.database import Database, Tx
from waypost.kit.clock import parse_timestamp, timestamp
from waypost.kit.errors import or_not_found
from waypost.resources.links import store
from waypost.resources.links.lists import listing
from waypost.resources.links.lists.query import LinkFilter
from waypost.resources.links.model import Link, bulk_changes, deleted_links

Kind = Literal["set", "delete", "replace", "restore", "retag"]
"""`retag` takes a tag from all its links, for another one or none: half of it must never stay."""
ChangeState = Literal["running", "finished", "cancelled", "failed", "undone"]

UNDO_TIME = timedelta(hours=24)
_MAX_REFUSED = 500
"""Refused links that are listed."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Links by their ids, or all that match a filter."""

    ids: Sequence[UUID] | None
    filter: LinkFilter

    def to_payload(self) -> dict[str, Any]:
        if self.ids is not None:
            return {"ids": [str(id_) for id_ in self.ids]}
        return {"filter": self.filter.to_json()}


@dataclass(frozen=True, slots=True)
class BulkChange:
    id: UUID
    account_id: UUID
    kind: Kind
    payload: Mapping[str, Any]
    """`ids` or `filter`; `set`, `find` and `replacement`, `change`, or `tag` and `to` by kind; `actor` and `entry` of
    the audit log.
    """
    state: ChangeState
    total: int
    done: int
    changed: int
    refused: Sequence[tuple[str, str]]
    """The first refused links: short URL and reason."""
    refused_count: int
    cursor: Sequence[str] | None
    step: Sequence[tuple[str, str]] | None
    created_at: datetime
    finished_at: datetime | None

    @property
    def actor(self) -> Actor:
        return Actor.from_json(self.account_id, self.payload["actor"])

    @property
    def filter(self) -> LinkFilter:
        return LinkFilter.from_json(self.payload["filter"])

    @property
    def can_be_cancelled(self) -> bool:
        return self.kind != "retag"

    def can_be_undone(self, now: datetime) -> bool:
        is_over = self.state in {"finished", "cancelled", "failed"} and self.changed > 0
        return self.kind == "delete" and is_over and now < self.created_at + UNDO_TIME


_CHANGE = select(*(bulk_changes.c[name] for name in BulkChange.__dataclass_fields__))


async def save(
    tx: Tx,
    change: BulkChange,
    done: int = 0,
    changed: int = 0,
    refused: Sequence[tuple[str, str]] = (),
    cursor: Sequence[str] | None = None,
    *,
    step: Sequence[tuple[str, str]] | None = None,
) -> None:
    """Save the progress: links `done`, `changed` and `refused` are added to those of `change`."""
    listed = [*change.refused, *refused][:_MAX_REFUSED]
    values = {"done": change.done + done, "changed": change.changed + changed, "cursor": cursor, "step": step}
    values |= {"refused": listed, "refused_count": change.refused_count + len(refused)}
    await tx.execute(update(bulk_changes).where(bulk_changes.c.id == change.id).values(values))


async def finish(tx: Tx, id_: UUID, state: ChangeState, now: datetime) -> None:
    await tx.execute(update(bulk_changes).where(bulk_changes.c.id == id_).values(state=state, finished_at=now))


async def get(tx: Tx, account: UUID, id_: UUID) -> BulkChange:
    query = _CHANGE.where(bulk_changes.c.id == id_, bulk_changes.c.account_id == account)
    return or_not_found(await tx.find(BulkChange, query))


async def lock(tx: Tx, account: UUID, id_: UUID) -> BulkChange:
    await tx.execute(select(bulk_changes.c.id).where(bulk_changes.c.id == id_).with_for_update())
    return await get(tx, account, id_)


def of_change(id_: UUID) -> ColumnElement[bool]:
    """Select the deleted links of a change."""
    return deleted_links.c.bulk_change_id == id_


async def find_deleted(tx: Tx, change: UUID, cursor: Sequence[str] | None, limit: int) -> Sequence[UUID]:
    """Return the next links that the change deleted."""
    query = select(deleted_links.c.link_id).where(of_change(change))
    if cursor:
        query = query.where(deleted_links.c.link_id > UUID(cursor[0]))
    return (await tx.scalars(query.order_by(deleted_links.c.link_id).limit(limit))).all()


async def find_next(
    db: Database, change: BulkChange, limit: int, containing: str = ""
) -> tuple[list[UUID], list[str] | None]:
    """Return the next links, and the cursor after them: None after the last ones."""
    async with db.read_long() as tx:
        if "ids" in change.payload:
            start = int(change.cursor[0]) if change.cursor else 0
            ids = [UUID(id_) for id_ in change.payload["ids"]]
            batch, end = ids[start : start + limit], start + limit
            if containing:
                batch = [link.id for link in await find_existing(tx, change.account_id, batch, containing)]
            return batch, [str(end)] if end < len(ids) else None
        after = (parse_timestamp(change.cursor[0]), UUID(change.cursor[1])) if change.cursor else None
        found = await listing.find_ids_after(
            tx, change.account_id, change.filter, change.created_at, after, limit=limit, containing=containing
        )
    if len(found) < limit:
        return [id_ for id_, _ in found], None
    last, at = found[-1]
    return [id_ for id_, _ in found], [timestamp(at), str(last)]


async def find_existing(tx: Tx, account: UUID, ids: Sequence[UUID], containing: str) -> list[Link]:
    return [link for link in await store.find_in_order(tx, account, ids) if containing in link.destination_url]
