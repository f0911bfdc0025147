"""Create, change, delete and get links. Each function opens its own transaction; nothing slow runs inside."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from uuid import UUID

from waypost import accounts, audit
from waypost.context import Context
from waypost.database import Tx
from waypost.kit.errors import Invalid, Problems
from waypost.kit.fair_queue import TimeBudget
from waypost.kit.fields import text_problem
from waypost.kit.ids import new_id
from waypost.kit.slug_style import DEFAULT_SLUGS
from waypost.resources import domains, pixels, webhooks
from waypost.resources.links import checks, rules, store
from waypost.resources.links.apply import apply
from waypost.resources.links.deps import Deps
from waypost.resources.links.images.media import UploadedImage
from waypost.resources.links.model import Link
from waypost.resources.links.routing import change as routing_change
from waypost.resources.links.routing import find as find_routing
from waypost.resources.links.routing.change import RoutedLink, RoutingDraft
from waypost.resources.links.routing.schemas import RoutingFields
from waypost.resources.links.schemas import LinkChange, LinkFields, NewLink, to_json
from waypost.resources.links.tags import store as tags

_NOT_AUDITED = (
    *("id", "account_id", "domain_id", "clicks", "og_image_bytes", "utm_params"),  # these are in the destination
    *("created_at", "created_by", "updated_at", "changed_by", "folded_slug"),
    *("starts_at", "click_limit"),  # these are in the entry of the routing
)


_DRAWN = 12
"""Slugs of which one is free: the last ones are longer."""


async def create(
    deps: Deps,
    caller: accounts.Caller,
    new: NewLink,
    problems: Problems,
    *,
    routing: RoutingFields | None = None,
    link_id: UUID | None = None,
    wait: TimeBudget | None = None,
) -> Link:
    """Create a link. Raises Invalid with all problems together: `problems` of the input, and those found here.

    `routing`: None for a link without. `wait`: how long to wait for other checks of destinations. None: the usual time.
    """

    def plan(facts: rules.Facts) -> rules.LinkPlan:
        now, base_url = deps.clock(), deps.base_url
        link = rules.new_link(account, new, facts, base_url=base_url, link_id=link_id or own_id, now=now)
        planned = rules.plan(None, link, by=caller.actor.label, at=now)
        planned.add_problems(problems)
        return planned

    account, own_id = caller.account.id, new_id()
    new.check_required(problems)
    facts, draft = await _check(deps, account, None, new, routing, plan, problems, wait)
    async with caller.commit(deps.db, _deleted_on_failure(deps, facts.image)) as tx:
        await lock_pixels(tx, account, new, problems)
        [link] = await apply(deps, tx, account, [plan(facts)], problems)
        problems.raise_if_any()
        item, changes = item_of(link, deps), {"destination_url": [None, audit.plain(link.destination_url)]}
        await audit.record(tx, caller.actor, "link.created", link.created_at, item, changes=changes)
        if draft:
            link, _ = await routing_change.apply(deps, tx, caller, RoutedLink(link, None), draft)
        await webhooks.record(tx, _created_event(deps, link))
    return link


async def create_once(
    deps: Deps,
    caller: accounts.Caller,
    new: NewLink,
    problems: Problems,
    link_id: UUID,
    *,
    routing: RoutingFields | None = None,
    wait: TimeBudget | None = None,
) -> Link:
    """Create a link once per `link_id`: repeated and concurrent submissions return the same link."""
    existing = await _find_or_none(deps, caller, link_id)
    if existing is not None:
        return existing
    try:
        return await create(deps, caller, new, problems, routing=routing, link_id=link_id, wait=wait)
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
    *,
    routing: RoutingFields | None = None,
) -> Link:
    """Change a link. Raises NotFound before Invalid.

    `routing`: what of it changes in the same transaction; the caller's version is then that of a RoutedLink.
    """
    async with _changed(deps, caller, link_id, change, problems, routing=routing) as (tx, before, after):
        shown = (replace(link, hostname=link.hostname or deps.shared_domain) for link in (before, after))
        if changes := audit.compare(*shown, ignored=_NOT_AUDITED):
            item = item_of(after, deps)
            await audit.record(tx, caller.actor, "link.updated", after.updated_at, item, changes=changes)
    return after


async def change_as_part(
    deps: Deps, caller: accounts.Caller, link_id: UUID, change: LinkChange, problems: Problems, *, wait: TimeBudget
) -> Link:
    """Change a link as a part of a change that the audit log has. `wait`: as for `create`."""
    async with _changed(deps, caller, link_id, change, problems, wait=wait) as (_, _, after):
        return after


@asynccontextmanager
async def _changed(
    deps: Deps,
    caller: accounts.Caller,
    link_id: UUID,
    change: LinkChange,
    problems: Problems,
    *,
    routing: RoutingFields | None = None,
    wait: TimeBudget | None = None,
) -> AsyncIterator[tuple[Tx, Link, Link]]:
    """Change a link. Yields its transaction, and the link before and after."""

    def plan(before: Link, facts: rules.Facts) -> rules.LinkPlan:
        link = rules.changed(before, change, facts, base_url=deps.base_url)
        planned = rules.plan(before, link, by=caller.actor.label, at=deps.clock())
        planned.add_problems(problems)
        return planned

    account = caller.account.id
    async with deps.db.point_read() as tx:
        link = await store.get(tx, account, link_id)
        current = RoutedLink(link, await find_routing(tx, link_id) if routing else None)
    caller.require_current(current if routing else link)
    checks.check_combination(change, problems)
    facts, draft = await _check(deps, account, current, change, routing, partial(plan, link), problems, wait)
    async with _deleted_on_failure(deps, facts.image), deps.db.write() as tx:
        before = await store.lock(tx, account, link_id)  # it may have changed since the checks
        stored = await find_routing(tx, link_id) if draft else None
        caller.require_current(RoutedLink(before, stored) if draft else before)
        await lock_pixels(tx, account, change, problems)
        [after] = await apply(deps, tx, account, [plan(before, facts)], problems)
        problems.raise_if_any()
        if draft:
            after, _ = await routing_change.apply(deps, tx, caller, RoutedLink(after, stored), draft)
        yield tx, before, after
    if before.og_image_file_name != after.og_image_file_name:
        await deps.image_store.delete(before.og_image_file_name)


async def _check(
    deps: Deps,
    account: UUID,
    current: RoutedLink | None,
    fields: LinkFields,
    routing: RoutingFields | None,
    plan: Callable[[rules.Facts], rules.LinkPlan],
    problems: Problems,
    wait: TimeBudget | None,
) -> tuple[rules.Facts, RoutingDraft | None]:
    """Make the checks before the transaction, and store an uploaded image. Raises Invalid with all problems."""
    facts = await checks.run_cheap_checks(deps, account, fields, problems, current.link if current else None)
    draft = await routing_change.check_syntax(deps, account, routing, problems) if routing else None
    plan(facts)
    page, image = await checks.run_expensive_checks(deps, account, fields, facts.url, problems, wait=wait)
    draft = await routing_change.fetch(deps, account, current, draft, problems) if draft else None
    return facts._replace(page=page, image=await deps.image_store.save(image) if image else None), draft


async def delete(deps: Deps, caller: accounts.Caller, link_id: UUID) -> None:
    async with deps.db.write() as tx:
        link = await store.lock(tx, caller.account.id, link_id)
        caller.require_current(link)
        await hide(deps, tx, [link])
        await purge(tx, [link])
        await audit.record(tx, caller.actor, "link.deleted", deps.clock(), item_of(link, deps))
    await deps.image_store.delete(link.og_image_file_name)


async def hide(deps: Deps, tx: Tx, links: Sequence[Link]) -> None:
    """Delete links of one account, which the transaction has locked, so that they can be restored until `purge`."""
    if links:
        await store.hide(tx, links, deps.clock())
        await domains.change_links_counts(tx, [(link.domain_id, None) for link in links])
        await tags.change_links_counts(tx, links[0].account_id, [(link.tags, ()) for link in links], deps.clock())
        await accounts.adjust_links_count(tx, links[0].account_id, -len(links))
        if any(link.tags for link in links):
            await accounts.add_label_change(tx, links[0].account_id)
        await deps.routes.changed(tx, [link.slug for link in links])


async def purge(tx: Tx, hidden: Sequence[Link]) -> None:
    """Delete what is left of hidden links of one account. The caller deletes the files of images."""
    if hidden:
        await store.purge(tx, [link.id for link in hidden])
        freed = sum(link.og_image_bytes for link in hidden)
        await accounts.adjust_image_bytes(tx, hidden[0].account_id, -freed, limit=rules.MAX_IMAGES_MB << 20)


async def get(deps: Deps, caller: accounts.Caller, link_id: UUID) -> Link:
    async with deps.db.point_read() as tx:
        return await store.get(tx, caller.account.id, link_id)


async def find_by_url(deps: Deps, caller: accounts.Caller, url: str) -> Link | None:
    """Return the account's link with this short URL or alias."""
    async with deps.db.read() as tx:
        link_id = await store.find_by_url(tx, url.strip())
        return await store.find(tx, caller.account.id, link_id) if link_id else None


async def slug_state(
    deps: Deps, caller: accounts.Caller, slug: str, link_id: UUID | None
) -> tuple[rules.SlugState, str]:
    """Return the state of a slug and the problem with it, for a form. `create` and `change` check it again."""
    if problem := rules.find_slug_problem(slug, deps.reserved):
        return "refused", problem
    async with deps.db.read() as tx:
        owner = await store.find_slug_owner(tx, slug)
    return rules.slug_state(owner, caller.account.id, link_id)


async def find_twin(deps: Deps, caller: accounts.Caller, hostname: str, slug: str, link_id: UUID | None) -> str | None:
    """Return the short URL of another own link on the host whose slug differs only by case, for a warning."""
    async with deps.db.read() as tx:
        domain_id = await _find_domain(tx, caller, hostname)
        if domain_id is None and hostname not in {"", deps.shared_domain}:
            return None
        twin = await store.find_twin(tx, caller.account.id, domain_id, slug, link_id)
    return twin.short_url(deps.shared_domain) if twin else None


async def draw_slug(deps: Deps, caller: accounts.Caller, hostname: str) -> str:
    """Return a random slug by the rule of the domain, for a form. It is not reserved."""
    async with deps.db.read() as tx:
        domain_id = await _find_domain(tx, caller, hostname)
        styles = await domains.find_slug_styles(tx, [domain_id]) if domain_id else {}
        style = styles.get(domain_id, DEFAULT_SLUGS) if domain_id else deps.slug_style
        drawn = [rules.generate_slug(attempt, deps.reserved, style) for attempt in range(_DRAWN)]
        used = await store.find_slug_owners(tx, drawn)
    return next((slug for slug in drawn if slug not in used), drawn[-1])


async def _find_domain(tx: Tx, caller: accounts.Caller, hostname: str) -> UUID | None:
    return None if text_problem(hostname) else await domains.find_id(tx, caller.account.id, hostname)


async def _find_or_none(deps: Deps, caller: accounts.Caller, link_id: UUID) -> Link | None:
    async with deps.db.point_read() as tx:
        return await store.find(tx, caller.account.id, link_id)


def item_of(link: Link, context: Context) -> audit.Item:
    """Return what the audit log calls the link."""
    return audit.Item(link.id, link.short_url(context.shared_domain))


@asynccontextmanager
async def _deleted_on_failure(deps: Deps, image: UploadedImage | None) -> AsyncIterator[None]:
    """Around the transaction that refers to the image. It is stored before."""
    try:
        yield
    except BaseException:
        if image:
            await deps.image_store.delete(image.name)
        raise


async def lock_pixels(tx: Tx, account: UUID, fields: LinkFields, problems: Problems) -> None:
    """Lock the pixels and check them again: only this check counts."""
    if fields.pixels:
        rules.check_pixels(fields, await pixels.lock_own_ids(tx, account, fields.pixels), problems)


def _created_event(deps: Deps, link: Link) -> webhooks.WebhookEvent:
    return webhooks.WebhookEvent("link.created", link.account_id, link.id, link.created_at, to_json(link, deps))
