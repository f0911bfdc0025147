"""Create, change, delete, list and open shares. Each function opens its own transaction; nothing slow runs inside."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from waypost import accounts, audit
from waypost.accounts import Caller, SignInClient
from waypost.audit import Item
from waypost.context import Context
from waypost.database import Tx
from waypost.kit.clock import microseconds
from waypost.kit.errors import Invalid, NotFound, Problems, or_not_found
from waypost.kit.ids import new_id
from waypost.kit.pagination import Page, PageRequest
from waypost.resources import domains, links
from waypost.resources.links import labels
from waypost.resources.links.tags import store as tag_store
from waypost.resources.links.tags.model import MAX_TAGS
from waypost.resources.links.tags.service import TOO_MANY as TOO_MANY_TAGS
from waypost.resources.shares import rules, store
from waypost.resources.shares.deps import new_token
from waypost.resources.shares.model import Share, digest, shares
from waypost.resources.shares.schemas import NewShare, ShareChange, ShareFields

_EMPTY: dict[str, Any] = {
    "name": "",
    "link_id": None,
    "tag": None,
    "hostname": None,
    "filters": {},
    "range_start": None,
    "range_end": None,
    "expires_at": None,
    "hide_below": 0,
    "embed_origins": [],
}
_FIELDS = {"range_start": "from_", "range_end": "to"}
_AUDIT_NAMES = {"range_start": "from", "range_end": "to"}


class OpenShare(NamedTuple):
    share: Share
    since: datetime
    """When the link or the account was created."""


async def create(context: Context, caller: Caller, new: NewShare, problems: Problems) -> Share:
    """`problems`: those already found in the input. Raises Invalid with these and all others together."""
    account = caller.account.id
    new.check_required(problems)
    values = await _check(context, account, _EMPTY, new, problems)
    if problems:  # report this one, too; otherwise the check in the transaction is enough
        async with context.db.read() as tx:
            if await store.count(tx, account) >= rules.MAX_SHARES:
                problems.add("name", rules.TOO_MANY)
    problems.raise_if_any()
    id_, token, now = new_id(), new_token(), context.clock()
    share = Share(
        id=id_,
        account_id=account,
        **values,
        tag_id=None,
        token=context.key_ring.encrypt(shares.c.token, id_, token),
        password_hash=await _hash(account, new.password),
        access_version=microseconds(now),
        created_at=now,
        updated_at=now,
    )
    async with caller.commit(context.db) as tx:
        share = replace(share, tag_id=await _find_tag(tx, account, share.tag, now))
        await accounts.lock_account(tx, account)
        if await store.count(tx, account) >= rules.MAX_SHARES:
            raise Invalid({"name": [rules.TOO_MANY]})
        await store.add(tx, share, digest(token))
        changes = audit.compare(_audited(_EMPTY), _audited(values), ignored=["name"])
        changes |= audit.compare_secrets(["password"] if share.password_hash else [])
        await audit.record(tx, caller.actor, "share.created", now, _item_of(share), changes=changes)
    return share


async def change(context: Context, caller: Caller, share_id: UUID, requested: ShareChange, problems: Problems) -> Share:
    """Fields that are not sent do not change. Raises NotFound before it validates the input."""
    account = caller.account.id
    before = await get(context, caller, share_id)
    requested.check_required(problems)
    await _check(context, account, _values_of(before), requested, problems)
    problems.raise_if_any()
    hashed = await _hash(account, requested.password)
    now = context.clock()
    async with context.db.write() as tx:
        tag_id = await _find_tag(tx, account, requested.tag, now)
        before = await store.lock(tx, account, share_id)
        caller.require_current(before)
        old = _values_of(before)
        values = rules.checked(_merge(old, requested), problems)  # another change may have been first
        problems.raise_if_any()
        has_new_password = "password" in requested.model_fields_set and hashed != before.password_hash
        if "tag" not in requested.model_fields_set:
            tag_id = before.tag_id
        if (values, tag_id) == (old, before.tag_id) and not has_new_password:
            return before
        after = replace(before, **values, tag_id=tag_id, updated_at=now)
        if has_new_password:
            after = replace(after, password_hash=hashed)
        if has_new_password or values["embed_origins"] != old["embed_origins"]:
            after = replace(after, access_version=max(before.access_version + 1, microseconds(now)))
        await store.save(tx, after)
        changes = audit.compare(_audited(old), _audited(values))
        changes |= audit.compare_secrets(["password"] if has_new_password else [])
        await audit.record(tx, caller.actor, "share.updated", now, _item_of(after), changes=changes)
    return after


async def delete(context: Context, caller: Caller, share_id: UUID) -> None:
    async with context.db.write() as tx:
        share = await store.lock(tx, caller.account.id, share_id)
        caller.require_current(share)
        await store.delete(tx, share_id)
        await audit.record(tx, caller.actor, "share.deleted", context.clock(), _item_of(share))


async def get(context: Context, caller: Caller, share_id: UUID) -> Share:
    async with context.db.read() as tx:
        return or_not_found(await store.find(tx, caller.account.id, share_id))


async def list_shares(context: Context, caller: Caller, request: PageRequest) -> Page[Share]:
    async with context.db.read() as tx:
        items, total = await store.list_page(tx, caller.account.id, request)
    return Page(items, total, request)


async def open_share(context: Context, token: str) -> OpenShare:
    """Return the share that visitors open by this token.

    Raises NotFound if there is none, if it has expired, if its link or tag is deleted, or its account suspended or
    deleted: the database is asked each time, so what is revoked is gone at once.
    """
    async with context.db.point_read() as tx:
        share = or_not_found(await store.find_by_digest(tx, digest(token)))
        account = or_not_found(await accounts.find_account(tx, share.account_id))
        if account.suspended_at is not None or share.has_lost_tag or share.has_expired(context.clock()):
            raise NotFound
        link = await links.get(tx, share.account_id, share.link_id) if share.link_id else None
    return OpenShare(share, link.created_at if link else account.created_at)


async def _check(
    context: Context, account: UUID, before: dict[str, Any], sent: ShareFields, problems: Problems
) -> dict[str, Any]:
    """Return the values that the share would have. Adds problems."""
    if sent.expires_at and sent.expires_at <= context.clock():
        problems.add("expires_at", rules.NOT_FUTURE)
    values = rules.checked(_merge(before, sent), problems)
    linked = values["filters"].get("link_id", ()) if sent.filters else ()
    await _check_existing(context, account, sent, [UUID(text.removeprefix("-")) for text in linked], problems)
    return values


def _merge(before: dict[str, Any], sent: ShareFields) -> dict[str, Any]:
    values = dict(before)
    for name, empty in _EMPTY.items():
        field = _FIELDS.get(name, name)
        if field in sent.model_fields_set:
            value = getattr(sent, field)
            values[name] = empty if value is None else value
    return values


async def _check_existing(
    context: Context, account: UUID, sent: ShareFields, linked: Sequence[UUID], problems: Problems
) -> None:
    """Check what the account must have. `linked`: links in filters."""
    hostname = sent.hostname
    async with context.db.read() as tx:
        if sent.link_id and not await labels.are_own(tx, account, [sent.link_id]):
            problems.add("link_id", rules.NO_SUCH_LINK)
        if linked and not await labels.are_own(tx, account, linked):
            problems.add("filters.link_id", rules.NO_SUCH_LINK)
        if hostname and hostname != context.shared_domain and await domains.find_id(tx, account, hostname) is None:
            problems.add("hostname", rules.NO_SUCH_HOSTNAME)


async def _find_tag(tx: Tx, account: UUID, name: str | None, now: datetime) -> UUID | None:
    """Return the id of a tag, and add it if it is missing: links may get it later. Before rows that wait for tags."""
    if not name:
        return None
    if await tag_store.add_many(tx, account, {name: "gray"}, now, limit=MAX_TAGS):
        raise Invalid({"tag": [TOO_MANY_TAGS]})
    found = await tag_store.find(tx, account, name)
    return found.id if found else None


async def _hash(account: UUID, password: str | None) -> str | None:
    return await accounts.hash_password(password, SignInClient(account.bytes)) if password else None


def _values_of(share: Share) -> dict[str, Any]:
    return {name: getattr(share, name) for name in _EMPTY}


def _audited(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values by the names that users know."""
    return {_AUDIT_NAMES.get(name, name): value for name, value in values.items()}


def _item_of(share: Share) -> Item:
    return Item(share.id, share.name)
