"""Checks routed destinations again. Visitors are not sent to one that became unsafe until it is sent in a `PUT` again.

Only the rule, variant or fallback with this destination is affected. While Safe Browsing is unavailable, every URL
counts as safe: so a destination that was unsafe once stays so here.
"""

from collections.abc import Sequence
from dataclasses import replace

import structlog

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.kit.urls import BadUrl
from waypost.outbound import DestinationChecker, NotPublic, Unsafe
from waypost.resources.links import routing, store
from waypost.resources.links.routes.changes import Routes
from waypost.resources.links.routing import LinkRouting

log = structlog.get_logger(__name__)


async def recheck(
    db: Database,
    checker: DestinationChecker,
    due: Sequence[LinkRouting],
    routes: Routes,
    clock: Clock,
) -> None:
    unsafe = {url for url in {url for each in due for url in each.destinations} if await _is_unsafe(checker, url)}
    ids, slugs = [each.link_id for each in due], []
    async with db.write() as tx:
        links = {link.id: link for link in await store.lock_any(tx, ids)}
        now = clock()
        for link_id, stored in (await routing.find_of_links(tx, ids)).items():  # it may have changed since
            found = (stored.destinations & unsafe).difference(stored.unsafe_urls)
            urls = sorted(found.union(stored.unsafe_urls))
            await routing.save(tx, replace(stored, checked_at=now, unsafe_urls=urls))
            if found and link_id in links:
                slugs.append(links[link_id].slug)
                log.warning("routed destination unsafe", slug=links[link_id].slug, urls=sorted(found))
        await routes.changed(tx, slugs)


async def _is_unsafe(checker: DestinationChecker, url: str) -> bool:
    try:
        await checker.check_url(checker.canonical(url))
    except (Unsafe, NotPublic, BadUrl):
        return True
    return False
