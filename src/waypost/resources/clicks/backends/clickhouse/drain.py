"""Moves visits from the spool to ClickHouse, exactly once, and what belongs to them to PostgreSQL.

The ranges of a batch are committed before it is sent. Until ClickHouse confirms it, the same ranges are sent with the
same token, of which ClickHouse stores one. Then one transaction adds the counters and events of the batch, moves the
positions, and records the ranges of the next batch, which was prepared in the meantime. During this transaction, the
batch after that is prepared.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, uuid5

import structlog

from waypost import metrics
from waypost.database import Database, Tx, share_advisory_lock
from waypost.kit.clock import Clock, now
from waypost.kit.errors import Unavailable
from waypost.redirect.segment import HEADER
from waypost.redirect.spool import read_lines
from waypost.resources import links, qrcodes
from waypost.resources.clicks.backends.clickhouse.rebuild import correct_day
from waypost.resources.clicks.backends.sql import write
from waypost.resources.clicks.intake.build import IntakeSettings
from waypost.resources.clicks.intake.drain import DRAINED, Batch, Drainer, PositionMoved, Positions
from waypost.resources.clicks.intake.positions import SegmentRange, begin, find_pending, find_positions, settle
from waypost.resources.clicks.intake.record_events import record_events
from waypost.resources.clicks.model import HUMAN
from waypost.worker.jobs import Job, JobKind, JobQueue, enqueue

if TYPE_CHECKING:
    from waypost.resources.clicks.backends.clickhouse import ClickHouseStore

log = structlog.get_logger(__name__)

_QUEUE = JobQueue("click_corrections", slots=1, per_account=1, poll_interval=1.0, timeout=timedelta(minutes=30))
CORRECT_JOB = JobKind("clicks.correct_day", _QUEUE, max_attempts=None)
_REPEATED = metrics.Counter("waypost_batches_repeated_total", "Batches of clicks sent to ClickHouse again.")


class ClickHouseDrainer(Drainer):
    def __init__(
        self,
        db: Database,
        click_store: "ClickHouseStore",
        directory: Path,
        settings: IntakeSettings,
        *,
        clock: Clock = now,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(db, directory, settings, clock=clock, monotonic=monotonic)
        self._click_store = click_store
        self._pending: dict[str, list[SegmentRange]] = {}
        """The ranges of batches that were not settled, by token."""
        self._begun: Batch | None = None
        """The next batch, once its ranges are committed. `_next` prepares the one after it."""

    async def step(self) -> bool:
        try:
            return await super().step()
        except PositionMoved:
            self._positions = None
            return True

    async def _load_positions(self, names: Sequence[str]) -> Positions:
        async with self._db.read() as tx:
            self._pending = await find_pending(tx, names)
            positions = await find_positions(tx, names)
        if self._pending:
            await self._click_store.client.query("SELECT 1")  # while it is away, preparing the batch would be in vain
        return positions

    async def close(self) -> None:
        self._begun = None
        await super().close()

    async def _next_batch(self, positions: Positions) -> Batch:
        if self._begun:
            batch, self._begun = self._begun, None
            return batch
        if self._pending:
            await self.close()  # what was prepared can have ranges of another drainer's batch
            batch = await asyncio.to_thread(self._read_again, *self._pending.popitem())
            _REPEATED.add(1)
            return await self._complete(batch, max_deliveries=math.inf, at=None)
        batch = await super()._next_batch(positions)
        if batch.ranges:
            async with self._db.write() as tx:
                if not await share_advisory_lock(tx, write.LOCK):
                    return Batch()  # a command compares statistics with clicks: see `paused`
                token = await _begin(tx, batch)
            batch.token = token
        return batch

    def _read_again(self, token: str, pending: Sequence[SegmentRange]) -> Batch:
        batch = Batch(token=token, is_repeated=True)
        for segment_range in pending:
            path, start = self._directory / segment_range.segment, max(segment_range.start, len(HEADER))
            try:
                lines, _ = read_lines(path, start, segment_range.end - start)
            except FileNotFoundError:  # another drainer settled the batch and removed the segment
                raise PositionMoved(segment_range.segment) from None
            self._add_lines(batch, segment_range, lines)
        return batch

    def _encode(self, batch: Batch) -> None:
        """The server counts; only the counters of links are kept here."""

    async def _commit(self, batch: Batch, reached: Positions) -> None:
        if batch.is_repeated:
            await self._click_store.insert_again(batch.clicks, batch.token)
            following = Batch()
        else:
            await self._click_store.insert(batch.clicks, batch.token)
            following = await self._prepared()
            if following.ranges:
                self._next = asyncio.create_task(self._prepare(reached | following.ends))
        human = [click for click in batch.clicks if click.kind == HUMAN]
        clicks = Counter((click.link_id, click.account_id) for click in human)
        async with self._db.write() as tx:
            for drained in batch.ranges:
                if not await settle(tx, drained):
                    raise PositionMoved(drained.segment)
            if following.ranges and not await share_advisory_lock(tx, write.LOCK):
                following = Batch()
                await self.close()  # what was prepared follows a batch that does not begin
            token = await _begin(tx, following)
            await links.add_clicks(
                tx,
                [(*link, count) for link, count in clicks.items()],
                last_at=max((click.at for click in human), default=0),
            )
            await qrcodes.add_scans(tx, Counter(click.link_id for click in human if click.is_scan))
            await record_events(tx, batch.clicks, self._settings, now=self._clock())
            if batch.is_repeated:  # in this transaction: a kill after it must not prevent the correction
                for day in sorted({click.day for click in batch.clicks}):
                    id_ = uuid5(NAMESPACE_URL, f"waypost:{CORRECT_JOB.name}:{day}")  # one job for each day
                    await enqueue(tx, CORRECT_JOB, {"day": day}, now=self._clock(), id_=id_)
        if following.ranges:
            following.token, self._begun = token, following
        DRAINED.add(len(batch.clicks))

    async def _prepared(self) -> Batch:
        """Return the next batch, empty if it cannot be prepared now: then it is prepared again after this one."""
        try:
            return await self._next if self._next and not self._pending else Batch()
        except Unavailable:
            return Batch()


async def correct_repeated(job: Job, *, db: Database, store: "ClickHouseStore", clock: Clock) -> None:
    """Correct what ClickHouse has lost of a day of a repeated batch. Raises BatchPending and Unavailable."""
    if await correct_day(db, store.client, job.payload["day"], clock=clock):
        log.warning("statistics of a repeated batch corrected", day=job.payload["day"])


async def _begin(tx: Tx, batch: Batch) -> str:
    """Return the token: the first range, which no other batch begins with."""
    token = "|".join(f"{pending.segment}:{pending.start}-{pending.end}" for pending in batch.ranges[:1])
    for pending in batch.ranges:
        if not await begin(tx, pending, token):
            raise PositionMoved(pending.segment)
    return token
