"""Up to where the segments of the spool are drained, and what follows from that.

Drained lines are erased, and segments that are drained completely are removed. Lines contain full IP addresses,
forwarding headers and referrers, of which clicks keep only what the privacy settings allow. A segment in use or with
more lines cannot be removed for that, so its drained lines are overwritten.
"""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, delete, select, update

from waypost import private_files
from waypost.database import Database, Tx, upsert
from waypost.redirect.request import is_prefetch
from waypost.redirect.segment import HEADER
from waypost.redirect.spool import UnknownFormat, Visit, decode, is_finished, read_lines, segments
from waypost.resources import links
from waypost.resources.clicks.intake.bots import detect_bot
from waypost.resources.clicks.model import spool_positions


@dataclass(frozen=True, slots=True)
class SegmentRange:
    """The bytes of a segment that one batch drains."""

    segment: str
    start: int
    end: int


async def find_positions(tx: Tx, segments: Sequence[str]) -> dict[str, int]:
    rows = await tx.execute(select(spool_positions).where(spool_positions.c.segment.in_(segments)))
    return {row.segment: row.position for row in rows}


async def advance(tx: Tx, drained: SegmentRange) -> bool:
    """Move the segment's position. Return False if it is not the start of this range: another drainer was first."""
    is_start = spool_positions.c.position == drained.start
    return await _write(tx, drained.segment, {"position": drained.end}, {}, is_start)


async def find_pending(tx: Tx, segments: Sequence[str]) -> dict[str, list[SegmentRange]]:
    """Return the ranges of each batch that was being inserted into ClickHouse, by its token.

    With several drainers there can be several. Together they would be a batch that ClickHouse does not know.
    """
    is_pending = spool_positions.c.segment.in_(segments), spool_positions.c.pending_token.is_not(None)
    pending: dict[str, list[SegmentRange]] = {}
    for row in await tx.execute(select(spool_positions).where(*is_pending).order_by(spool_positions.c.segment)):
        pending.setdefault(row.pending_token, []).append(SegmentRange(row.segment, row.position, row.pending_end))
    return pending


async def begin(tx: Tx, pending: SegmentRange, token: str) -> bool:
    """Record a range of a batch before it is sent. Return False if another drainer was first."""
    marks = {"pending_end": pending.end, "pending_token": token}
    is_free = (spool_positions.c.position == pending.start) & spool_positions.c.pending_end.is_(None)
    return await _write(tx, pending.segment, marks, {"position": pending.start}, is_free)


async def _write(
    tx: Tx, segment: str, values: Mapping[str, Any], of_new: Mapping[str, Any], condition: ColumnElement[bool]
) -> bool:
    """Return False if the segment has a row that does not fulfil the condition. `of_new`: values of a new row only."""
    statement = upsert(tx, spool_positions).values({"segment": segment, **of_new, **values})
    written = statement.on_conflict_do_update(index_elements=["segment"], set_=values, where=condition)
    return (await tx.execute(written.returning(spool_positions.c.position))).one_or_none() is not None


async def settle(tx: Tx, drained: SegmentRange) -> bool:
    """Move the segment's position to the end of its pending range. Return False if another drainer was first."""
    is_pending = (spool_positions.c.position == drained.start) & (spool_positions.c.pending_end == drained.end)
    statement = update(spool_positions).where(spool_positions.c.segment == drained.segment, is_pending)
    result = await tx.execute(statement.values(position=drained.end, pending_end=None, pending_token=None))
    return result.rowcount == 1


async def delete_positions(tx: Tx, segments: Sequence[str]) -> None:
    await tx.execute(delete(spool_positions).where(spool_positions.c.segment.in_(segments)))


_PROBE = 1 << 16  # bytes; enough for one complete line
_BLANK = b"\n" * (64 << 10)
"""Empty lines: readers ignore them."""


@contextlib.contextmanager
def prevent_erasing(directory: Path) -> Iterator[None]:
    """Prevent erasing while lines are copied, for example by a backup."""
    with _opened(directory) as fd:
        fcntl.flock(fd, fcntl.LOCK_SH)
        yield


def erase_drained(directory: Path, positions: Mapping[str, int], erased: Mapping[str, int]) -> Mapping[str, int]:
    """Overwrite each segment up to its committed position. Return how far each is erased.

    Does nothing during `prevent_erasing`. Raises OSError.
    """
    with _opened(directory) as fd:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return erased
        for name, end in positions.items():
            with contextlib.suppress(FileNotFoundError):  # another drainer has removed it
                _erase(directory / name, max(erased.get(name, 0), len(HEADER)), end)
    return dict(positions)


def _erase(path: Path, start: int, end: int) -> None:
    if start >= end:
        return
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        while start < end:
            start += os.pwrite(fd, _BLANK[: end - start], start)
    finally:
        os.close(fd)


def remove_drained(directory: Path, positions: Mapping[str, int], unreadable: Collection[str]) -> list[str]:
    """Return the names of the removed segments."""
    removed = []
    for path in segments(directory):
        with contextlib.suppress(FileNotFoundError):  # another drainer has removed it
            if path.name not in unreadable and is_finished(path) and _is_drained(path, positions.get(path.name, 0)):
                path.unlink()
                removed.append(path.name)
    if removed:  # or a crash of the machine could bring them back after their positions are deleted
        private_files.sync_directory(directory)
    return removed


def _is_drained(path: Path, position: int) -> bool:
    """Whether a finished segment has no more lines."""
    try:
        return not read_lines(path, position, _PROBE)[0]
    except UnknownFormat:
        return False


@contextlib.contextmanager
def _opened(directory: Path) -> Iterator[int]:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


_CHUNK = 4 << 20  # bytes


async def count_stored(db: Database, link: bytes) -> int:
    """`link`: the id in hex. Raises Unavailable."""
    async with db.point_read() as tx:
        return await links.find_clicks(tx, UUID(link.decode()))


async def count_stored_and_spooled(db: Database, directory: Path, link: bytes) -> int:
    """`link`: the id in hex. Exact while visits are drained, but not for clicks recorded meanwhile. Raises Unavailable.

    The spool is read first. What was drained by the second snapshot is in its number of clicks, whether or not the
    first reading found it.
    """
    names = [path.name for path in segments(directory)]
    async with db.read() as tx:
        before = await find_positions(tx, names)
    found = await asyncio.to_thread(_find_clicks, directory, names, before, link)
    async with db.read() as tx:
        clicks = await links.find_clicks(tx, UUID(link.decode()))
        after = await find_positions(tx, names)
    for name, ends in found.items():
        # a segment without a position has either not been drained at all, or completely and is removed
        is_removed = name not in after and (name in before or not (directory / name).exists())
        if not is_removed:
            clicks += sum(1 for end in ends if end > after.get(name, 0))
    return clicks


def _find_clicks(directory: Path, names: list[str], positions: dict[str, int], link: bytes) -> dict[str, list[int]]:
    """Return where the lines of the link's clicks end, by segment."""
    return {name: list(_click_ends(directory / name, positions.get(name, 0), link)) for name in names}


def _click_ends(path: Path, position: int, link: bytes) -> Iterator[int]:
    while True:
        try:
            lines, end = read_lines(path, position, _CHUNK)
        except (FileNotFoundError, UnknownFormat):
            return
        if not lines:
            return
        line_end = end - sum(len(line) + 1 for line in lines)
        for line in lines:
            line_end += len(line) + 1
            if link in line and (visit := decode(line)) and visit.link == link and _is_click(visit):
                yield line_end
        position = end


def _is_click(visit: Visit) -> bool:
    return not is_prefetch(visit.purpose) and detect_bot(visit.user_agent) is None
