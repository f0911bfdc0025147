"""Changes of many links from the dashboard: started on a page, done in short steps, at once or by a job.

A step is one transaction with its progress, so that a process can die at any time and no link is changed twice.
A deletion takes effect at once and can be undone until `UNDO_TIME` is over; then what is left of the links is deleted.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import delete, insert, select, update

from waypost import auth
from waypost.database import Database, Tx, upsert
from waypost.kit.clock import Clock, parse_timestamp, timestamp
from waypost.kit.errors import Invalid, NotFound, Problems, Unavailable, or_not_found
from waypost.kit.fair_queue import TimeBudget
from waypost.kit.urls import BadUrl, canonical
from waypost.resources import aliases, domains
from waypost.resources.links import bulk, listing, rules, service, store
from waypost.resources.links.deps import Deps
from waypost.resources.links.listing import LinkFilter
from waypost.resources.links.media import ImageStore
from waypost.resources.links.model import COLUMNS, Link, bulk_changes, deleted_links, links
from waypost.resources.links.schemas import LinkChange
from waypost.resources.links.work import CHANGE_JOB, PURGE_JOB
from waypost.worker import jobs
from waypost.worker.jobs import Job

Kind = Literal["set", "delete", "replace", "restore"]
State = Literal["running", "finished", "cancelled", "failed", "undone"]

UNDO_TIME = timedelta(hours=24)
MAX_NOW = 100
"""More links than this are changed by a job."""
STEP = 100
_TIME_LIMIT = 30.0  # seconds of one job; a new job continues afterwards
_REPLACED_AT_A_TIME = 4  # as many destinations are checked for an account; together they take less than a job may
_MAX_REFUSED = 500
"""Refused links that are listed."""

SLUG_USED_AGAIN = "Another link uses its slug now."
BUSY = "Another change of many links is running. Wait until it has finished, or cancel it."


@dataclass(frozen=True, slots=True)
class Selection:
    """Links by their ids, or all that match a filter."""

    ids: Sequence[UUID] | None
    filter: LinkFilter

    def to_payload(self) -> dict[str, Any]:
        if self.ids is not None:
            return {"ids": [str(id_) for id_ in self.ids]}
        return {"filter": {name: getattr(self.filter, name) for name in LinkFilter.__dataclass_fields__}}


@dataclass(frozen=True, slots=True)
class BulkChange:
    id: UUID
    account_id: UUID
    kind: Kind
    payload: Mapping[str, Any]
    """`ids` or `filter`; `set`, `find` and `replacement`, or `change` by kind."""
    state: State
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
    def filter(self) -> LinkFilter:
        return LinkFilter(**self.payload["filter"])

    def can_be_undone(self, now: datetime) -> bool:
        is_over = self.state in {"finished", "cancelled", "failed"} and self.changed > 0
        return self.kind == "delete" and is_over and now < self.created_at + UNDO_TIME


_CHANGE = select(*(bulk_changes.c[name] for name in BulkChange.__dataclass_fields__))


async def get(deps: Deps, account: UUID, id_: UUID) -> BulkChange:
    """Raises NotFound."""
    async with deps.db.read() as tx:
        return await _get(tx, account, id_)


async def count(deps: Deps, account: UUID, selection: Selection, containing: str = "") -> int:
    """Count the links of the selection. `containing`: a text in the destination."""
    async with deps.db.read_for(account) as tx:
        if selection.ids is None:
            return await listing.count_matching(tx, account, selection.filter, deps.clock(), containing=containing)
        return len(await _existing(tx, account, selection.ids, containing))


async def find_first(
    deps: Deps, account: UUID, selection: Selection, limit: int, containing: str = ""
) -> Sequence[Link]:
    """Return the first links of the selection."""
    async with deps.db.read_for(account) as tx:
        if selection.ids is None:
            found = await listing.find_ids_after(
                tx, account, selection.filter, deps.clock(), None, limit=limit, containing=containing
            )
            return await _in_order(tx, account, [id_ for id_, _ in found])
        return (await _existing(tx, account, selection.ids, containing))[:limit]


async def start(
    deps: Deps, account: UUID, id_: UUID, kind: Kind, selection: Selection, values: Mapping[str, Any]
) -> BulkChange:
    """Start a change once per `id_`, and run it now if it is of few links. Raises Invalid while another one runs."""
    containing = values["find"] if kind == "replace" else ""
    total = await count(deps, account, selection, containing)
    payload = selection.to_payload() | dict(values)
    return await _start(deps, account, id_, kind, payload, total, is_now=total <= MAX_NOW and kind != "replace")


async def undo(deps: Deps, account: UUID, id_: UUID, deletion: UUID) -> BulkChange:
    """Restore the links that a change deleted. Raises NotFound if that is not possible any more."""
    change = await get(deps, account, deletion)
    if not change.can_be_undone(deps.clock()):
        raise NotFound
    payload = {"change": str(deletion)}
    return await _start(deps, account, id_, "restore", payload, change.changed, is_now=change.changed <= MAX_NOW)


async def cancel(deps: Deps, account: UUID, id_: UUID) -> None:
    """Stop after the current step."""
    async with deps.db.write() as tx:
        if (await _lock(tx, account, id_)).state == "running":
            await _finish(tx, id_, "cancelled", deps.clock())


def replaced(link: Link, find: str, replacement: str, base_url: str) -> str:
    """Return the destination with the text replaced. UTM parameters stay. Raises BadUrl."""
    url = canonical(link.destination_url.replace(find, replacement))
    change = LinkChange(destination_url=url.text)
    return rules.apply_change(link, change, url, domain=None, image=None, base_url=base_url).destination_url


async def run(deps: Deps, job: Job) -> None:
    """Handle the job: continue the change until it has finished or time is up."""
    id_, account = UUID(job.payload["id"]), job.account_id
    if account is None:
        return
    end = time.monotonic() + _TIME_LIMIT
    try:
        is_running = True
        while is_running and time.monotonic() < end:
            is_running = await _step(deps, account, id_)
    except NotFound:  # the account was deleted
        return
    except Exception:
        if job.attempt >= job.max_attempts:
            async with deps.db.write() as tx:
                await _finish(tx, id_, "failed", deps.clock())
        raise
    if is_running:
        async with deps.db.write() as tx:
            await jobs.enqueue(tx, CHANGE_JOB, {"id": str(id_)}, now=deps.clock(), account_id=account)


async def purge(deps: Deps, job: Job) -> None:
    """Handle the job: delete a change, and what is left of the links that it deleted."""
    if job.account_id is not None:
        await _delete_change(deps.db, deps.image_store, deps.clock, job.account_id, UUID(job.payload["id"]))


async def delete_all(db: Database, image_store: ImageStore, clock: Clock, account: UUID) -> None:
    """Delete the changes of a deleted account."""
    async with db.read() as tx:
        ids = (await tx.scalars(select(bulk_changes.c.id).where(bulk_changes.c.account_id == account))).all()
    for id_ in ids:
        await _delete_change(db, image_store, clock, account, id_)


async def _delete_change(db: Database, image_store: ImageStore, clock: Clock, account: UUID, id_: UUID) -> None:
    is_more_left = True
    while is_more_left:
        async with db.write() as tx:
            ids = await _hidden_ids(tx, id_, None, STEP)
            hidden = await store.find_hidden(tx, account, ids)
            await service.clean_up_deleted(tx, account, hidden, clock())
            await tx.execute(delete(deleted_links).where(_of_change(id_), deleted_links.c.link_id.in_(ids)))
            is_more_left = len(ids) == STEP
            if not is_more_left:
                await tx.execute(delete(bulk_changes).where(bulk_changes.c.id == id_))
        for link in hidden:
            await image_store.delete(link.og_image_file_name)


async def _start(
    deps: Deps, account: UUID, id_: UUID, kind: Kind, payload: Mapping[str, Any], total: int, *, is_now: bool
) -> BulkChange:
    now = deps.clock()
    row: dict[str, Any] = {"id": id_, "account_id": account, "kind": kind, "payload": dict(payload), "state": "running"}
    row |= {"total": total, "done": 0, "changed": 0, "refused": [], "refused_count": 0, "created_at": now}
    async with deps.db.write() as tx:
        statement = upsert(tx, bulk_changes).values(row).on_conflict_do_nothing(index_elements=[bulk_changes.c.id])
        is_new = (await tx.execute(statement.returning(bulk_changes.c.id))).one_or_none() is not None
        if is_new and not is_now:
            await auth.lock_account(tx, account)  # one at a time
            if await tx.scalar(select(bulk_changes.c.id).where(*_running(account), bulk_changes.c.id != id_).limit(1)):
                raise Invalid({"body": [BUSY]})
        if is_new:
            # also if it runs now, in case this process dies
            run_at = now + timedelta(minutes=1) if is_now else now
            await jobs.enqueue(tx, CHANGE_JOB, {"id": str(id_)}, now=now, run_at=run_at, account_id=account)
            purge_at = now + UNDO_TIME + timedelta(hours=1)
            await jobs.enqueue(tx, PURGE_JOB, {"id": str(id_)}, now=now, run_at=purge_at, account_id=account)
    while is_new and is_now and await _step(deps, account, id_):
        pass
    return await get(deps, account, id_)


async def _step(deps: Deps, account: UUID, id_: UUID) -> bool:
    """Change the next links. Return whether more may be left."""
    change = await get(deps, account, id_)
    if change.state != "running":
        return False
    steps: Mapping[Kind, Callable[[Deps, BulkChange], Awaitable[bool]]] = {
        "set": _set_next,
        "delete": _delete_next,
        "replace": _replace_next,
        "restore": _restore_next,
    }
    try:
        return await steps[change.kind](deps, change)
    except Invalid as error:  # such as a domain that was deleted meanwhile
        async with deps.db.write() as tx:
            await _save(tx, change, refused=[("", error.details)])
            await _finish(tx, id_, "failed", deps.clock())
        return False


async def _set_next(deps: Deps, change: BulkChange) -> bool:
    ids, cursor = await _next_ids(deps, change, STEP)
    checked = await bulk.check_set(deps, change.account_id, change.payload["set"], Problems())
    async with _progress(deps, change) as tx:
        before = await store.lock_all(tx, change.account_id, ids)
        results, slugs = await bulk.change_in(deps, tx, change.account_id, ids, checked)
        refused = [
            (_address(deps, before[id_]), " ".join(text for texts in result.values() for text in texts))
            for id_, result in zip(ids, results, strict=True)
            if isinstance(result, dict)
        ]
        await _save(tx, change, len(ids), results.count("updated"), refused, cursor)
        if not cursor:
            await _finish(tx, change.id, "finished", deps.clock())
    deps.invalidate_routes(slugs)
    return cursor is not None


async def _delete_next(deps: Deps, change: BulkChange) -> bool:
    ids, cursor = await _next_ids(deps, change, STEP)
    async with _progress(deps, change) as tx:
        found = list((await store.lock_all(tx, change.account_id, ids)).values())
        slugs, now = [link.slug for link in found], deps.clock()
        await store.hide(tx, found, now)
        if found:
            rows = [{"bulk_change_id": change.id, "link_id": link.id} for link in found]
            await tx.execute(insert(deleted_links), rows)
        await store.record_route_changes(tx, slugs, now)
        await _save(tx, change, len(ids), len(found), [], cursor)
        if not cursor:
            await _finish(tx, change.id, "finished", now)
    deps.invalidate_routes(slugs)
    return cursor is not None


async def _restore_next(deps: Deps, change: BulkChange) -> bool:
    deletion = UUID(change.payload["change"])
    async with _progress(deps, change) as tx:
        ids = await _hidden_ids(tx, deletion, change.cursor, STEP)
        hidden = await store.find_hidden(tx, change.account_id, ids)
        restored, now = await store.unhide(tx, hidden), deps.clock()
        refused = [(_address(deps, link), SLUG_USED_AGAIN) for link in hidden if link not in restored]
        if restored:
            own = _of_change(deletion), deleted_links.c.link_id.in_([link.id for link in restored])
            await tx.execute(delete(deleted_links).where(*own))
            # the domain of a link may be gone: it is on the shared domain then
            await domains.change_links_counts(tx, [(None, link.domain_id) for link in restored if link.hostname])
            await auth.adjust_links_count(tx, change.account_id, len(restored))
        with_aliases = await aliases.find_of_links(tx, [link.id for link in restored])
        routes = [link.slug for link in restored]
        routes += sorted({alias.hostname for of_link in with_aliases.values() for alias in of_link})
        await store.record_route_changes(tx, routes, now)
        cursor = [str(ids[-1])] if len(ids) == STEP else None
        await _save(tx, change, len(ids), len(restored), refused, cursor)
        if not cursor:
            await _finish(tx, change.id, "finished", now)
            await _finish(tx, deletion, "undone", now)
    deps.invalidate_routes(routes)
    return cursor is not None


async def _replace_next(deps: Deps, change: BulkChange) -> bool:
    """Replace in a few links. What each becomes is stored first: a repeated step must not replace in its own result."""
    if change.step is None:
        return await _plan_replacements(deps, change)
    async with deps.db.read() as tx:
        caller = auth.Caller(or_not_found(await auth.find_account(tx, change.account_id)))
        ids = [UUID(id_) for id_, _ in change.step]
        found = {link.id: link for link in await _in_order(tx, change.account_id, ids)}

    async def change_one(id_: UUID, destination: str) -> str | None:
        """Return why it was refused, or None."""
        try:
            wait = TimeBudget(10)
            await service.change(deps, caller, id_, LinkChange(destination_url=destination), Problems(), wait=wait)
        except Invalid as error:
            return " ".join(text for texts in error.errors.values() for text in texts)
        except NotFound:
            return None
        except Unavailable as error:
            return error.message
        return None

    steps = [(UUID(id_), destination) for id_, destination in change.step if UUID(id_) in found]
    reasons = await asyncio.gather(*(change_one(id_, destination) for id_, destination in steps))
    refused = [(_address(deps, found[id_]), reason) for (id_, _), reason in zip(steps, reasons, strict=True) if reason]
    async with _progress(deps, change) as tx:
        await _save(tx, change, len(steps), len(steps) - len(refused), refused, change.cursor)
        if change.cursor is None:
            await _finish(tx, change.id, "finished", deps.clock())
    return change.cursor is not None


async def _plan_replacements(deps: Deps, change: BulkChange) -> bool:
    find, replacement = change.payload["find"], change.payload["replacement"]
    ids, cursor = await _next_ids(deps, change, _REPLACED_AT_A_TIME, containing=find)
    async with deps.db.read() as tx:
        found = await _in_order(tx, change.account_id, ids)
    planned, refused, unchanged = [], [], 0
    for link in found:
        try:
            destination = replaced(link, find, replacement, deps.base_url)
        except BadUrl as error:
            refused.append((_address(deps, link), str(error)))
            continue
        if destination == link.destination_url:
            unchanged += 1
        else:
            planned.append((str(link.id), destination))
    async with _progress(deps, change) as tx:
        await _save(tx, change, len(refused) + unchanged, 0, refused, cursor, step=planned or None)
        if cursor is None and not planned:
            await _finish(tx, change.id, "finished", deps.clock())
    return cursor is not None or bool(planned)


async def _next_ids(
    deps: Deps, change: BulkChange, limit: int, containing: str = ""
) -> tuple[list[UUID], list[str] | None]:
    """Return the next links, and the cursor after them: None after the last ones."""
    async with deps.db.read_long() as tx:
        if "ids" in change.payload:
            start = int(change.cursor[0]) if change.cursor else 0
            ids = [UUID(id_) for id_ in change.payload["ids"]]
            batch, end = ids[start : start + limit], start + limit
            if containing:
                batch = [link.id for link in await _existing(tx, change.account_id, batch, containing)]
            return batch, [str(end)] if end < len(ids) else None
        after = (parse_timestamp(change.cursor[0]), UUID(change.cursor[1])) if change.cursor else None
        found = await listing.find_ids_after(
            tx, change.account_id, change.filter, change.created_at, after, limit=limit, containing=containing
        )
    if len(found) < limit:
        return [id_ for id_, _ in found], None
    last, at = found[-1]
    return [id_ for id_, _ in found], [timestamp(at), str(last)]


@contextlib.asynccontextmanager
async def _progress(deps: Deps, change: BulkChange) -> AsyncIterator[Tx]:
    """A transaction for one step. Raises Unavailable if another process has done the step meanwhile."""
    async with deps.db.write() as tx:
        if await _lock(tx, change.account_id, change.id) != change:
            raise Unavailable
        yield tx


async def _save(
    tx: Tx,
    change: BulkChange,
    done: int = 0,
    changed: int = 0,
    refused: Sequence[tuple[str, str]] = (),
    cursor: Sequence[str] | None = None,
    *,
    step: Sequence[tuple[str, str]] | None = None,
) -> None:
    listed = [*change.refused, *refused][:_MAX_REFUSED]
    values = {"done": change.done + done, "changed": change.changed + changed, "cursor": cursor, "step": step}
    values |= {"refused": listed, "refused_count": change.refused_count + len(refused)}
    await tx.execute(update(bulk_changes).where(bulk_changes.c.id == change.id).values(values))


async def _finish(tx: Tx, id_: UUID, state: State, now: datetime) -> None:
    await tx.execute(update(bulk_changes).where(bulk_changes.c.id == id_).values(state=state, finished_at=now))


async def _get(tx: Tx, account: UUID, id_: UUID) -> BulkChange:
    query = _CHANGE.where(bulk_changes.c.id == id_, bulk_changes.c.account_id == account)
    return BulkChange(*or_not_found((await tx.execute(query)).one_or_none()))


async def _lock(tx: Tx, account: UUID, id_: UUID) -> BulkChange:
    await tx.execute(select(bulk_changes.c.id).where(bulk_changes.c.id == id_).with_for_update())
    return await _get(tx, account, id_)


def _running(account: UUID) -> Sequence[Any]:
    return bulk_changes.c.account_id == account, bulk_changes.c.state == "running"


def _of_change(id_: UUID) -> Any:
    return deleted_links.c.bulk_change_id == id_


async def _hidden_ids(tx: Tx, change: UUID, cursor: Sequence[str] | None, limit: int) -> Sequence[UUID]:
    query = select(deleted_links.c.link_id).where(_of_change(change))
    if cursor:
        query = query.where(deleted_links.c.link_id > UUID(cursor[0]))
    return (await tx.scalars(query.order_by(deleted_links.c.link_id).limit(limit))).all()


async def _in_order(tx: Tx, account: UUID, ids: Sequence[UUID]) -> list[Link]:
    """Return those of the links that exist, in the order of `ids`."""
    rows = await tx.execute(
        select(*COLUMNS).where(links.c.id.in_(ids), links.c.account_id == account, links.c.deleted_at.is_(None))
    )
    found = {row.id: Link(*row) for row in rows}
    return [found[id_] for id_ in ids if id_ in found]


async def _existing(tx: Tx, account: UUID, ids: Sequence[UUID], containing: str) -> list[Link]:
    return [link for link in await _in_order(tx, account, ids) if containing in link.destination_url]


def _address(deps: Deps, link: Link) -> str:
    return f"{link.hostname or deps.shared_domain}/{link.slug}"
