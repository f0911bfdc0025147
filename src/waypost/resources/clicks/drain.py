"""From the spool to the database, exactly once: rows, counters and the new spool position in one transaction."""

import asyncio
import contextlib
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import structlog

from waypost.database import Database, Tx
from waypost.redirect.spool import UnknownFormat, decode, is_finished, read_lines, segments
from waypost.resources import links
from waypost.resources.clicks import store
from waypost.resources.clicks.model import HUMAN, Click
from waypost.resources.clicks.steps import Rules, click_of
from waypost.resources.clicks.store import Span

log = structlog.get_logger(__name__)

# some 5,000 visits: a transaction of tens of milliseconds, so that the API's writes wait no longer
_BATCH_BYTES = 1 << 18
_REMOVAL = 1.0  # seconds between two looks for drained segments


@dataclass(slots=True)
class _Batch:
    clicks: list[Click]
    spans: list[Span]
    damaged: int = 0


class Drainer:
    """The one drainer of a spool directory. A second would do no harm: positions move by compare-and-set."""

    def __init__(
        self, db: Database, directory: Path, rules: Rules, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._db = db
        self._directory = directory
        self._rules = rules
        self._monotonic = monotonic
        self._removed_at = -math.inf
        self._positions: dict[str, int] | None = None
        self._unreadable: set[str] = set()

    async def step(self) -> bool:
        """Drains one batch. False when there was none. Raises Unavailable; then nothing was drained."""
        if self._positions is None:
            self._positions = await self._load_positions()
        if self._monotonic() >= self._removed_at + _REMOVAL:  # with a backlog too: its segments take room
            self._removed_at = self._monotonic()
            await self._remove_finished(self._positions)
        batch = await asyncio.to_thread(self._read, self._positions)
        if not batch.spans:
            return False
        positions, self._positions = self._positions, None  # what has been drained is known to the database alone …
        with contextlib.suppress(_Overtaken):
            await self._commit(batch)
            self._positions = positions | {span.segment: span.end for span in batch.spans}  # … until the commit
        return True

    async def _load_positions(self) -> dict[str, int]:
        names = [path.name for path in segments(self._directory)]
        async with self._db.read() as tx:
            return await store.positions(tx, names)

    def _read(self, positions: dict[str, int]) -> _Batch:
        batch, room = _Batch([], []), _BATCH_BYTES
        for path in segments(self._directory):
            start = positions.get(path.name, 0)
            lines, end = self._lines(path, start, room)
            if end == start or not lines:
                continue
            batch.spans.append(Span(path.name, start, end))
            batch.damaged += self._enrich(lines, batch.clicks)
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

    def _enrich(self, lines: Sequence[bytes], into: list[Click]) -> int:
        """Returns how many lines were damaged: torn by a full disk or a crash of the machine."""
        damaged = 0
        for line in lines:
            visit = decode(line)
            try:
                if visit:
                    into.append(click_of(visit, self._rules))
                elif line:
                    damaged += 1
            except (ValueError, OverflowError):
                damaged += 1
        return damaged

    async def _commit(self, batch: _Batch) -> None:
        async with self._db.write() as tx:
            for span in batch.spans:
                if not await store.advance(tx, span):
                    raise _Overtaken(span.segment)
            lost, repeated = await self._add(tx, batch.clicks)
        if lost or repeated or batch.damaged:
            log.warning("visits left out", of_unknown_links=lost, told_before=repeated, damaged=batch.damaged)

    async def _add(self, tx: Tx, clicks: Sequence[Click]) -> tuple[int, int]:
        """Returns how many belong to no link there ever was, and how many were clicks already."""
        accounts = await links.accounts_of(tx, {click.link_id for click in clicks})
        known = [(click, accounts[click.link_id]) for click in clicks if click.link_id in accounts]
        added = await store.add(tx, known) if known else []
        await links.add_clicks(tx, _counts(click for click, _ in added))
        return len(clicks) - len(known), len(known) - len(added)

    async def _remove_finished(self, positions: dict[str, int]) -> None:
        """The file first: a position without a file does nothing, a file without its position would be read again."""
        removed = await asyncio.to_thread(self._unlink_drained, positions)
        if removed:
            async with self._db.write() as tx:
                await store.forget(tx, removed)
        for name in removed:
            positions.pop(name, None)

    def _unlink_drained(self, positions: dict[str, int]) -> list[str]:
        removed = []
        for path in segments(self._directory):
            with contextlib.suppress(FileNotFoundError):  # another drainer was faster
                if is_finished(path) and self._is_drained(path, positions.get(path.name, 0)):
                    path.unlink()
                    removed.append(path.name)
        if removed:
            self._make_it_last()
        return removed

    def _make_it_last(self) -> None:
        """Or the files could be back after a crash of the machine, when their positions are forgotten."""
        fd = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def _is_drained(self, path: Path, position: int) -> bool:
        """Asked of a finished segment only: of one in use, the next line could be on its way."""
        lines, _ = self._lines(path, position, _BATCH_BYTES)
        return not lines and path.name not in self._unreadable


class _Overtaken(Exception):
    """Another drainer has moved the position of a segment: nothing is committed, and the positions are read again."""


def _counts(clicks: Iterator[Click]) -> dict[UUID, int]:
    return Counter(click.link_id for click in clicks if click.kind == HUMAN)
