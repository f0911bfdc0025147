"""Click limits of links: counts clicks in a file that all processes of the machine share.

The truth is in the database and the spool. A slot of the file is a copy of it for one link, counted when the link is
first visited after a start and whenever its routing changes, and raised by each click. A slot may be lost at any time.

A click is written to the spool, then counted, both while its slot is locked. So a process that is killed in between
leaves one click uncounted: it never takes the last click from a visitor.

Other machines have their own files. Their clicks count once they are in the database, usually within a second.
"""

import asyncio
import struct
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from waypost.redirect.route_options import ClickLimit
from waypost.slot_file import LockedSlots, SlotFile

CountClicks = Callable[[bytes], Awaitable[int]]
"""Return the clicks of a link by its id in 32 hex digits. Raises Unavailable."""

_SLOT = struct.Struct("<16sQQQ24x")  # id, version of the routing, clicks, last use; never crosses a page
_SLOTS = 65_536


class ClickLimits:
    def __init__(
        self,
        path: Path,
        stored: CountClicks,
        stored_and_spooled: CountClicks,
        *,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._slots = SlotFile(path, count=_SLOTS, size=_SLOT.size)
        self._stored = stored
        self._stored_and_spooled = stored_and_spooled
        self._clock = clock
        self._counting = asyncio.Lock()  # one reader of the spool at a time

    async def is_used_up(self, link: bytes, limit: ClickLimit) -> bool:
        """`link`: the id in 32 hex digits. Raises Unavailable."""
        link_id = bytes.fromhex(link.decode())
        stored = await self._prepare(link, link_id, limit)
        with await self._slots.lock(link_id) as slots:
            clicks = _find(slots, limit.version)[1]
        return max(clicks or 0, stored) >= limit.clicks

    async def take(self, link: bytes, limit: ClickLimit, record: Callable[[], bytes]) -> bytes | None:
        """Call `record`, which writes a click to the spool, and return its result. None if the link is used up.

        Raises Unavailable; then nothing is recorded.
        """
        link_id = bytes.fromhex(link.decode())
        while True:
            stored = await self._prepare(link, link_id, limit)
            with await self._slots.lock(link_id) as slots:
                offset, clicks = _find(slots, limit.version)
                if clicks is None:  # another link needed the slot
                    continue
                clicks = max(clicks, stored)
                if clicks >= limit.clicks:
                    return None
                visit = record()
                self._write(slots, offset, limit.version, clicks + 1)
                return visit

    def close(self) -> None:
        self._slots.close()

    async def _prepare(self, link: bytes, link_id: bytes, limit: ClickLimit) -> int:
        """Give the link a slot, and return its clicks in the database.

        Nobody records a click of the link before it has a slot, so what is counted meanwhile is complete.
        """
        if not await self._has_slot(link_id, limit.version):
            async with self._counting:
                if not await self._has_slot(link_id, limit.version):
                    clicks = await self._stored_and_spooled(link)
                    with await self._slots.lock(link_id) as slots:
                        offset, known = _find(slots, limit.version)
                        if known is None:  # otherwise another process was first, and may have counted clicks
                            self._write(slots, offset, limit.version, clicks)
        return await self._stored(link)

    async def _has_slot(self, link_id: bytes, version: int) -> bool:
        with await self._slots.lock(link_id) as slots:
            return _find(slots, version)[1] is not None

    def _write(self, slots: LockedSlots, offset: int, version: int, clicks: int) -> None:
        slots.write(offset, _SLOT.pack(slots.key, version, clicks, self._clock()))


def _find(slots: LockedSlots, version: int) -> tuple[int, int | None]:
    """Return (offset of the link's slot, its clicks). Without a slot: (the one to use, None)."""
    offset, slot = slots.find(lambda slot: int(_SLOT.unpack(slot)[3]))
    if slot is None:
        return offset, None
    _, of_version, clicks, _ = _SLOT.unpack(slot)
    return offset, clicks if of_version == version else None
