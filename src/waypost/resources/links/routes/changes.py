"""Changed routes: recorded in the transaction that changes them, and published to redirects after its commit."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from uuid import UUID

from sqlalchemy import Text, cast, delete, func, insert, select
from sqlalchemy.dialects import postgresql

from waypost.database import Tx, after_commit
from waypost.kit.clock import Clock
from waypost.redirect import ALL_ROUTES, InvalidateRoutes, host_change, pixel_change
from waypost.resources import domains
from waypost.resources.links.model import NOT_DELETED, ROUTE_CHANNEL, links, route_changes

_RETENTION = timedelta(hours=1)
_MAX_CHANGES = 2_000
"""Of an account with more links and domains, all routes are invalidated, of other accounts as well."""


class Routes:
    def __init__(self, publish: InvalidateRoutes, clock: Clock) -> None:
        self._publish = publish
        self._clock = clock

    async def changed(self, tx: Tx, changes: Sequence[str]) -> None:
        """Invalidate routes by slugs, hostnames, and other messages of `waypost.redirect`.

        They are recorded for other machines, and for this one in case the process dies after the commit.
        """
        if not changes:
            return
        if tx.dialect.name == "postgresql":
            messages = func.unnest(cast(list(changes), postgresql.ARRAY(Text)))
            await tx.execute(select(func.pg_notify(ROUTE_CHANNEL, messages)))
        else:
            now = self._clock()
            await tx.execute(insert(route_changes), [{"slug": change, "at": now} for change in changes])
            await tx.execute(delete(route_changes).where(route_changes.c.at < now - _RETENTION))
        after_commit(tx, partial(self._publish, changes))

    async def pixel_changed(self, tx: Tx, pixel_id: UUID) -> None:
        """Invalidate the routes of all links with this pixel."""
        await self.changed(tx, [pixel_change(pixel_id)])

    async def host_changed(self, tx: Tx, hostname: str) -> None:
        """Invalidate the route of the host and those of all its links."""
        await self.changed(tx, [host_change(hostname)])

    async def host_pages_changed(self, tx: Tx, hostname: str) -> None:
        """Invalidate the route of the host, which visits follow that match no link."""
        await self.changed(tx, [hostname])

    async def account_changed(self, tx: Tx, account_id: UUID) -> None:
        """Invalidate the routes of all links and domains of the account."""
        query = select(links.c.slug).where(links.c.account_id == account_id, NOT_DELETED)
        slugs = await tx.scalars(query.limit(_MAX_CHANGES + 1))
        hostnames = await domains.find_hostnames(tx, account_id, limit=_MAX_CHANGES + 1)
        changes = [*slugs, *(host_change(hostname) for hostname in hostnames)]
        await self.changed(tx, changes if len(changes) <= _MAX_CHANGES else [ALL_ROUTES])
