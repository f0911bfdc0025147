"""Visits the destinations of links that are due: a job of which there is one in the service, in short turns.

So a host gets at most one request a second, whatever the number of workers. A destination is asked once for all
links that are due with it. A turn that is stopped has changed nothing: its links are still due.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

import structlog

from waypost.context import Context
from waypost.kit.errors import Unavailable
from waypost.kit.fair_queue import FairQueue
from waypost.kit.urls import BadUrl
from waypost.outbound import HostPace, OutboundError
from waypost.resources.links import routing
from waypost.resources.links import store as link_store
from waypost.resources.links.health import rules, store
from waypost.resources.links.health.model import LinkHealth
from waypost.resources.links.health.rules import DestinationVisit
from waypost.resources.links.health.schedule import next_regular_visit
from waypost.worker.jobs import Again, Job

if TYPE_CHECKING:
    from waypost.outbound import DestinationChecker

_LINKS_PER_TURN = 200
_TIME_LIMIT = 20.0  # seconds
_MAX_CONCURRENT = 16
_PER_ACCOUNT = 4
_HOUR = timedelta(hours=1)
_LEASE = timedelta(hours=2)
"""Until a link is due again whose visit is held: longer than the rest of the hour."""
_DAY = timedelta(days=1)
"""Until inactive links are looked at again."""
_MAX_TURNS = 20
"""For one link: 31 destinations on one host take two turns, if they respond."""
_MAX_BEGUN = 1_000

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Hour:
    """The visits of an hour, for all turns in it."""

    hour: int = 0
    visits: int = 0
    network_failures: int = 0


@dataclass(slots=True)
class Begun:
    """A link whose destinations are so many or so slow that a turn did not visit all."""

    visits: dict[str, DestinationVisit]
    turns: int = 0


class LinkVisits:
    def __init__(
        self,
        context: Context,
        checker: "DestinationChecker",
        days: int,
        *,
        pace: HostPace | None = None,
        turn_seconds: float = _TIME_LIMIT,
    ) -> None:
        """`days`: between two visits of a destination. `turn_seconds`: in which a turn begins visits."""
        self._turn_seconds = turn_seconds
        self._context = context
        self._checker = checker
        self._days = days
        self._pace = pace or HostPace()
        self._begun: dict[UUID, Begun] = {}

    async def run(self, job: Job) -> Again | None:
        """Handle the job."""
        hour = Hour(**job.payload)
        is_more_due = await self.turn(hour)
        if is_more_due:
            return Again(self._context.clock(), payload=asdict(hour))
        if not hour.visits:
            return None
        async with self._context.db.read() as tx:
            due = await store.find_next_due(tx)
        end = datetime.fromtimestamp((hour.hour + 1) * 3_600, self._context.clock().tzinfo)
        return Again(min(due, end) if due else end, payload=asdict(hour))

    async def turn(self, hour: Hour) -> bool:
        """Visit some of the links that are due. Return whether more are."""
        now = self._context.clock()
        current = int(now.timestamp()) // 3_600
        if hour.hour != current:
            await self.settle(hour)
            hour.hour, hour.visits, hour.network_failures = current, 0, 0
        async with self._context.db.read() as tx:
            due = await store.find_due(tx, now, _LINKS_PER_TURN)
            links = {link.id: link for link in await link_store.find_any(tx, [each.link_id for each in due])}
            routed = await routing.find_of_links(tx, list(links))
            suspended = await store.find_suspended(tx, list(links))
        urls = {
            id_: list(dict.fromkeys([link.destination_url, *sorted(routed[id_].destinations if id_ in routed else ())]))
            for id_, link in links.items()
            if link.status_at(now) == "active" and id_ not in suspended
        }
        active = [each for each in due if each.link_id in urls]
        visits = await self._visit_all([(each.account_id, self._unvisited(each, urls)) for each in active])
        hour.visits += len(visits)
        hour.network_failures += sum(visit.failed_at_network for visit in visits.values())
        changes = [(each, replace(each, due_at=now + _DAY)) for each in due if each.link_id not in urls]
        changes += [
            (before, after)
            for before in active
            if (after := self._judge(before, urls[before.link_id], visits)) is not None
        ]
        async with self._context.db.write() as tx:
            await store.save(tx, changes)
            await store.delete_of_links(tx, [each.link_id for each in due if each.link_id not in links])
        return len(due) == _LINKS_PER_TURN or len(changes) < len(links)

    def _unvisited(self, due: LinkHealth, urls: Mapping[UUID, Sequence[str]]) -> Sequence[str]:
        begun = self._begun.get(due.link_id)
        return [url for url in urls[due.link_id] if begun is None or url not in begun.visits]

    def _judge(
        self, before: LinkHealth, urls: Sequence[str], visits: Mapping[str, DestinationVisit]
    ) -> LinkHealth | None:
        """Return the health once all destinations are visited. None: the next turn continues with the others.

        After some turns what was visited decides, and the rest waits for a day.
        """
        begun = self._begun.pop(before.link_id, None) or Begun({})
        begun.visits |= {url: visits[url] for url in urls if url in visits}
        found = [(url, begun.visits[url]) for url in urls if url in begun.visits]
        begun.turns += 1
        if not found:
            return None
        if len(found) < len(urls) and begun.turns < _MAX_TURNS:
            self._begun[before.link_id] = begun
            if len(self._begun) > _MAX_BEGUN:
                del self._begun[next(iter(self._begun))]
            return None
        visit = rules.worst(found)
        if len(found) < len(urls) and visit.result == "ok":
            return replace(before, due_at=self._context.clock() + _DAY)
        return self._after(before, visit, urls[0])

    async def settle(self, hour: Hour) -> None:
        """Count the held visits of an hour that is over. If most of its visits failed, those links are visited again.

        The next hour visits them, or finds the network still down.
        """
        is_ours = not hour.visits or rules.failed_at_network(hour.visits, hour.network_failures)
        if is_ours and hour.visits:
            log.warning("link checks not counted, most failed", visits=hour.visits, failures=hour.network_failures)
        now = self._context.clock()
        is_more_held = True
        while is_more_held:
            async with self._context.db.write() as tx:
                held = await store.find_held(tx, _LINKS_PER_TURN)
                links = {link.id: link for link in await link_store.find_any(tx, [each.link_id for each in held])}
                changes = []
                for before in held:
                    after = replace(before, held=None, due_at=now)
                    if before.held and not is_ours and before.link_id in links:
                        visit, at = rules.read_held(before.held)
                        regular = self._next_regular(links[before.link_id].destination_url, now)
                        after = rules.after_visit(before, visit, at, regular)
                    changes.append((before, after))
                await store.save(tx, changes)
            is_more_held = len(held) == _LINKS_PER_TURN

    def _after(self, before: LinkHealth, visit: DestinationVisit, url: str) -> LinkHealth:
        now = self._context.clock()
        if visit.failed_at_network:
            return replace(before, held=visit.to_held(now), due_at=now + _LEASE)
        return rules.after_visit(before, visit, now, self._next_regular(url, now))

    def _next_regular(self, url: str, now: datetime) -> datetime:
        return next_regular_visit(url, now, self._days)

    async def _visit_all(self, of_accounts: Sequence[tuple[UUID, Sequence[str]]]) -> Mapping[str, DestinationVisit]:
        """Visit each destination once, on behalf of the first account that has it. Those without time are left out."""
        accounts: dict[str, UUID] = {}
        for account, urls in of_accounts:
            for url in urls:
                accounts.setdefault(url, account)
        visits: dict[str, DestinationVisit] = {}
        end = time.monotonic() + self._turn_seconds
        queue = FairQueue(
            _MAX_CONCURRENT,
            per_key=_PER_ACCOUNT,
            max_waiting=len(accounts) + 1,
            max_waiting_per_key=len(accounts) + 1,
            timeout=None,
        )

        async def visit(url: str, account: UUID) -> None:
            async with queue.slot(account):
                if time.monotonic() < end and (found := await self._visit(url, account)):
                    visits[url] = found

        async with asyncio.TaskGroup() as group:
            for url, account in accounts.items():
                group.create_task(visit(url, account))
        return visits

    async def _visit(self, url: str, account: UUID) -> DestinationVisit | None:
        """Return None if the visit has to wait."""
        try:
            status = await self._checker.find_status(self._checker.canonical(url), account=account, pace=self._pace)
        except (OutboundError, BadUrl) as error:
            return rules.visit_with_error(error)
        except Unavailable:
            return None
        return rules.visit_with_status(status)
