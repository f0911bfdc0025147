"""From the spool to the database, exactly once: rows, counters, statistics and spool position in one transaction.

While one batch is committed the next one is prepared: the database works on one core meanwhile, Python on another.
"""

import asyncio
import math
import time
from binascii import unhexlify
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

import structlog

from waypost.database import Database, Tx
from waypost.kit.clock import Clock, now
from waypost.redirect.spool import UnknownFormat, Visit, decode, read_lines, segments
from waypost.resources import links, qrcodes
from waypost.resources.clicks import store
from waypost.resources.clicks.intake import publish
from waypost.resources.clicks.intake.drained import erase_drained, remove_drained
from waypost.resources.clicks.intake.steps import Rules, click_of
from waypost.resources.clicks.model import Click
from waypost.resources.clicks.stats.aggregate import rollups
from waypost.resources.clicks.stats.aggregate.batch import Aggregate, aggregate
from waypost.resources.clicks.store import Span

log = structlog.get_logger(__name__)

# Some 8,000 visits on SQLite. Only a backlog has as many: then a write of the API may wait for one batch, up to half a
# second. Half of it would be drained a fifth slower: each batch writes the pages of the day's statistics again. On
# PostgreSQL nobody waits.
_BATCH_BYTES = {"sqlite": 2 << 20, "postgresql": 4 << 20}
_FURTHER_ROWS = 10_000  # of a batch, at most: deliveries to many webhooks, and events of many pixels
_REMOVAL = 1.0  # seconds between two looks for drained segments
_ACCOUNTS_AT_MOST = 100_000

Positions = dict[str, int]


@dataclass(slots=True)
class _Batch:
    spans: list[Span] = field(default_factory=list)
    lines: list[list[bytes]] = field(default_factory=list)
    """Of each span."""
    visits: list[Visit | None] = field(default_factory=list)
    """Of each line; None of one that cannot be read."""
    damaged: int = 0
    clicks: list[Click] = field(default_factory=list)
    counts: Aggregate = field(default_factory=Aggregate)

    def cut(self, count: int) -> None:
        """Keeps that many lines; the others are left for the next batch."""
        spans, self.spans = self.spans, []
        for span, lines in zip(spans, self.lines, strict=True):
            if count > 0:
                left = sum(len(line) + 1 for line in lines[count:])
                self.spans.append(replace(span, end=span.end - left))
            count -= len(lines)


class Drainer:
    """The one drainer of a spool directory. A second would do no harm: positions move by compare-and-set."""

    def __init__(
        self,
        db: Database,
        directory: Path,
        rules: Rules,
        *,
        clock: Clock = now,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._db = db
        self._directory = directory
        self._rules = rules
        self._clock = clock
        self._monotonic = monotonic
        self._removed_at = -math.inf
        self._positions: Positions | None = None
        self._erased: Mapping[str, int] = {}
        self._cannot_erase = False
        self._next: asyncio.Task[_Batch] | None = None
        self._accounts: dict[bytes, bytes] = {}
        self._unreadable: set[str] = set()

    async def step(self) -> bool:
        """Drains one batch. False when there was none. Raises Unavailable; then nothing was drained."""
        if self._positions is None:
            self._positions = await self._load_positions()
        if self._monotonic() >= self._removed_at + _REMOVAL:  # with a backlog too: its segments take room
            self._removed_at = self._monotonic()
            await self._remove_drained(self._positions)
        await self._erase(self._positions)
        batch = await self._prepared(self._positions)
        if not batch.spans:
            return False
        positions, self._positions = self._positions, None  # what has been drained is known to the database alone …
        reached = positions | {span.segment: span.end for span in batch.spans}
        self._next = asyncio.create_task(self._prepare(reached))
        try:
            await self._commit(batch)
        except BaseException as error:
            await self._forget_next()
            if not isinstance(error, _Overtaken):
                raise
        else:
            self._positions = reached  # … until the commit
            await self._erase(reached)
        return True

    async def close(self) -> None:
        """What was prepared is prepared again by whoever comes next."""
        await self._forget_next()

    async def _load_positions(self) -> Positions:
        names = [path.name for path in segments(self._directory)]
        async with self._db.read() as tx:
            return await store.positions(tx, names)

    async def _prepared(self, positions: Positions) -> _Batch:
        if self._next is not None:
            task, self._next = self._next, None
            batch = await task
            if batch.spans:
                return batch  # an empty one was prepared before what may be there now
        return await self._prepare(positions)

    async def _forget_next(self) -> None:
        if self._next is not None:
            task, self._next = self._next, None
            await asyncio.wait([task])
            task.exception()  # seen: it would be met again

    async def _prepare(self, positions: Positions) -> _Batch:
        batch = await asyncio.to_thread(self._read, positions)
        links_of_lines = {visit.link for visit in batch.visits if visit}
        await self._learn_accounts(links_of_lines)
        accounts = {self._accounts[link] for link in links_of_lines if link in self._accounts}
        audiences = await publish.audiences(self._db, accounts) if accounts else {}
        await asyncio.to_thread(self._enrich, batch, audiences)
        return batch

    def _read(self, positions: Positions) -> _Batch:
        batch, room = _Batch(), _BATCH_BYTES[self._db.dialect]
        for path in segments(self._directory):
            start = positions.get(path.name, 0)
            lines, end = self._lines(path, start, room)
            if end == start or not lines:
                continue
            batch.spans.append(Span(path.name, start, end))
            batch.lines.append(lines)
            for line in lines:
                visit = decode(line)
                batch.visits.append(visit)
                if line and not visit:
                    batch.damaged += 1
            room -= end - start
            if room <= 0:
                break
        return batch

    def _lines(self, path: Path, start: int, room: int) -> tuple[list[bytes], int]:
        try:
            return read_lines(path, start, room)
        except FileNotFoundError:
            return [], start
        except UnknownFormat:
            if path.name not in self._unreadable:
                self._unreadable.add(path.name)
                log.error("spool segment of an unknown format, left as it is", segment=path.name)
            return [], start

    async def _learn_accounts(self, links_of_lines: set[bytes]) -> None:
        """A link's account never changes."""
        if len(self._accounts) > _ACCOUNTS_AT_MOST:
            self._accounts.clear()
        unknown = [link for link in links_of_lines if link not in self._accounts]
        if not unknown:
            return
        by_id = {found: link for link in unknown if (found := _uuid(link))}
        async with self._db.read() as tx:
            accounts = await links.find_accounts(tx, by_id)
        self._accounts |= {by_id[link]: account.bytes for link, account in accounts.items()}

    def _enrich(self, batch: _Batch, audiences: Mapping[bytes, publish.Audience]) -> None:
        """Nothing is left of links there never were, nor of lines torn by a full disk or a crash of the machine."""
        orphaned, further, faults = 0, 0, set[str]()
        for number, visit in enumerate(batch.visits):
            account = self._accounts.get(visit.link) if visit else None
            if visit is None or account is None:
                orphaned += visit is not None
                continue
            further += _rows_beside(visit, audiences.get(account))
            if further > _FURTHER_ROWS:
                batch.cut(number)
                break
            try:
                batch.clicks.append(click_of(visit, account, self._rules))
            except (ValueError, OverflowError):
                batch.damaged += 1
            except Exception as error:  # noqa: BLE001  # one line must not keep all that come after from being drained
                batch.damaged += 1
                faults.add(type(error).__name__)
        batch.visits, batch.lines = [], []
        batch.counts = aggregate(batch.clicks)
        if faults:  # a fault of ours; not with what the visitor sent
            log.error("visits that could not be read", errors=sorted(faults))
        if orphaned or batch.damaged:
            log.warning("visits left out", of_unknown_links=orphaned, damaged=batch.damaged)

    async def _commit(self, batch: _Batch) -> None:
        async with self._db.write() as tx:
            for span in batch.spans:
                if not await store.advance(tx, span):
                    raise _Overtaken(span.segment)
            added = await store.add(tx, batch.clicks)
            counts = batch.counts if len(added) == len(batch.clicks) else aggregate(added)
            await self._count(tx, counts)
            await publish.tell(tx, added, self._rules, now=self._clock())
        if len(added) < len(batch.clicks):
            log.warning("visits told before", repeated=len(batch.clicks) - len(added))

    async def _count(self, tx: Tx, counts: Aggregate) -> None:
        await rollups.lock(tx)
        await rollups.add(tx, counts)
        await links.add_clicks(tx, counts.clicks_of_links())
        await qrcodes.add_scans(tx, counts.scans_of_links())

    async def _erase(self, positions: Positions) -> None:
        """Also what whoever was killed before had drained and not erased. A disk that refuses holds nothing up."""
        if positions == self._erased:
            return
        try:
            self._erased = await asyncio.to_thread(erase_drained, self._directory, positions, self._erased)
        except OSError as error:
            if not self._cannot_erase:
                log.error("drained visits cannot be erased", directory=str(self._directory), error=str(error))
            self._cannot_erase = True
        else:
            self._cannot_erase = False

    async def _remove_drained(self, positions: Positions) -> None:
        """The file first: a position without a file does nothing, a file without its position would be read again."""
        removed = await asyncio.to_thread(remove_drained, self._directory, positions, self._unreadable)
        if removed:
            async with self._db.write() as tx:
                await store.forget(tx, removed)
        for name in removed:
            positions.pop(name, None)


class _Overtaken(Exception):
    """Another drainer has moved the position of a segment: nothing is committed, and the positions are read again."""


def _rows_beside(visit: Visit, audience: publish.Audience | None) -> int:
    """What is stored to tell of it."""
    pixels = visit.pixels.count(b",") + 1 if visit.pixels else 0
    return pixels + (audience.clicked + audience.fired * pixels if audience else 0)


def _uuid(link: bytes) -> UUID | None:
    try:
        return UUID(bytes=unhexlify(link))
    except ValueError:
        return None
