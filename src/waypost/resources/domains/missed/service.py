"""Counts missed addresses, and lists them."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

from waypost.accounts import Caller
from waypost.context import Context
from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.kit.pagination import Page, PageRequest
from waypost.redirect import MissedVisits
from waypost.resources.domains import store as domain_store
from waypost.resources.domains.missed import rules, store
from waypost.resources.domains.missed.model import SHARED, MissedAddress


async def count_missed(db: Database, clock: Clock, found: Sequence[MissedVisits], shared_domain: str) -> None:
    """Store what people missed. Raises Unavailable."""
    of_hosts = await asyncio.to_thread(rules.worth_showing, found)  # visitors must not wait for it
    if not of_hosts:
        return
    now = clock()
    async with db.write() as tx:
        ids = {**await store.find_domains(tx, of_hosts.keys()), shared_domain: SHARED}
        for host, visits in of_hosts.items():
            if host in ids:
                await store.add(tx, ids[host], visits, now)


async def list_missed(context: Context, caller: Caller, domain_id: UUID, request: PageRequest) -> Page[MissedAddress]:
    """Raises NotFound."""
    async with context.db.read() as tx:
        await domain_store.get(tx, caller.account.id, domain_id)
        return Page(*await store.list_page(tx, domain_id, context.clock(), request), request)


async def list_missed_of_shared_domain(context: Context, request: PageRequest) -> Page[MissedAddress]:
    """For operators."""
    async with context.db.read() as tx:
        return Page(*await store.list_page(tx, SHARED, context.clock(), request), request)


async def delete_old(context: Context) -> bool:
    """A step of the worker."""
    async with context.db.write() as tx:
        await store.delete_old(tx, context.clock())
    return False
