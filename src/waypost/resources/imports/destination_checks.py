"""Visits the destinations of imported links, slowly. It switches nothing off, and lists what has a problem.

The job runs for some seconds, then again behind the jobs of others.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from waypost.database import Database, Tx
from waypost.kit.clock import Clock
from waypost.kit.urls import BadUrl
from waypost.outbound import DestinationChecker, NotPublic, Unreachable, Unsafe
from waypost.resources.imports import store
from waypost.resources.imports.model import Import
from waypost.resources.links import routing
from waypost.resources.links import store as link_store
from waypost.resources.links.rules import NOT_PUBLIC
from waypost.worker.jobs import Again, Job

AT_ONCE = 4
TURN = 15.0
"""Seconds until nothing further is begun. A job may run for 50, and a check takes up to 30."""
UNSAFE = "The destination URL was flagged as unsafe."


_MAX_LISTED = 100


async def warnings_about_destinations(tx: Tx, import_: Import) -> list[str]:
    """Return what the checks of the links that the import found have shown so far, the newest first."""
    problems = await store.list_problems(tx, import_, limit=_MAX_LISTED)
    links = await link_store.find_own(tx, import_.account_id, [id_ for id_, _ in problems])
    return [problem.rstrip(".") for id_, problem in problems if id_ in links]


@dataclass(frozen=True, slots=True)
class DestinationChecks:
    """Handles the job."""

    db: Database
    checker: DestinationChecker
    clock: Clock
    monotonic: Callable[[], float] = time.monotonic

    async def __call__(self, job: Job) -> Again | None:
        if job.account_id is None:
            return None
        ends_at, is_more_left = self.monotonic() + TURN, True
        while is_more_left and self.monotonic() < ends_at:
            is_more_left = await self._check_some(job.account_id, ends_at)
        return Again(self.clock()) if is_more_left else None

    async def _check_some(self, account_id: UUID, ends_at: float) -> bool:
        async with self.db.read() as tx:
            ids = await store.find_unchecked(tx, account_id, limit=AT_ONCE)
            links = await link_store.find_own(tx, account_id, ids)
            routed = await routing.find_of_links(tx, ids)
        if not ids:
            return False
        urls = {id_: [link.destination_url] for id_, link in links.items()}
        for id_, of_link in routed.items():
            urls.setdefault(id_, []).extend(sorted(of_link.destinations))
        checks = (self._find_problem_of(account_id, of_link, ends_at) for of_link in urls.values())
        problems = dict(zip(urls, await asyncio.gather(*checks), strict=True))
        async with self.db.write() as tx:
            await store.save_checks(tx, {id_: problems.get(id_) for id_ in ids}, self.clock())
        return True

    async def _find_problem_of(self, account_id: UUID, urls: Sequence[str], ends_at: float) -> str | None:
        """Return the first problem, with its URL. Only the first URL is checked for certain: others may be too slow."""
        for number, url in enumerate(dict.fromkeys(urls)):
            if number and self.monotonic() >= ends_at:
                break
            if problem := await self._find_problem(account_id, url):
                return f"{url}: {problem}"
        return None

    async def _find_problem(self, account_id: UUID, destination: str) -> str | None:
        """Raises Unavailable: the job is then retried."""
        try:
            await self.checker.fetch_metadata(self.checker.canonical(destination), account=account_id)
        except NotPublic:
            return NOT_PUBLIC
        except Unsafe:
            return UNSAFE
        except (Unreachable, BadUrl) as error:
            reason = error.in_words if isinstance(error, Unreachable) else error
            return f"The destination URL could not be reached: {reason}."
        return None
