"""Writes what was planned for links: slugs, rows, tags, pixels, aliases, counters, and the changes of their routes.

One way for one link and for thousands. The caller has locked the links that change and their pixels, and planned from
what it locked; it writes the audit log and the routing.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy.exc import IntegrityError

from waypost import accounts
from waypost.context import Context
from waypost.database import Tx
from waypost.kit.errors import Invalid, NotFound, Problems
from waypost.resources import domains
from waypost.resources.links import aliases, health, rules, store
from waypost.resources.links.aliases import Alias
from waypost.resources.links.labels import labels_of
from waypost.resources.links.model import Link
from waypost.resources.links.rules import LinkPlan
from waypost.resources.links.tags import store as tags


async def apply(context: Context, tx: Tx, account: UUID, plans: Sequence[LinkPlan], problems: Problems) -> list[Link]:
    """Return the links, in the order of the plans, with slugs that were generated.

    `problems` gets what can be found only here. Raises Invalid if a slug, an id or an external ID is in use, and
    NotFound if the account has been deleted: nothing would ever delete its links then.
    """
    after = {plan.after.id: rules.with_folded_slug(plan.before, plan.after) for plan in plans}
    new = [after[plan.after.id] for plan in plans if plan.before is None]
    changed = [plan for plan in plans if plan.before != plan.after]
    changes = [(plan.before, after[plan.after.id]) for plan in changed if plan.before is not None]
    # first the slugs, then domains, tags, links, and the account: transactions wait for each other in the same order
    await _move_slugs(tx, changes, [link for link in new if link.slug])
    without = [link for link in new if not link.slug]
    after |= await store.generate_slugs(tx, without, context.reserved, context.slug_style)
    new = [after[link.id] for link in new]
    moves = [(None, link.domain_id) for link in new] + [(old.domain_id, link.domain_id) for old, link in changes]
    if any(old != new for old, new in moves) and not await domains.change_links_counts(tx, moves):
        problems.add("hostname", rules.NO_SUCH_DOMAIN)
    nothing: list[str] = []
    retags = [(nothing, link.tags) for link in new] + [(old.tags, link.tags) for old, link in changes]
    if any(old != new for old, new in retags):
        await tags.change_links_counts(tx, account, retags, context.clock())
    added = [alias for plan in plans for alias in plan.aliases]
    await _write(tx, new, _search_texts(added), changes)
    if led := [link.id for old, link in changes if old.destination_url != link.destination_url]:
        await health.reset(tx, led, context.clock())
    if added:
        await aliases.add_many(tx, added)
        await store.save_search_texts(tx, [plan.after for plan in plans if plan.before and plan.aliases])
    if new and not await accounts.adjust_links_count(tx, account, len(new)):
        raise NotFound
    if any(labels_of(old) != labels_of(link) for old, link in changes):
        await accounts.add_label_change(tx, account)
    image_bytes = sum(link.og_image_bytes for link in new)
    image_bytes += sum(link.og_image_bytes - old.og_image_bytes for old, link in changes)
    if not await accounts.adjust_image_bytes(tx, account, image_bytes, limit=rules.MAX_IMAGES_MB << 20):
        problems.add("og_image_file", rules.IMAGE_QUOTA_USED)
    rerouted = {after[plan.after.id].slug for plan in plans if plan.reroutes}
    rerouted |= {old.slug for old, _ in changes if old.slug != after[old.id].slug}
    named = [link for link in new if link.folded_slug] + [link for old, link in changes if old.slug != link.slug]
    rerouted |= store.near_changes(named) | aliases.route_changes(added)
    await context.routes.changed(tx, sorted(rerouted))
    return list(after.values())


async def _move_slugs(tx: Tx, changes: Sequence[tuple[Link, Link]], new: Sequence[Link]) -> None:
    """Raises Invalid. Locks the slugs of a link in the order of their names: two links may swap them."""
    renamed = [(old.slug, link) for old, link in changes if old.slug != link.slug]
    await store.release_slugs(tx, [slug for slug, link in renamed if slug < link.slug])
    if await store.reserve_slugs(tx, [*new, *(link for _, link in renamed)]):
        raise Invalid({"slug": [rules.SLUG_TAKEN]})
    await store.release_slugs(tx, [slug for slug, link in renamed if slug > link.slug])


async def _write(
    tx: Tx, new: Sequence[Link], search_texts: Mapping[UUID, str], changes: Sequence[tuple[Link, Link]]
) -> None:
    """Raises Invalid."""
    try:
        is_added = await store.add(tx, new, search_texts)
        await store.save(tx, changes)
    except IntegrityError as error:
        if "external_id" not in str(error.orig):
            raise
        raise Invalid({"options.external_id": [rules.EXTERNAL_ID_TAKEN]}) from None
    if not is_added:
        raise Invalid({"body": [rules.FORM_USED]})


def _search_texts(added: Sequence[Alias]) -> Mapping[UUID, str]:
    paths: dict[UUID, list[str]] = {}
    for alias in added:
        paths.setdefault(alias.link_id, []).append(alias.path)
    return {link_id: aliases.to_search_text(of_link) for link_id, of_link in paths.items()}
