"""Create, change, delete and get links. Each function opens its own transaction; nothing slow runs inside."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from waypost import accounts, audit
from waypost.database import Tx
from waypost.kit.errors import Invalid, Problems
from waypost.kit.fair_queue import TimeBudget
from waypost.kit.ids import new_id
from waypost.resources import domains, pixels, webhooks
from waypost.resources.links import audit_entries, checks, rules, slug_store, store
from waypost.resources.links.deps import Deps
from waypost.resources.links.images.encoder import ReencodedImage
from waypost.resources.links.images.media import UploadedImage
from waypost.resources.links.model import Link
from waypost.resources.links.schemas import LinkChange, LinkFields, NewLink, to_json


async def create(
    deps: Deps,
    caller: accounts.Caller,
    new: NewLink,
    problems: Problems,
    *,
    link_id: UUID | None = None,
    wait: TimeBudget | None = None,
) -> Link:
    """Create a link. Raises Invalid with all problems together: `problems` of the input, and those found here.

    `wait`: how long to wait for other checks of destinations. None: the usual time.
    """
    account = caller.account.id
    new.check_required(problems)
    url, domain = await checks.run_cheap_checks(deps, account, new, problems)
    if url is not None:
        checks.check_length(rules.destination_with_utm(url, new.utm), problems)
    metadata, checked_image = await checks.run_expensive_checks(deps, account, new, url, problems, wait=wait)
    if url is None:
        raise Invalid(problems.errors)
    async with _stored_image(deps, checked_image) as image, deps.db.write() as tx:
        id_, now = link_id or new_id(), deps.clock()
        draft = rules.build_link(
            account,
            new,
            url,
            metadata,
            domain=domain,
            image=image,
            now=now,
            link_id=id_,
            created_by=caller.actor.label,
        )
        link = await _reserve_slug(deps, tx, draft)
        await _lock_pixels(tx, account, new, problems)
        await _reserve_domain(tx, None, domain, problems)
        problems.raise_if_any()
        if not await store.add(tx, link):
            raise Invalid({"body": [rules.FORM_USED]})
        await _count_image(tx, account, link.og_image_bytes)
        await deps.routes.changed(tx, [link.slug])
        await webhooks.record(tx, _created_event(deps, link))
        await audit_entries.record_created(tx, caller.actor, link, deps.shared_domain)
    return link


async def create_once(
    deps: Deps,
    caller: accounts.Caller,
    new: NewLink,
    problems: Problems,
    link_id: UUID,
    *,
    wait: TimeBudget | None = None,
) -> Link:
    """Create a link once per `link_id`: repeated and concurrent submissions return the same link."""
    existing = await _find_or_none(deps, caller, link_id)
    if existing is not None:
        return existing
    try:
        return await create(deps, caller, new, problems, link_id=link_id, wait=wait)
    except Invalid:
        existing = await _find_or_none(deps, caller, link_id)
        if existing is None:
            raise
        return existing


async def change(
    deps: Deps,
    caller: accounts.Caller,
    link_id: UUID,
    change: LinkChange,
    problems: Problems,
) -> Link:
    """Change a link. Raises NotFound before Invalid."""

    async def record(tx: Tx, before: Link, after: Link) -> None:
        item, changes = audit_entries.item_of(after, shared), audit_entries.compare(before, after, shared)
        await audit.record(tx, caller.actor, "link.updated", after.updated_at, item, changes=changes)

    shared = deps.shared_domain
    return await _change(deps, caller, link_id, change, problems, record)


async def change_as_part(
    deps: Deps, caller: accounts.Caller, link_id: UUID, change: LinkChange, problems: Problems, *, wait: TimeBudget
) -> Link:
    """Change a link as a part of a change that the audit log has. `wait`: as for `create`."""

    async def record(tx: Tx, before: Link, after: Link) -> None:
        pass

    return await _change(deps, caller, link_id, change, problems, record, wait=wait)


async def _change(
    deps: Deps,
    caller: accounts.Caller,
    link_id: UUID,
    change: LinkChange,
    problems: Problems,
    record: Callable[[Tx, Link, Link], Awaitable[None]],
    *,
    wait: TimeBudget | None = None,
) -> Link:
    account, base_url = caller.account.id, deps.base_url
    link = await get(deps, caller, link_id)
    checks.check_combination(change, problems)
    url, domain = await checks.run_cheap_checks(deps, account, change, problems, link)
    changed = rules.apply_change(link, change, url, domain=domain, image=None, base_url=base_url)
    checks.check_length(changed.destination_url, problems)
    _, checked_image = await checks.run_expensive_checks(deps, account, change, url, problems, wait=wait)
    async with _stored_image(deps, checked_image) as image, deps.db.write() as tx:
        before = await store.lock(tx, account, link_id)  # it may have changed since the checks
        after = rules.apply_change(before, change, url, domain=domain, image=image, base_url=base_url)
        checks.check_length(after.destination_url, problems)
        if problem := rules.find_enabling_problem(before, after):
            problems.add("status", problem)
        await _lock_pixels(tx, account, change, problems)
        await _move_slug(tx, before, after)  # first the slug, then the domain, as in `create`: that avoids deadlocks
        await _reserve_domain(tx, before.domain_id, after.domain_id, problems)
        problems.raise_if_any()
        if after == before:
            return before
        after = replace(after, updated_at=deps.clock(), changed_by=caller.actor.label)
        await store.save(tx, before, after)
        await _count_image(tx, account, after.og_image_bytes - before.og_image_bytes)
        await deps.routes.changed(tx, sorted({before.slug, after.slug}))
        await record(tx, before, after)
    if before.og_image_file_name != after.og_image_file_name:
        await deps.image_store.delete(before.og_image_file_name)
    return after


async def delete(deps: Deps, caller: accounts.Caller, link_id: UUID) -> None:
    async with deps.db.write() as tx:
        link = await store.lock(tx, caller.account.id, link_id)
        await delete_locked(deps, tx, caller.account.id, [link])
        item = audit_entries.item_of(link, deps.shared_domain)
        await audit.record(tx, caller.actor, "link.deleted", deps.clock(), item)
    await deps.image_store.delete(link.og_image_file_name)


async def delete_locked(deps: Deps, tx: Tx, account: UUID, links: Sequence[Link]) -> None:
    """Delete links of the account that the transaction has locked. The caller deletes images."""
    if links:
        await store.mark_deleted(tx, links, deps.clock())
        await _count_image(tx, account, -sum(link.og_image_bytes for link in links))
        await deps.routes.changed(tx, [link.slug for link in links])


async def clean_up_deleted(tx: Tx, account: UUID, hidden: Sequence[Link], now: datetime) -> None:
    """Delete pixels, aliases and images of links that were hidden. The caller deletes the files of images."""
    if hidden:
        await store.mark_all_deleted(tx, [link.id for link in hidden], [], now)
        freed = sum(link.og_image_bytes for link in hidden)
        await accounts.adjust_image_bytes(tx, account, -freed, limit=rules.MAX_IMAGES_MB << 20)


async def get(deps: Deps, caller: accounts.Caller, link_id: UUID) -> Link:
    async with deps.db.point_read() as tx:
        return await store.get(tx, caller.account.id, link_id)


async def slug_state(
    deps: Deps, caller: accounts.Caller, slug: str, link_id: UUID | None
) -> tuple[rules.SlugState, str]:
    """Return the state of a slug and the problem with it, for a form. `create` and `change` check it again."""
    if problem := rules.find_slug_problem(slug, deps.reserved):
        return "refused", problem
    async with deps.db.read() as tx:
        owner = await slug_store.find_slug_owner(tx, slug)
    return rules.slug_state(owner, caller.account.id, link_id)


async def _find_or_none(deps: Deps, caller: accounts.Caller, link_id: UUID) -> Link | None:
    async with deps.db.point_read() as tx:
        return await store.find(tx, caller.account.id, link_id)


@asynccontextmanager
async def _stored_image(deps: Deps, image: ReencodedImage | None) -> AsyncIterator[UploadedImage | None]:
    """Store the image before the transaction that refers to it, and delete it if the transaction fails."""
    uploaded = await deps.image_store.save(image) if image else None
    try:
        yield uploaded
    except BaseException:
        if uploaded:
            await deps.image_store.delete(uploaded.name)
        raise


async def _reserve_slug(deps: Deps, tx: Tx, draft: Link) -> Link:
    """Reserve the slug of the draft, or generate slugs until one is free. Raises Invalid."""
    if draft.slug:
        await _reserve_chosen_slug(tx, draft)
        return draft
    attempt = 0
    while True:
        link = replace(draft, slug=rules.generate_slug(attempt, deps.reserved))
        if await slug_store.reserve_unused_slug(tx, link):
            return link
        attempt += 1


async def _reserve_chosen_slug(tx: Tx, link: Link) -> None:
    if not await slug_store.reserve_slug(tx, link):
        raise Invalid({"slug": [rules.SLUG_TAKEN]})


async def _move_slug(tx: Tx, before: Link, after: Link) -> None:
    """Lock both slugs in the order of their names, so that two links that swap slugs cannot wait for each other."""
    if before.slug == after.slug:
        return
    if before.slug < after.slug:
        await slug_store.release_slug(tx, before.slug)
    await _reserve_chosen_slug(tx, after)
    if before.slug > after.slug:
        await slug_store.release_slug(tx, before.slug)


async def _lock_pixels(tx: Tx, account: UUID, fields: LinkFields, problems: Problems) -> None:
    """Lock the pixels and check them again: only this check counts."""
    if fields.pixels:
        rules.check_pixels(fields, await pixels.lock_own_ids(tx, account, fields.pixels), problems)


async def _reserve_domain(tx: Tx, before: UUID | None, after: UUID | None, problems: Problems) -> None:
    """Lock the domain, count the link on it, and check it again: only this check counts."""
    if before != after and not await domains.change_links_count(tx, before, after):
        problems.add("hostname", rules.NO_SUCH_DOMAIN)


async def _count_image(tx: Tx, account: UUID, difference: int) -> None:
    if not await accounts.adjust_image_bytes(tx, account, difference, limit=rules.MAX_IMAGES_MB << 20):
        raise Invalid({"og_image_file": [rules.IMAGE_QUOTA_USED]})


def _created_event(deps: Deps, link: Link) -> webhooks.WebhookEvent:
    data = to_json(link, shared_domain=deps.shared_domain, base_url=deps.base_url, now=link.created_at)
    return webhooks.WebhookEvent("link.created", link.account_id, link.id, link.created_at, data)
