"""Moves visits from the spool to the database, exactly once.

Rows, counters, statistics and the spool's new position are one transaction. The next batch is prepared while one is
committed: the database uses one core, Python another. With ClickHouse, `clickhouse.drain` commits instead.
"""

import asyncio
import math
import time
from binascii import unhexlify
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

import structlog

from waypost.database import Database, Tx, bulk
from waypost.kit.clock import Clock, microseconds, now
from waypost.kit.memory import scaled
from waypost.metrics import Counter
from waypost.redirect.spool import MAX_LINE_SIZE, UnknownFormat, link_of, read_lines, segments
from waypost.resources import links, qrcodes
from waypost.resources.clicks.backends.sql import write
from waypost.resources.clicks.intake.build import IntakeSettings
from waypost.resources.clicks.intake.enrich import Enriched, enrich
from waypost.resources.clicks.intake.positions import (
    SegmentRange,
    advance,
    delete_positions,
    erase_drained,
    find_positions,
    remove_drained,
)
from waypost.resources.clicks.intake.record_events import count_webhooks, record_events
from waypost.resources.clicks.model import Click
from waypost.resources.clicks.stats.aggregate import Aggregate

log = structlog.get_logger(__name__)

_BATCH_BYTES = {"sqlite": 5 << 18, "postgresql": 4 << 20}
"""Of lines, at most: some 4,900 visits on SQLite, where other writes wait. Only a backlog has as many. Smaller batches
are slower, because each rewrites the pages of the day's statistics; those of 2 MB are a fifteenth faster on SQLite.
"""
_MAX_COMMIT = 0.25  # seconds, on SQLite; usually 0.15. A write of the API waits for it
_CHECKPOINT_PAGES = 24_000  # less than `wal_autocheckpoint`
_PAGES_OF_A_BATCH = 100
_SMALLEST = 2 / 5  # of _BATCH_BYTES, on a slow machine: the rate would fall further
_MAX_DELIVERIES = 10_000  # to webhooks and platforms, per batch
_REMOVAL_INTERVAL = 1.0  # seconds
_MAX_CACHED_ACCOUNTS = 100_000

DRAINED = Counter("waypost_clicks_drained_total", "Clicks moved from the spool to the database.")
_SKIPPED = Counter(
    "waypost_visits_skipped_total",
    "Visits in the spool that did not become clicks, by reason.",
    ("reason",),
    starts=[("duplicate",), ("damaged",), ("unknown_link",)],
)


Positions = dict[str, int]
"""The position in each segment up to which it is drained, or will be."""


@dataclass(slots=True)
class Batch:
    ranges: list[SegmentRange] = field(default_factory=list)
    lines: list[list[bytes]] = field(default_factory=list)
    """Lines per range."""
    clicks: list[Click] = field(default_factory=list)
    encoded: write.Encoded = b""
    statistics: write.Prepared | None = None
    """Both of the clicks, except with ClickHouse."""
    token: str = ""
    """Of its insertion into ClickHouse, once the ranges are committed."""
    is_repeated: bool = False
    """Whether it may have been sent before."""

    @property
    def ends(self) -> Positions:
        return {drained.segment: drained.end for drained in self.ranges}

    def keep_lines(self, count: int) -> None:
        """Keep the first `count` lines; the next batch gets the others."""
        ranges, self.ranges = self.ranges, []
        for segment_range, lines in zip(ranges, self.lines, strict=True):
            if count > 0:
                remaining = sum(len(line) + 1 for line in lines[count:])
                self.ranges.append(replace(segment_range, end=segment_range.end - remaining))
            count -= len(lines)


class Drainer:
    """Drains one spool directory. A second drainer does no harm: positions move by compare-and-set."""

    keeps_positions = False
    """Whether positions stay in the database when their segments are removed: there may be copies of these."""

    def __init__(
        self,
        db: Database,
        directory: Path,
        settings: IntakeSettings,
        *,
        clock: Clock = now,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._db = db
        self._directory = directory
        self._settings = settings
        self._clock = clock
        self._monotonic = monotonic
        self._removed_at = -math.inf
        self._positions: Positions | None = None
        self._erased: Mapping[str, int] = {}
        self._has_erasing_failed = False
        self._next: asyncio.Task[Batch] | None = None
        self._written_pages = 0
        self._size = 1.0
        """Of batches, relative to the largest."""
        self._accounts: dict[bytes, bytes] = {}
        self._unreadable: set[str] = set()
        self.drained_clicks = self.drained_bytes = 0

    async def step(self) -> bool:
        """Drain one batch. Return False if there is none. Raises Unavailable; then nothing was drained."""
        if self._positions is None:
            self._positions = await self._load_positions([path.name for path in segments(self._directory)])
        # also during a backlog: its segments fill the disk
        if self._monotonic() >= self._removed_at + _REMOVAL_INTERVAL:
            self._removed_at = self._monotonic()
            await self._remove_drained(self._positions)
        await self._erase(self._positions)
        batch = await self._next_batch(self._positions)
        if not batch.ranges:
            return False
        positions, self._positions = self._positions, None  # only the database knows what is drained …
        reached = positions | batch.ends
        if self._db.dialect == "postgresql":  # its server works in other processes
            self._prepare_next(reached)
        try:
            await self._commit(batch, reached)
        except BaseException as error:
            await self.close()
            if not isinstance(error, PositionMoved):
                raise
        else:
            self._positions = reached  # … until the commit
            self.drained_clicks += len(batch.clicks)
            self.drained_bytes += sum(drained.end - drained.start for drained in batch.ranges)
            await self._erase(reached)
            await self._checkpoint(len(batch.clicks))
        return True

    async def _checkpoint(self, clicks: int) -> None:
        """While the next batch is prepared. Each click writes about a page, that of its visitor."""
        self._written_pages += clicks + _PAGES_OF_A_BATCH
        if self._written_pages > _CHECKPOINT_PAGES:
            self._written_pages = 0
            await self._db.checkpoint()

    async def _load_positions(self, names: Sequence[str]) -> Positions:
        async with self._db.read() as tx:
            return await find_positions(tx, names)

    async def remove_drained(self) -> None:
        """Remove segments that are drained completely, without waiting for the next step."""
        if self._positions is None:
            self._positions = await self._load_positions([path.name for path in segments(self._directory)])
        await self._remove_drained(self._positions)

    async def close(self) -> None:
        """Discard the prepared batch: the next drainer prepares it again."""
        if self._next is not None:
            task, self._next = self._next, None
            await asyncio.wait([task])
            task.exception()  # retrieved: the next attempt would raise it again

    def _prepare_next(self, reached: Positions) -> None:
        if self._next is None:
            self._next = asyncio.create_task(self._prepare(reached))

    async def _next_batch(self, positions: Positions) -> Batch:
        if self._next is not None:
            task, self._next = self._next, None
            batch = await task
            if batch.ranges:
                return batch  # an empty one may be outdated
        return await self._prepare(positions)

    async def _prepare(self, positions: Positions) -> Batch:
        batch = await asyncio.to_thread(self._read, positions)
        if not batch.ranges:
            return batch
        return await self._complete(batch, max_deliveries=_MAX_DELIVERIES, at=microseconds(self._clock()))

    async def _complete(self, batch: Batch, *, max_deliveries: float, at: int | None) -> Batch:
        """Turn the lines into clicks. The batch may end earlier: see `enrich`."""
        lines = [line for lines in batch.lines for line in lines]
        links_visited = set(map(link_of, lines))
        await self._load_accounts(links_visited)
        accounts = {link: account for link in links_visited if (account := self._accounts.get(link))}
        webhook_counts = await count_webhooks(self._db, set(accounts.values())) if accounts else {}
        enriched = await asyncio.to_thread(
            enrich, lines, accounts, webhook_counts, self._settings, max_deliveries=max_deliveries, now=at
        )
        if enriched.lines < len(lines):
            batch.keep_lines(enriched.lines)
        batch.lines = []
        batch.clicks = enriched.clicks
        _log_skipped(enriched)
        await asyncio.to_thread(self._encode, batch)
        return batch

    def _encode(self, batch: Batch) -> None:
        """Compute what needs no transaction."""
        batch.encoded = write.encode(self._db.dialect, batch.clicks)
        batch.statistics = write.prepare(self._db.dialect, Aggregate.of(batch.clicks))

    def _read(self, positions: Positions) -> Batch:
        batch, remaining = Batch(), round(_BATCH_BYTES[self._db.dialect] * self._size)
        if self._db.dialect == "sqlite":  # on one small machine, a batch and the next one take 60 MB otherwise
            remaining = scaled(remaining)
        for path in segments(self._directory):
            start = positions.get(path.name, 0)
            lines, end = self._read_lines(path, start, remaining)
            if end == start or not lines:
                continue
            self._add_lines(batch, SegmentRange(path.name, start, end), lines)
            remaining -= end - start
            if remaining <= MAX_LINE_SIZE:
                break
        return batch

    def _add_lines(self, batch: Batch, segment_range: SegmentRange, lines: list[bytes]) -> None:
        batch.ranges.append(segment_range)
        batch.lines.append(lines)

    def _read_lines(self, path: Path, start: int, limit: int) -> tuple[list[bytes], int]:
        try:
            return read_lines(path, start, limit)
        except FileNotFoundError:
            return [], start
        except UnknownFormat:
            if path.name not in self._unreadable:
                self._unreadable.add(path.name)
                log.error("spool segment of an unknown format skipped", segment=path.name)
            return [], start

    async def _load_accounts(self, links_visited: set[bytes]) -> None:
        """Load and cache the accounts of links: they never change."""
        if len(self._accounts) > _MAX_CACHED_ACCOUNTS:
            self._accounts.clear()
        missing = [link for link in links_visited if link not in self._accounts]
        if not missing:
            return
        by_id = {link_id: link for link in missing if (link_id := _parse_id(link))}
        async with self._db.read() as tx:
            accounts = await links.find_accounts(tx, by_id)
        self._accounts |= {by_id[link]: account.bytes for link, account in accounts.items()}

    async def _commit(self, batch: Batch, reached: Positions) -> None:
        async with self._db.write() as tx:
            began = self._monotonic()
            for drained in batch.ranges:
                if not await advance(tx, drained):
                    raise PositionMoved(drained.segment)
            await write.lock(tx)
            added, sums = await self._save(tx, batch)
            await links.add_clicks(tx, sums.clicks_per_link(), last_at=max((click.at for click in added), default=0))
            await qrcodes.add_scans(tx, sums.scans_per_link())
            await record_events(tx, added, self._settings, now=self._clock())
            self._prepare_next(reached)  # not before, on SQLite: two threads that compute wait for each other's lock
        if self._db.dialect == "sqlite":  # on PostgreSQL no write waits
            self._size = adapt_size(self._size, self._monotonic() - began)
        DRAINED.add(len(added))
        _SKIPPED.add(len(batch.clicks) - len(added), "duplicate")
        if len(added) < len(batch.clicks):
            log.warning("duplicate visits skipped", count=len(batch.clicks) - len(added))

    async def _save(self, tx: Tx, batch: Batch) -> tuple[Sequence[Click], Aggregate]:
        """Insert the clicks and their statistics. Return the clicks that were new, and their sums."""
        prepared = batch.statistics
        assert prepared is not None  # noqa: S101  # only with ClickHouse, which has a `_commit` of its own
        found = await write.find_visitors(tx, prepared.sums)
        counting = asyncio.create_task(asyncio.to_thread(write.count_visitors, self._db.dialect, prepared.sums, found))
        if self._db.dialect == "sqlite":  # PostgreSQL inserts the clicks meanwhile, in another process
            await asyncio.wait([counting])
        added = await write.add(tx, batch.clicks, batch.encoded)
        if len(added) < len(batch.clicks):
            prepared = write.prepare(self._db.dialect, Aggregate.of(added))
            await write.save_prepared(tx, prepared)
        else:
            await bulk.execute(tx, prepared.dimensions)
            await bulk.execute(tx, await counting)
        return added, prepared.sums

    async def _erase(self, positions: Positions) -> None:
        """Erase drained lines, also those of a killed process. A failing disk does not stop draining."""
        if positions == self._erased:
            return
        try:
            self._erased = await asyncio.to_thread(erase_drained, self._directory, positions, self._erased)
        except OSError as error:
            if not self._has_erasing_failed:
                log.error("drained visits could not be erased", directory=str(self._directory), error=error.strerror)
            self._has_erasing_failed = True
        else:
            self._has_erasing_failed = False

    async def _remove_drained(self, positions: Positions) -> None:
        """Remove files before positions: a position without a file is harmless, a file without one is drained again."""
        removed = await asyncio.to_thread(remove_drained, self._directory, positions, self._unreadable)
        if removed and not self.keeps_positions:
            async with self._db.write() as tx:
                await delete_positions(tx, removed)
        for name in removed:
            positions.pop(name, None)


def adapt_size(size: float, took: float) -> float:
    """Return the size of the next batch, so that it takes at most `_MAX_COMMIT` on any machine. `took`: seconds."""
    if took > _MAX_COMMIT:
        return max(_SMALLEST, size * max(0.5, _MAX_COMMIT / took))
    return min(1, size * 1.25) if took < _MAX_COMMIT / 2 else size


class PositionMoved(Exception):
    """Another drainer moved the position of a segment. Nothing is committed, and the positions are loaded again."""


def _log_skipped(enriched: Enriched) -> None:
    if enriched.errors:
        log.error("visits could not be read", errors=sorted(enriched.errors))
    if enriched.unknown_links or enriched.damaged:
        _SKIPPED.add(enriched.unknown_links, "unknown_link")
        _SKIPPED.add(enriched.damaged, "damaged")
        log.warning("visits skipped", of_unknown_links=enriched.unknown_links, damaged=enriched.damaged)


def _parse_id(link: bytes) -> UUID | None:
    try:
        return UUID(bytes=unhexlify(link))
    except ValueError:
        return None
