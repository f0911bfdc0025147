"""The verbs of links: create, change, delete, find. Those that write open their own transaction.

Nothing slow is inside one.
"""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import UUID

from waypost import auth
from waypost.auth import Caller
from waypost.database import Tx
from waypost.kit.errors import Invalid, NotFound, Problems
from waypost.kit.fields import parse
from waypost.kit.ids import new_id
from waypost.kit.urls import Url
from waypost.outbound import PagePreview
from waypost.resources import webhooks
from waypost.resources.links import checks, drafts, media, rules, store
from waypost.resources.links.deps import Deps
from waypost.resources.links.images import CleanImage
from waypost.resources.links.media import Hosted
from waypost.resources.links.model import Link
from waypost.resources.links.rules import SlugState
from waypost.resources.links.schemas import LinkChange, NewLink, to_json


async def create(deps: Deps, caller: Caller, new: NewLink, problems: Problems, *, link_id: UUID | None = None) -> Link:
    """`problems`: the faults already found in the input; Invalid is raised with these and all others together."""
    account = caller.account.id
    checks.required_on_create(new, problems)
    checks.fields_in_general(deps, new, problems)
    url = await checks.destination(deps, account, new, problems)
    if url is not None:
        checks.length(drafts.destination(url, new.utm), problems)
    domain = await checks.domain_is_theirs(deps, account, new, problems)
    await checks.pixels_are_theirs(deps, account, new, problems)
    await checks.slug_is_free(deps, account, new.slug, None, problems)
    await checks.image_has_room(deps, account, new, 0, problems)
    seen = await checks.look(deps, account, new, url, problems)
    if url is None:
        raise Invalid(problems.errors)
    async with _kept_if_saved(deps, seen.image) as image, deps.db.write() as tx:
        id_, now = link_id or new_id(), deps.clock()
        draft = drafts.created(account, new, url, seen.preview, domain=domain, hosted_image=image, now=now, link_id=id_)
        link = replace(draft, slug=await _claimed(deps, tx, draft))
        await checks.pixels_are_still_theirs(tx, account, new, problems)
        await checks.reserve_domain(tx, None, domain, problems)
        problems.raise_if_any()
        if not await store.add(tx, link):
            raise Invalid({"body": [rules.FORM_USED]})
        await _count_image(tx, account, link.og_image_bytes)
        await store.announce(tx, [link.slug], link.created_at)
        await webhooks.record(tx, _created(deps, link))
    deps.routes_changed([link.slug])
    return link


async def create_once(deps: Deps, caller: Caller, new: NewLink, problems: Problems, link_id: UUID) -> Link:
    """Sent several times, one after the other or at once, it makes one link, which all answers are about."""
    made = await _made(deps, caller, link_id)
    if made is not None:
        return made
    try:
        return await create(deps, caller, new, problems, link_id=link_id)
    except Invalid:
        made = await _made(deps, caller, link_id)
        if made is None:
            raise
        return made


async def change(deps: Deps, caller: Caller, link_id: UUID, wanted: LinkChange, problems: Problems) -> Link:
    """Fields that `wanted` does not send stay as they are. Raises NotFound before it looks at the input."""
    account = caller.account.id
    link = await find(deps, caller, link_id)
    checks.together_on_change(wanted, problems)
    checks.fields_in_general(deps, wanted, problems)
    url = await checks.destination(deps, account, wanted, problems)
    domain = await checks.domain_is_theirs(deps, account, wanted, problems)
    checks.length(_changed(deps, link, wanted, url, domain, None).destination_url, problems)
    await checks.pixels_are_theirs(deps, account, wanted, problems)
    await checks.slug_is_free(deps, account, wanted.slug, link_id, problems)
    await checks.image_has_room(deps, account, wanted, link.og_image_bytes, problems)
    seen = await checks.look(deps, account, wanted, url, problems)
    async with _kept_if_saved(deps, seen.image) as image, deps.db.write() as tx:
        before = _there(await store.find_for_change(tx, account, link_id))  # it may be another by now
        after = _changed(deps, before, wanted, url, domain, image)
        checks.length(after.destination_url, problems)
        await checks.pixels_are_still_theirs(tx, account, wanted, problems)
        await _move_slug(tx, before, after)  # first the slug, then the domain, as in `create`: nobody waits in a circle
        await checks.reserve_domain(tx, before.domain_id, after.domain_id, problems)
        problems.raise_if_any()
        if after == before:
            return before
        after = replace(after, updated_at=deps.clock())
        await store.save(tx, before, after)
        await _count_image(tx, account, after.og_image_bytes - before.og_image_bytes)
        slugs = sorted({before.slug, after.slug})
        await store.announce(tx, slugs, after.updated_at)
    deps.routes_changed(slugs)
    if before.og_image_media != after.og_image_media:
        await media.discard(deps.media, before.og_image_media)
    return after


async def delete(deps: Deps, caller: Caller, link_id: UUID) -> None:
    async with deps.db.write() as tx:
        link = _there(await store.find_for_change(tx, caller.account.id, link_id))
        now = deps.clock()
        await store.mark_deleted(tx, link, now)
        await store.announce(tx, [link.slug], now)
    deps.routes_changed([link.slug])
    await media.discard(deps.media, link.og_image_media)


async def find(deps: Deps, caller: Caller, link_id: UUID) -> Link:
    async with deps.db.point_read() as tx:
        return _there(await store.find(tx, caller.account.id, link_id))


async def preview(deps: Deps, caller: Caller, address: str) -> PagePreview:
    """What the page at a destination says of itself. Raises Invalid as `create` would."""
    new, problems = parse(NewLink, {"destination_url": address})
    checks.required_on_create(new, problems)
    url = await checks.destination(deps, caller.account.id, new, problems)
    seen = await checks.look(deps, caller.account.id, new, url, problems)
    return seen.preview or PagePreview()


async def slug_state(deps: Deps, caller: Caller, slug: str, link_id: UUID | None) -> tuple[SlugState, str]:
    """What a form says of a slug before it is sent, and the fault where there is one; decides nothing."""
    if fault := rules.slug_problem(slug, deps.reserved):
        return "refused", fault
    async with deps.db.read() as tx:
        held = await store.holder(tx, slug)
    return rules.slug_state(held, caller.account.id, link_id)


async def _made(deps: Deps, caller: Caller, link_id: UUID) -> Link | None:
    async with deps.db.point_read() as tx:
        return await store.find(tx, caller.account.id, link_id)


def _created(deps: Deps, link: Link) -> webhooks.Event:
    data = to_json(link, shared_domain=deps.shared_domain, base_url=deps.base_url, now=link.created_at)
    return webhooks.Event("link.created", link.account_id, link.id, link.created_at, data)


def _there(link: Link | None) -> Link:
    if link is None:
        raise NotFound
    return link


@asynccontextmanager
async def _kept_if_saved(deps: Deps, image: CleanImage | None) -> AsyncIterator[Hosted | None]:
    """The image's file is on the disk before any row names it, and goes if none will."""
    hosted = await media.keep(deps.media, image) if image else None
    try:
        yield hosted
    except BaseException:
        await media.discard(deps.media, hosted.name if hosted else None)
        raise


async def _count_image(tx: Tx, account: UUID, difference: int) -> None:
    if not await auth.adjust_image_bytes(tx, account, difference, limit=rules.MAX_IMAGES_MB << 20):
        raise Invalid({"og_image_file": [rules.NO_ROOM_FOR_IMAGE]})


def _changed(
    deps: Deps, link: Link, wanted: LinkChange, url: Url | None, domain: UUID | None, image: Hosted | None
) -> Link:
    return drafts.changed(link, wanted, url, domain=domain, hosted_image=image, base_url=deps.base_url)


async def _claimed(deps: Deps, tx: Tx, draft: Link) -> str:
    """The slug, now this link's. Raises Invalid when a chosen one is taken; a generated one is tried anew."""
    if draft.slug:
        if not await store.claim(tx, draft.slug, account_id=draft.account_id, link_id=draft.id):
            raise Invalid({"slug": [rules.SLUG_TAKEN]})
        return draft.slug
    for attempt in itertools.count():
        slug = rules.generated_slug(attempt, deps.reserved)
        if await store.claim_unused(tx, slug, account_id=draft.account_id, link_id=draft.id):
            break
    return slug


async def _move_slug(tx: Tx, before: Link, after: Link) -> None:
    """Both slugs' rows are locked in the order of their names: two links that swap slugs cannot wait for each other."""
    if before.slug == after.slug:
        return
    if before.slug < after.slug:
        await store.release(tx, before.slug)
    if not await store.claim(tx, after.slug, account_id=after.account_id, link_id=after.id):
        raise Invalid({"slug": [rules.SLUG_TAKEN]})
    if before.slug > after.slug:
        await store.release(tx, before.slug)
