"""Stores reports that visitors send. Those beyond the limits are dropped; reporters get the same answer."""

from uuid import UUID

import structlog

from waypost.accounts import RateLimiters
from waypost.database import Database
from waypost.http.client_address import rate_limit_key
from waypost.kit.clock import Clock
from waypost.redirect.report_pages import LinkReport
from waypost.resources import links
from waypost.resources.reports import store

PER_NETWORK = 3
"""Reports per minute of an IPv4 address or a /48."""
PER_LINK = 10
IN_ALL = 60

log = structlog.get_logger(__name__)


class ReportIntake:
    def __init__(self, db: Database, limiters: RateLimiters, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._per_network = limiters.new("report_networks", limit=PER_NETWORK, slots=4_096)
        self._per_link = limiters.new("report_links", limit=PER_LINK, slots=1_024)
        self._all = limiters.new("reports", limit=IN_ALL, slots=16)

    async def store(self, link: bytes, report: LinkReport, address: str) -> None:
        """Raises Unavailable. `link`: its id in hex; `address`: the reporter's.

        The limits have this order, so that one network or one link uses up nothing of others.
        """
        link_id, client = UUID(link.decode()), rate_limit_key(address)
        for limiter, key in ((self._per_network, client[:6]), (self._per_link, link_id.bytes), (self._all, b"all")):
            if not (await limiter.take(key)).allowed:
                return
        async with self._db.write() as tx:
            accounts = await links.find_accounts(tx, [link_id])
            if link_id not in accounts:
                return
            await store.add(tx, link_id, accounts[link_id], report, self._clock())
        log.info("link reported", link=str(link_id), reason=report.reason)
