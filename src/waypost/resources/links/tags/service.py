"""Create, change, delete and list tags.

A tag that is renamed, merged or deleted is taken from its links by a change of many links, in steps. Until the last
link is changed, both names are tags, so that each tag of a link is one at any time.
"""

from dataclasses import replace
from uuid import UUID

from waypost import audit
from waypost.accounts import Caller, lock_account
from waypost.audit import Item
from waypost.database import Tx
from waypost.kit.errors import InProgress, Invalid, Problems
from waypost.kit.fields import text_problem
from waypost.kit.ids import new_id
from waypost.kit.pagination import Page, PageRequest
from waypost.resources.links.bulk import changes
from waypost.resources.links.deps import Deps
from waypost.resources.links.tags import store
from waypost.resources.links.tags.model import MAX_TAGS, Tag
from waypost.resources.links.tags.schemas import NewTag, TagChange

MAX_SEARCH = 255
TOO_MANY = f"An account may have at most {MAX_TAGS:,} tags. Delete one that is no longer needed."
NAME_TAKEN = "Another tag has this name. Choose another one, or change that tag."
_NOT_AUDITED = ("id", "account_id", "links_count", "clicks", "created_at", "updated_at")
CHANGED = "Another request changes this tag, or one of the new name. Try again in a moment."
BUSY = "Another change of many links is running. Try again when it has finished."


async def list_tags(deps: Deps, caller: Caller, search: str, request: PageRequest, problems: Problems) -> Page[Tag]:
    """`problems`: those of the request. Raises Invalid with these and that of `search`."""
    if problem := text_problem(search):
        problems.add("search", problem)
    if len(search) > MAX_SEARCH:
        problems.add("search", f"This must have at most {MAX_SEARCH} characters.")
    problems.raise_if_any()
    async with deps.db.read_for(caller.account.id) as tx:
        return await store.list_page(tx, caller.account.id, search, request)


async def get(deps: Deps, caller: Caller, tag_id: UUID) -> Tag:
    """Raises NotFound."""
    async with deps.db.read_for(caller.account.id) as tx:
        [tag] = await store.with_counts(tx, caller.account.id, [await store.get(tx, caller.account.id, tag_id)])
    return tag


async def find(deps: Deps, caller: Caller, name: str) -> Tag | None:
    async with deps.db.read() as tx:
        return await store.find(tx, caller.account.id, name)


async def find_running(deps: Deps, caller: Caller) -> UUID | None:
    """Return the id of the change that takes a tag from links, if one runs."""
    async with deps.db.read() as tx:
        return await changes.find_running(tx, caller.account.id, "retag")


async def create(deps: Deps, caller: Caller, new: NewTag, problems: Problems) -> Tag:
    """`problems`: those already found in the input. Raises Invalid with these and all others together."""
    account, now = caller.account.id, deps.clock()
    new.check_required(problems)
    if problems or new.name is None:
        raise Invalid(problems.errors)
    async with caller.commit(deps.db) as tx:
        # before the account: links that name the tag wait for the two in this order
        if not await store.add(tx, account, new.name, new.color or "gray", now):
            raise Invalid({"name": [NAME_TAKEN]})
        await lock_account(tx, account)
        if await store.count(tx, account, MAX_TAGS + 1) > MAX_TAGS:
            raise Invalid({"name": [TOO_MANY]})
        tag = (await store.lock(tx, account, [new.name]))[new.name]
        await audit.record(tx, caller.actor, "tag.created", now, _item_of(tag), details={"color": tag.color})
    return tag


async def change(deps: Deps, caller: Caller, tag_id: UUID, requested: TagChange, problems: Problems) -> Tag:
    """Return the tag: the one that had the new name before, if there was one. Raises NotFound before Invalid."""
    account = caller.account.id
    await get(deps, caller, tag_id)
    requested.check_required(problems)
    problems.raise_if_any()
    async with deps.db.write() as tx:
        tag, other = await _lock(tx, account, tag_id, requested.name)
        caller.require_current(tag)
        before = other or tag
        after = replace(before, name=requested.name or tag.name, color=requested.color or before.color)
        retag = None
        if after != tag:
            after = replace(after, updated_at=deps.clock())
            is_renamed = after.name != tag.name and not other
            if is_renamed:  # the links, and the count of them, stay with the old name until they are changed
                after = replace(after, links_count=0)
            if not await store.save(tx, after):
                raise InProgress(CHANGED)
            if is_renamed:
                await store.add(tx, account, tag.name, tag.color, tag.created_at, links_count=tag.links_count)
            if after.name != tag.name:
                retag = await _take_from_links(deps, tx, caller, tag.name, to=after.name)
            changed = audit.compare(tag, after, ignored=_NOT_AUDITED)
            action: audit.AuditAction = "tag.merged" if other else "tag.updated"
            await audit.record(tx, caller.actor, action, after.updated_at, _item_of(tag), changes=changed)
    await _run(deps, account, retag)
    return await get(deps, caller, after.id)


async def delete(deps: Deps, caller: Caller, tag_id: UUID) -> None:
    account = caller.account.id
    async with deps.db.write() as tx:
        tag, _ = await _lock(tx, account, tag_id, None)
        caller.require_current(tag)
        retag = await _take_from_links(deps, tx, caller, tag.name, to=None)
        await audit.record(tx, caller.actor, "tag.deleted", deps.clock(), _item_of(tag))
    await _run(deps, account, retag)


async def _lock(tx: Tx, account: UUID, tag_id: UUID, name: str | None) -> tuple[Tag, Tag | None]:
    """Lock the tag, and return it with the other tag that has the name. Raises NotFound."""
    tag = await store.get(tx, account, tag_id)
    locked = await store.lock(tx, account, {tag.name, name or tag.name})
    tag = locked.get(tag.name, tag)
    if tag.id != tag_id or tag.name not in locked:  # it was renamed just now
        raise InProgress(CHANGED)
    return tag, locked.get(name) if name and name != tag.name else None


async def _take_from_links(deps: Deps, tx: Tx, caller: Caller, name: str, *, to: str | None) -> UUID | None:
    """Begin to replace the tag in its links by the tag `to`, or to remove it, and to delete it then.

    Return the id of the change, or None if no link has the tag. Raises InProgress while links of the account change.
    """
    account = caller.account.id
    await lock_account(tx, account)  # one at a time: what adds the tag must not run beside what takes it
    if await changes.is_any_running(tx, account):
        raise InProgress(BUSY)
    if await store.delete_unused(tx, account, name):
        return None
    await store.end_id(tx, account, name)  # what follows the tag, such as a share, ends before its links lose it
    id_, total = new_id(), await store.count_tagged(tx, account, name)
    await changes.begin(deps, tx, caller, id_, "retag", {"tag": name, "to": to}, total)
    return id_


async def _run(deps: Deps, account: UUID, retag: UUID | None) -> None:
    """Change the links now if they are few. Otherwise a job does it."""
    if retag:
        await changes.run_if_small(deps, account, retag)


def _item_of(tag: Tag) -> Item:
    return Item(tag.id, tag.name)
