"""Steps of a change of many links. Each is one transaction with its progress, and returns whether more may be left."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from sqlalchemy import delete, insert

from waypost import accounts, audit
from waypost.database import Tx
from waypost.kit.errors import Invalid, NotFound, Problems, Unavailable, or_not_found
from waypost.kit.fair_queue import TimeBudget
from waypost.kit.urls import BadUrl
from waypost.resources import domains
from waypost.resources.links import aliases, rules, service, store
from waypost.resources.links.apply import apply
from waypost.resources.links.bulk import change_store as changes
from waypost.resources.links.bulk import service as bulk
from waypost.resources.links.bulk.change_store import BulkChange, Kind
from waypost.resources.links.deps import Deps
from waypost.resources.links.model import Link, deleted_links
from waypost.resources.links.schemas import LinkChange
from waypost.resources.links.tags import store as tags

STEP = 100
_REPLACED_AT_A_TIME = 4  # as many destinations are checked for an account; together they take less than a job may

_ACTIONS: Mapping[Kind, audit.AuditAction] = {  # a changed tag has an entry of its own
    "set": "links.updated",
    "replace": "links.updated",
    "delete": "links.deleted",
    "restore": "links.restored",
}

USED_AGAIN = "Another link uses its slug or its external ID now."


async def run(deps: Deps, account: UUID, id_: UUID) -> bool:
    """Change the next links of a running change."""
    async with deps.db.read() as tx:
        change = await changes.get(tx, account, id_)
    if change.state != "running":
        return False
    try:
        return await _STEPS[change.kind](deps, change)
    except Invalid as error:  # such as a domain that was deleted meanwhile
        async with deps.db.write() as tx:
            await changes.save(tx, change, refused=[("", error.details)])
            await changes.finish(tx, id_, "failed", deps.clock())
        return False


def replaced(deps: Deps, link: Link, find: str, replacement: str) -> str:
    """Return the destination with the text replaced. UTM parameters stay. Raises BadUrl."""
    url = deps.destination_checker.canonical(link.destination_url.replace(find, replacement))
    change = LinkChange(destination_url=url.text)
    return rules.changed(link, change, rules.Facts(url), base_url=deps.base_url).destination_url


async def _set_next(deps: Deps, change: BulkChange) -> bool:
    ids, cursor = await changes.find_next(deps.db, change, STEP)
    checked = await bulk.check_set(deps, change.account_id, change.payload["set"], Problems())
    async with _progress(deps, change) as tx:
        before = await store.lock_all(tx, change.account_id, ids)
        by = change.actor.label
        results = await bulk.change_in(deps, tx, change.account_id, ids, checked, changed_by=by)
        refused = [
            (before[id_].short_url(deps.shared_domain), " ".join(text for texts in result.values() for text in texts))
            for id_, result in zip(ids, results, strict=True)
            if isinstance(result, dict)
        ]
        await changes.save(tx, change, len(ids), results.count("updated"), refused, cursor)
        updated = [before[id_] for id_, result in zip(ids, results, strict=True) if result == "updated"]
        await _record(deps, tx, change, updated)
        if not cursor:
            await changes.finish(tx, change.id, "finished", deps.clock())
    return cursor is not None


async def _delete_next(deps: Deps, change: BulkChange) -> bool:
    ids, cursor = await changes.find_next(deps.db, change, STEP)
    async with _progress(deps, change) as tx:
        found = list((await store.lock_all(tx, change.account_id, ids)).values())
        await service.hide(deps, tx, found)
        if found:
            rows = [{"bulk_change_id": change.id, "link_id": link.id} for link in found]
            await tx.execute(insert(deleted_links), rows)
        await changes.save(tx, change, len(ids), len(found), [], cursor)
        await _record(deps, tx, change, found)
        if not cursor:
            await changes.finish(tx, change.id, "finished", deps.clock())
    return cursor is not None


async def _restore_next(deps: Deps, change: BulkChange) -> bool:
    deletion = UUID(change.payload["change"])
    async with _progress(deps, change) as tx:
        ids = await changes.find_deleted(tx, deletion, change.cursor, STEP)
        hidden = await store.find_hidden(tx, change.account_id, ids)
        restored, now = await store.unhide(tx, hidden), deps.clock()
        refused = [(link.short_url(deps.shared_domain), USED_AGAIN) for link in hidden if link not in restored]
        if restored:
            own = changes.of_change(deletion), deleted_links.c.link_id.in_([link.id for link in restored])
            await tx.execute(delete(deleted_links).where(*own))
            # the domain of a link may be gone: it is on the shared domain then
            await domains.change_links_counts(tx, [(None, link.domain_id) for link in restored if link.hostname])
            await store.leave_deleted_domains(tx, restored)
            await tags.change_links_counts(tx, change.account_id, [((), link.tags) for link in restored], now)
            await accounts.adjust_links_count(tx, change.account_id, len(restored))
            if any(link.tags for link in restored):
                await accounts.add_label_change(tx, change.account_id)
        with_aliases = await aliases.find_of_links(tx, [link.id for link in restored])
        routes = {link.slug for link in restored} | store.near_changes(restored)
        routes |= aliases.route_changes(alias for of_link in with_aliases.values() for alias in of_link)
        await deps.routes.changed(tx, sorted(routes))
        cursor = [str(ids[-1])] if len(ids) == STEP else None
        await changes.save(tx, change, len(ids), len(restored), refused, cursor)
        await _record(deps, tx, change, restored)
        if not cursor:
            await changes.finish(tx, change.id, "finished", now)
            await changes.finish(tx, deletion, "undone", now)
    return cursor is not None


async def _replace_next(deps: Deps, change: BulkChange) -> bool:
    """Replace in a few links. What each becomes is stored first: a repeated step must not replace in its own result."""
    if change.step is None:
        return await _plan_replacements(deps, change)
    async with deps.db.read() as tx:
        account = or_not_found(await accounts.find_account(tx, change.account_id))
        caller = accounts.ProcessCaller(account, change.actor.label)
        ids = [UUID(id_) for id_, _ in change.step]
        found = await store.find_own(tx, change.account_id, ids)

    async def change_one(id_: UUID, destination: str) -> str | None:
        """Return why it was refused, or None."""
        try:
            wait = TimeBudget(10)
            to = LinkChange(destination_url=destination)
            await service.change_as_part(deps, caller, id_, to, Problems(), wait=wait)
        except Invalid as error:
            return " ".join(text for texts in error.explained.values() for text in texts)
        except NotFound:
            return None
        except Unavailable as error:
            return error.message
        return None

    steps = [(UUID(id_), destination) for id_, destination in change.step if UUID(id_) in found]
    reasons = await asyncio.gather(*(change_one(id_, destination) for id_, destination in steps))
    refused = [
        (found[id_].short_url(deps.shared_domain), reason)
        for (id_, _), reason in zip(steps, reasons, strict=True)
        if reason
    ]
    async with _progress(deps, change) as tx:
        await changes.save(tx, change, len(steps), len(steps) - len(refused), refused, change.cursor)
        replaced_in = [found[id_] for (id_, _), reason in zip(steps, reasons, strict=True) if not reason]
        await _record(deps, tx, change, replaced_in)
        if change.cursor is None:
            await changes.finish(tx, change.id, "finished", deps.clock())
    return change.cursor is not None


async def _retag_next(deps: Deps, change: BulkChange) -> bool:
    """Links that get the tag meanwhile are changed, too: it ends when no link has the tag, which is deleted then."""
    account, old, new = change.account_id, change.payload["tag"], change.payload["to"]
    after = UUID(change.cursor[0]) if change.cursor else None
    async with deps.db.read() as tx:
        ids = await tags.find_tagged(tx, account, old, after, STEP)
    async with _progress(deps, change) as tx:
        before, now = (await store.lock_all(tx, account, ids)).values(), deps.clock()
        requested = [(link, replace(link, tags=rules.replace_tag(link.tags, old, new))) for link in before]
        plans = [rules.plan(link, after, by=change.actor.label, at=now) for link, after in requested]
        await apply(deps, tx, account, plans, Problems())
        cursor = [str(ids[-1])] if len(ids) == STEP else None  # after the last ones: again from the first one
        await changes.save(tx, change, len(ids), len(plans), [], cursor)
        is_over = cursor is None and await tags.delete_unused(tx, account, old)
        if is_over:
            await changes.finish(tx, change.id, "finished", now)
    return not is_over


async def _plan_replacements(deps: Deps, change: BulkChange) -> bool:
    find, replacement = change.payload["find"], change.payload["replacement"]
    ids, cursor = await changes.find_next(deps.db, change, _REPLACED_AT_A_TIME, containing=find)
    async with deps.db.read() as tx:
        found = await store.find_in_order(tx, change.account_id, ids)
    planned, refused, unchanged = [], [], 0
    for link in found:
        try:
            destination = replaced(deps, link, find, replacement)
        except BadUrl as error:
            refused.append((link.short_url(deps.shared_domain), str(error)))
            continue
        if destination == link.destination_url:
            unchanged += 1
        else:
            planned.append((str(link.id), destination))
    async with _progress(deps, change) as tx:
        await changes.save(tx, change, len(refused) + unchanged, 0, refused, cursor, step=planned or None)
        if planned and not change.changed:  # the links are changed in transactions of their own
            await _record(deps, tx, change, [])
        if cursor is None and not planned:
            await changes.finish(tx, change.id, "finished", deps.clock())
    return cursor is not None or bool(planned)


@contextlib.asynccontextmanager
async def _progress(deps: Deps, change: BulkChange) -> AsyncIterator[Tx]:
    """A transaction for one step. Raises Unavailable if another process has done the step meanwhile."""
    async with deps.db.write() as tx:
        if await changes.lock(tx, change.account_id, change.id) != change:
            raise Unavailable
        yield tx


async def _record(deps: Deps, tx: Tx, change: BulkChange, changed: Sequence[Link]) -> None:
    """Write the entry of a change of many links with the links `changed` in this step, or add these to it."""
    if "entry" not in change.payload or not (changed or change.kind == "replace"):
        return
    is_one, ids = change.total == 1, [str(link.id) for link in changed]
    details: dict[str, Any] = {"count": change.changed + len(changed)}
    if ids and change.changed == 0 and not is_one:
        details["ids"] = ids[: bulk.MAX_IDS]
    if "filter" in change.payload:
        details["filter"] = {name: text for name, text in change.payload["filter"].items() if text}
    if change.kind == "set":
        details["set"] = {name: audit.plain(value) for name, value in change.payload["set"].items()}
    if change.kind == "replace":
        details |= {name: audit.plain(change.payload[name]) for name in ("find", "replacement")}
    await audit.record_progress(
        tx,
        UUID(change.payload["entry"]),
        change.actor,
        "link.deleted" if is_one and change.kind == "delete" else _ACTIONS[change.kind],
        change.created_at,
        service.item_of(changed[0], deps) if is_one and changed else audit.Item(),
        details={} if is_one and change.kind in {"delete", "restore"} else details,
    )


_STEPS: Mapping[Kind, Callable[[Deps, BulkChange], Awaitable[bool]]] = {
    "set": _set_next,
    "delete": _delete_next,
    "replace": _replace_next,
    "restore": _restore_next,
    "retag": _retag_next,
}
