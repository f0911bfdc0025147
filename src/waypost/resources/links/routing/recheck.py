"""Checks routed destinations again. Visitors are not sent to one that became unsafe until it is sent in a `PUT` again.

Only the rule, variant or fallback with this destination is affected. While Safe Browsing is unavailable, every URL
counts as safe: so a destination that was unsafe once stays so here.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import structlog

from waypost.context import Context
from waypost.kit.urls import BadUrl
from waypost.outbound import DestinationChecker, NotPublic, Unsafe
from waypost.resources.links import routing, store
from waypost.resources.links.routing import LinkRouting

_RECHECK_AFTER = timedelta(hours=6)
_RECHECKED_AT_ONCE = 100
"""Links in one step. A link has at most 31 destinations."""

log = structlog.get_logger(__name__)


class RoutingRecheck:
    def __init__(self, context: Context, checker: DestinationChecker) -> None:
        self._context = context
        self._checker = checker

    async def step(self) -> bool:
        """Check the links that are due, some at once."""
        async with self._context.db.read() as tx:
            due = await routing.find_unchecked(tx, self._context.clock() - _RECHECK_AFTER, _RECHECKED_AT_ONCE)
        if due:
            await self._recheck(due)
        return len(due) == _RECHECKED_AT_ONCE

    async def _recheck(self, due: Sequence[LinkRouting]) -> None:
        urls_due = {url for each in due for url in each.destinations}
        unsafe = {url for url in urls_due if await _is_unsafe(self._checker, url)}
        ids, slugs = [each.link_id for each in due], []
        async with self._context.db.write() as tx:
            links = {link.id: link for link in await store.lock_any(tx, ids)}
            now = self._context.clock()
            for link_id, stored in (await routing.find_of_links(tx, ids)).items():  # it may have changed since
                found = (stored.destinations & unsafe).difference(stored.unsafe_urls)
                urls = sorted(found.union(stored.unsafe_urls))
                await routing.save(tx, replace(stored, checked_at=now, unsafe_urls=urls))
                if found and link_id in links:
                    slugs.append(links[link_id].slug)
                    log.warning("routed destination unsafe", slug=links[link_id].slug, urls=sorted(found))
            await self._context.routes.changed(tx, slugs)


async def _is_unsafe(checker: DestinationChecker, url: str) -> bool:
    try:
        await checker.check_url(checker.canonical(url))
    except (Unsafe, NotPublic, BadUrl):
        return True
    return False
