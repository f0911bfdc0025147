"""Create, change, delete and find links. Verbs that write open their own transaction; nothing slow is inside one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import UUID

from waypost import auth
from waypost.database import Tx
from waypost.kit.errors import Invalid, Problems
from waypost.kit.ids import new_id
from waypost.resources import domains, pixels, webhooks
from waypost.resources.links import checks, media, rules, store
from waypost.resources.links.deps import Deps
from waypost.resources.links.images import CleanImage
from waypost.resources.links.model import Link
from waypost.resources.links.schemas import LinkChange, LinkFields, NewLink, to_json


async def create(
    deps: Deps, caller: auth.Caller, new: NewLink, problems: Problems, *, link_id: UUID | None = None
) -> Link:
    """`problems`: those already found in the input. Raises Invalid with these and all others together."""
    account = caller.account.id
    new.check_required(problems)
    targets = await checks.check_fields(deps, account, new, problems)
    if targets.url is not None:
        checks.check_length(rules.destination(targets.url, new.utm), problems)
    found = await checks.inspect(deps, account, new, targets.url, problems)
    if targets.url is None:
        raise Invalid(problems.errors)
    async with _hosted_if_saved(deps, found.image) as image, deps.db.write() as tx:
        domain, id_, now = targets.domain, link_id or new_id(), deps.clock()
        draft = rules.new_link(
            account, new, targets.url, found.preview, domain=domain, image=image, now=now, link_id=id_
        )
        link = await _claim_slug(deps, tx, draft)
        await _hold_pixels(tx, account, new, problems)
        await _reserve_domain(tx, None, domain, problems)
        problems.raise_if_any()
        if not await store.add(tx, link):
            raise Invalid({"body": [rules.FORM_USED]})
        await _count_image(tx, account, link.og_image_bytes)
        await store.record_route_changes(tx, [link.slug], link.created_at)
        await webhooks.record(tx, _created_event(deps, link))
    deps.invalidate_routes([link.slug])
    return link


async def create_once(deps: Deps, caller: auth.Caller, new: NewLink, problems: Problems, link_id: UUID) -> Link:
    """Submitted several times, one after the other or at once, it creates one link and returns it each time."""
    existing = await _find_or_none(deps, caller, link_id)
    if existing is not None:
        return existing
    try:
        return await create(deps, caller, new, problems, link_id=link_id)
    except Invalid:
        existing = await _find_or_none(deps, caller, link_id)
        if existing is None:
            raise
        return existing


async def change(deps: Deps, caller: auth.Caller, link_id: UUID, change: LinkChange, problems: Problems) -> Link:
    """Fields that are not sent stay as they are. Raises NotFound before it checks the input."""
    account, base_url = caller.account.id, deps.base_url
    link = await find(deps, caller, link_id)
    checks.check_combination(change, problems)
    targets = await checks.check_fields(deps, account, change, problems, link)
    url, domain = targets.url, targets.domain
    changed = rules.changed_link(link, change, url, domain=domain, image=None, base_url=base_url)
    checks.check_length(changed.destination_url, problems)
    found = await checks.inspect(deps, account, change, url, problems)
    async with _hosted_if_saved(deps, found.image) as image, deps.db.write() as tx:
        before = await store.require_for_change(tx, account, link_id)  # it may have changed meanwhile
        after = rules.changed_link(before, change, url, domain=domain, image=image, base_url=base_url)
        checks.check_length(after.destination_url, problems)
        await _hold_pixels(tx, account, change, problems)
        await _move_slug(tx, before, after)  # first the slug, then the domain, as in `create`: that avoids deadlocks
        await _reserve_domain(tx, before.domain_id, after.domain_id, problems)
        problems.raise_if_any()
        if after == before:
            return before
        after = replace(after, updated_at=deps.clock())
        await store.save(tx, before, after)
        await _count_image(tx, account, after.og_image_bytes - before.og_image_bytes)
        slugs = sorted({before.slug, after.slug})
        await store.record_route_changes(tx, slugs, after.updated_at)
    deps.invalidate_routes(slugs)
    if before.og_image_file_name != after.og_image_file_name:
        await media.discard(deps.media, before.og_image_file_name)
    return after


async def delete(deps: Deps, caller: auth.Caller, link_id: UUID) -> None:
    async with deps.db.write() as tx:
        link = await store.require_for_change(tx, caller.account.id, link_id)
        now = deps.clock()
        await store.mark_deleted(tx, link, now)
        await _count_image(tx, link.account_id, -link.og_image_bytes)
        await store.record_route_changes(tx, [link.slug], now)
    deps.invalidate_routes([link.slug])
    await media.discard(deps.media, link.og_image_file_name)


async def find(deps: Deps, caller: auth.Caller, link_id: UUID) -> Link:
    async with deps.db.point_read() as tx:
        return await store.require(tx, caller.account.id, link_id)


async def slug_state(deps: Deps, caller: auth.Caller, slug: str, link_id: UUID | None) -> tuple[rules.SlugState, str]:
    """What a form shows about a slug before it is submitted, and the problem if there is one. Decides nothing."""
    if problem := rules.slug_problem(slug, deps.reserved):
        return "refused", problem
    async with deps.db.read() as tx:
        owner = await store.find_slug_owner(tx, slug)
    return rules.slug_state(owner, caller.account.id, link_id)


async def _find_or_none(deps: Deps, caller: auth.Caller, link_id: UUID) -> Link | None:
    async with deps.db.point_read() as tx:
        return await store.find(tx, caller.account.id, link_id)


@asynccontextmanager
async def _hosted_if_saved(deps: Deps, image: CleanImage | None) -> AsyncIterator[media.HostedImage | None]:
    """For the transaction that names the image: its file is on disk before, and is removed if that fails."""
    hosted = await media.save(deps.media, image) if image else None
    try:
        yield hosted
    except BaseException:
        if hosted:
            await media.discard(deps.media, hosted.name)
        raise


async def _claim_slug(deps: Deps, tx: Tx, draft: Link) -> Link:
    """Raises Invalid when a chosen slug is taken; generated ones are tried until one is free."""
    if draft.slug:
        await _claim(tx, draft)
        return draft
    attempt = 0
    while True:
        link = replace(draft, slug=rules.generated_slug(attempt, deps.reserved))
        if await store.claim_unused_slug(tx, link):
            return link
        attempt += 1


async def _claim(tx: Tx, link: Link) -> None:
    if not await store.claim_slug(tx, link):
        raise Invalid({"slug": [rules.SLUG_TAKEN]})


async def _move_slug(tx: Tx, before: Link, after: Link) -> None:
    """Lock both slugs' rows in the order of their names: two links that swap slugs cannot wait for each other."""
    if before.slug == after.slug:
        return
    if before.slug < after.slug:
        await store.release_slug(tx, before.slug)
    await _claim(tx, after)
    if before.slug > after.slug:
        await store.release_slug(tx, before.slug)


async def _hold_pixels(tx: Tx, account: UUID, fields: LinkFields, problems: Problems) -> None:
    """Decides: until the transaction ends nobody deletes one of them."""
    if fields.pixels:
        rules.check_pixels(fields, await pixels.lock_own_ids(tx, account, fields.pixels), problems)


async def _reserve_domain(tx: Tx, before: UUID | None, after: UUID | None, problems: Problems) -> None:
    """Decides, and counts the link: until the transaction ends nobody deletes the domain."""
    if before != after and not await domains.change_links_count(tx, before, after):
        problems.add("hostname", rules.NO_SUCH_DOMAIN)


async def _count_image(tx: Tx, account: UUID, difference: int) -> None:
    if not await auth.adjust_image_bytes(tx, account, difference, limit=rules.MAX_IMAGES_MB << 20):
        raise Invalid({"og_image_file": [rules.IMAGE_QUOTA_USED]})


def _created_event(deps: Deps, link: Link) -> webhooks.WebhookEvent:
    data = to_json(link, shared_domain=deps.shared_domain, base_url=deps.base_url, now=link.created_at)
    return webhooks.WebhookEvent("link.created", link.account_id, link.id, link.created_at, data)
