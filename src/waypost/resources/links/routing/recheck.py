"""Checks routed destinations again. Visitors are not sent to one that became unsafe until it is sent in a `PUT` again.

Only the rule, variant or fallback with this destination is affected. While Safe Browsing is unavailable, every URL
counts as safe: so a destination that was unsafe once stays so here.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import timedelta

import structlog

from waypost.context import Context
from waypost.kit.urls import BadUrl, Url
from waypost.outbound import DestinationChecker, NotPublic
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
        unsafe = await _find_unsafe(self._checker, {url for each in due for url in each.destinations})
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


async def _find_unsafe(checker: DestinationChecker, texts: Collection[str]) -> set[str]:
    """Return those that `check_url` would refuse. Safe Browsing is asked about all of them together."""
    urls, unsafe = dict[str, Url](), set[str]()
    for text in texts:
        try:
            url = checker.canonical(text)
            await checker.check_ip(url)
        except (NotPublic, BadUrl):
            unsafe.add(text)
        else:
            urls[text] = url
    listed = await checker.find_unsafe({*urls.values()})
    return unsafe | {text for text, url in urls.items() if url in listed}
