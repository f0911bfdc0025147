"""An account's end. At once: nobody gets in any more, and its links lead nowhere. Afterwards, in steps: all else.

Refuses to let go of slugs: what was printed once must not lead to somebody else, so they stay taken for good.
"""

import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Table, delete, func, select, update

from waypost import auth
from waypost.auth import Account, passkeys, past_addresses, sessions, store, tokens
from waypost.auth.cache_version import invalidating_callers
from waypost.auth.sessions import Session
from waypost.database import Database, Tx
from waypost.kit.clock import Clock
from waypost.kit.errors import NotFound
from waypost.resources import domains, plan
from waypost.resources.account.deps import Deps
from waypost.resources.clicks.model import click_dimensions, click_totals, clicks, visitor_days
from waypost.resources.clicks.stats.aggregate import rollups
from waypost.resources.domains import service as domain_service
from waypost.resources.domains import store as domain_store
from waypost.resources.links import media
from waypost.resources.links import store as link_store
from waypost.resources.links.model import ALIVE, link_clicks, link_tags, links, slugs
from waypost.resources.pixels import link_pixels, pixels
from waypost.resources.qrcodes.model import qr_looks, qr_scans
from waypost.resources.webhooks.delivery import queue
from waypost.resources.webhooks.model import webhook_deliveries, webhooks
from waypost.worker import jobs, mail
from waypost.worker.model import Job

JOB = "account.close"
_AT_ONCE = 500
"""Rows of one transaction: nobody else waits for longer than it takes to write them."""
_LONGEST = 30.0  # seconds of one job; what is left then is another one's
_AFTER = timedelta(minutes=1)  # by then the visits that were answered before the end are stored, and are found
_PHASES = ("links", "clicks", "rest")


async def what_ends(deps: Deps, account: Account) -> dict[str, Any]:
    """For its owner to read before: how many links, and what is paid."""
    async with deps.signing.db.read() as tx:
        links = await auth.count_links(tx, account.id)
        return {"links": links, "pays": await plan.pays(tx, account.id), "tries": deps.signing.new_plan == "trial"}


async def close(deps: Deps, session: Session) -> None:
    """What is too much for one transaction of the links ends within seconds. There is no way back."""
    db, account_id, now = deps.signing.db, session.account.id, deps.signing.clock()
    keys = deps.signing.address_keys
    nobody = {"email": f"{account_id}@closed.invalid", "name": "", "password_hash": None, "confirmed_at": None}
    with invalidating_callers(db):
        async with db.write() as tx:
            before = await store.account_with(tx, account_id)
            if before is None or await store.change(tx, account_id, now, closed_at=now, **nobody) is None:
                raise NotFound
            await past_addresses.remember(tx, keys, before, now)
            await store.remove_keys(tx, account_id)
            await passkeys.remove_all(tx, account_id)
            await tokens.end_all(tx, account_id)
            await sessions.end_all(tx, account_id)
            await plan.cancel_later(tx, account_id, now)
            ended = await _end_links(tx, account_id, now, waits=False)
            images = [each.image for each in ended if each.image]  # whose files nothing names any more but this job
            first = {"phase": _PHASES[0], "images": images}
            await jobs.enqueue(tx, JOB, first, now=now, account_id=account_id)
    deps.routes_changed([each.slug for each in ended])


class Ended(NamedTuple):
    id: UUID
    slug: str
    image: str | None
    """File name of one that we host."""


@dataclass(frozen=True, slots=True)
class AccountDeletion:
    """The handler of `account.close`: one phase after the other, each begun anew where it was cut off."""

    db: Database
    routes_changed: Callable[[Sequence[str]], None]
    domains: domains.Deps
    media: Path
    clock: Clock

    async def __call__(self, job: Job) -> None:
        if job.account_id is None:
            return
        for name in job.payload.get("images", ()):
            await media.discard(self.media, name)
        phase = job.payload["phase"]
        steps = {"links": self._links, "clicks": self._clicks, "rest": self._rest}[phase](job.account_id)
        is_done = await _within(_LONGEST, steps)
        now, at = self.clock(), _PHASES.index(phase)
        if is_done and at + 1 == len(_PHASES):
            return
        following = {"phase": _PHASES[at + 1] if is_done else phase}
        run_at = now + _AFTER if is_done and phase == "links" else now
        async with self.db.write() as tx:
            await jobs.enqueue(tx, JOB, following, now=now, run_at=run_at, account_id=job.account_id)

    async def _links(self, account_id: UUID) -> AsyncGenerator[None, None]:
        """All that anybody outside could notice: links, names, pixels, subscriptions."""
        is_more_left = True
        while is_more_left:
            async with self.db.write() as tx:
                ended = await _end_links(tx, account_id, self.clock())
            self.routes_changed([each.slug for each in ended])
            for each in ended:
                await media.discard(self.media, each.image)
            is_more_left = len(ended) >= _AT_ONCE
            if ended:  # a step that does nothing is none: whoever is cut off after it would do it for ever
                yield
        async with self.db.write() as tx:
            await tx.execute(delete(pixels).where(pixels.c.account_id == account_id))
        for webhook_id in await self._ids(webhooks, account_id):
            async for _ in self._webhook(webhook_id):
                yield
        for domain_id in await self._ids(domains.domains, account_id):
            await self._domain(account_id, domain_id)
            yield

    async def _webhook(self, webhook_id: UUID) -> AsyncGenerator[None, None]:
        its = webhook_deliveries.c.webhook_id == webhook_id
        some = webhook_deliveries.c.id.in_(select(webhook_deliveries.c.id).where(its).limit(_AT_ONCE))
        is_more_left = True
        while is_more_left:
            async with self.db.write() as tx:
                await queue.lock(tx)
                is_more_left = (await tx.execute(delete(webhook_deliveries).where(some))).rowcount >= _AT_ONCE
                if not is_more_left:
                    await tx.execute(delete(webhooks).where(webhooks.c.id == webhook_id))
            yield

    async def _domain(self, account_id: UUID, domain_id: UUID) -> None:
        async with self.db.write() as tx:
            domain = await domain_store.find_for_change(tx, account_id, domain_id)
            publish = await domain_service.remove(self.domains, tx, domain) if domain else None
        if publish:
            publish()

    async def _ids(self, table: Table, account_id: UUID) -> Sequence[UUID]:
        async with self.db.read() as tx:
            return (await tx.execute(select(table.c.id).where(table.c.account_id == account_id))).scalars().all()

    async def _clicks(self, account_id: UUID) -> AsyncGenerator[None, None]:
        """With what is added up of them."""
        for day in await self._days():
            while await self._has_clicks(account_id, day):
                async with self.db.write() as tx:
                    await rollups.lock(tx)
                    await _remove_clicks(tx, account_id, day)
                yield

    async def _has_clicks(self, account_id: UUID, day: int) -> bool:
        """Looking takes no write lock, and on most days there is nothing."""
        some = select(clicks.c.id).where(clicks.c.day == day, clicks.c.account_id == account_id).limit(1)
        async with self.db.read() as tx:
            return (await tx.execute(some)).first() is not None

    async def _rest(self, account_id: UUID) -> AsyncGenerator[None, None]:
        """Rows of links, found in the order of their ids: no index leads to those that have ended."""
        page = select(links.c.id).where(links.c.account_id == account_id).order_by(links.c.id).limit(_AT_ONCE)
        after = UUID(int=0)
        while True:
            async with self.db.read() as tx:
                found = (await tx.execute(page.where(links.c.id > after))).scalars().all()
            if not found:
                break
            async with self.db.write() as tx:
                for table in (link_clicks, qr_looks, qr_scans):
                    await tx.execute(delete(table).where(table.c.link_id.in_(found)))
                await tx.execute(delete(links).where(links.c.id.in_(found)))
            after = found[-1]
            yield
        async with self.db.write() as tx:
            await mail.forget(tx, account_id)
            await store.delete_account(tx, account_id)

    async def _days(self) -> list[int]:
        """On which anybody's links were clicked, from one to the next."""
        found: list[int] = []
        async with self.db.read() as tx:
            day = await tx.scalar(select(func.min(clicks.c.day)))
            while day is not None:
                found.append(day)
                day = await tx.scalar(select(func.min(clicks.c.day)).where(clicks.c.day > day))
        return found


async def _within(seconds: float, steps: AsyncGenerator[None, None]) -> bool:
    """Whether all of them were done."""
    end = time.monotonic() + seconds
    async with contextlib.aclosing(steps) as running:
        async for _ in running:
            if time.monotonic() > end:
                return False
    return True


async def _end_links(tx: Tx, account_id: UUID, now: datetime, *, waits: bool = True) -> Sequence[Ended]:
    """Some of them: their routes are dropped, their slugs stay taken.

    Who holds the account must not wait for links: whoever is changing one may come to wait for the account.
    """
    mine = select(links.c.id, links.c.slug, links.c.og_image_media).where(links.c.account_id == account_id, ALIVE)
    some = mine.limit(_AT_ONCE).with_for_update(skip_locked=not waits)
    ended = [Ended(*row) for row in await tx.execute(some)]
    if not ended:
        return ended
    ids = [each.id for each in ended]
    await tx.execute(update(links).where(links.c.id.in_(ids)).values(deleted_at=now, og_image_media=None))
    await tx.execute(update(slugs).where(slugs.c.slug.in_([each.slug for each in ended])).values(link_id=None))
    await tx.execute(delete(link_tags).where(link_tags.c.account_id == account_id, link_tags.c.link_id.in_(ids)))
    await tx.execute(delete(link_pixels).where(link_pixels.c.link_id.in_(ids)))
    await link_store.announce(tx, [each.slug for each in ended], now)
    return ended


async def _remove_clicks(tx: Tx, account_id: UUID, day: int) -> None:
    """Some of a day, with the figures of their links and what was known of their visitors."""
    mine = clicks.c.day == day, clicks.c.account_id == account_id
    found = (
        await tx.execute(select(clicks.c.id, clicks.c.link_id, clicks.c.visitor_id).where(*mine).limit(_AT_ONCE))
    ).all()
    subjects = {account_id, *(each.link_id for each in found)}
    visitors = {each.visitor_id for each in found}
    for table in (click_totals, click_dimensions):
        await tx.execute(delete(table).where(table.c.day == day, table.c.subject_id.in_(subjects)))
    seen = visitor_days.c.visitor_id.in_(visitors), visitor_days.c.subject_id.in_(subjects)
    await tx.execute(delete(visitor_days).where(visitor_days.c.day == day, *seen))
    await tx.execute(delete(clicks).where(clicks.c.id.in_([each.id for each in found])))
