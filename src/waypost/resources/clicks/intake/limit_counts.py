"""Counts the clicks of a link that has a click limit, with those that are still in the spool."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

from waypost.database import Database
from waypost.redirect.request import is_prefetch
from waypost.redirect.spool import UnknownFormat, Visit, decode, read_lines, segments
from waypost.resources import links
from waypost.resources.clicks.backends.sql import write
from waypost.resources.clicks.intake.bots import detect_bot

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
        before = await write.find_positions(tx, names)
    found = await asyncio.to_thread(_find_clicks, directory, names, before, link)
    async with db.read() as tx:
        clicks = await links.find_clicks(tx, UUID(link.decode()))
        after = await write.find_positions(tx, names)
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
