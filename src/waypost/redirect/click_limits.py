"""Click limits of links: counts clicks in a file that all processes of the machine share.

The truth is in the database and the spool. A slot of the file is a copy of it for one link, counted when the link is
first visited after a start and whenever its routing changes, and raised by each click. A slot may be lost at any time.

A click is written to the spool, then counted, both under a record lock that the system releases when its holder dies.
So a process that is killed in between leaves one click uncounted: it never takes the last click from a visitor.

Other machines have their own files. Their clicks count once they are in the database, usually within a second.
"""

import asyncio
import contextlib
import fcntl
import os
import struct
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from waypost.kit.errors import Unavailable
from waypost.redirect.route_options import ClickLimit

CountClicks = Callable[[bytes], Awaitable[int]]
"""Return the clicks of a link by its id in 32 hex digits. Raises Unavailable."""

_SLOT = struct.Struct("<16sQQQ24x")  # id, version of the routing, clicks, last use; never crosses a page
_SLOTS = 65_536
_MAX_PROBES = 8
"""Neighboring slots that a link may use. When all are in use, the one that was idle longest is reused."""


class ClickLimits:
    """For one event loop: the lock belongs to the process."""

    def __init__(
        self,
        path: Path,
        stored: CountClicks,
        stored_and_spooled: CountClicks,
        *,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._stored = stored
        self._stored_and_spooled = stored_and_spooled
        self._clock = clock
        self._counting = asyncio.Lock()  # one reader of the spool at a time

    async def is_used_up(self, link: bytes, limit: ClickLimit) -> bool:
        """`link`: the id in 32 hex digits. Raises Unavailable."""
        stored = await self._prepare(link, limit)
        with self._locked():
            clicks = self._find(bytes.fromhex(link.decode()), limit.version)[1]
        return max(clicks or 0, stored) >= limit.clicks

    async def take(self, link: bytes, limit: ClickLimit, record: Callable[[], bytes]) -> bytes | None:
        """Call `record`, which writes a click to the spool, and return its result. None if the link is used up.

        Raises Unavailable; then nothing is recorded.
        """
        while True:
            stored = await self._prepare(link, limit)
            link_id = bytes.fromhex(link.decode())
            with self._locked():
                slot, clicks = self._find(link_id, limit.version)
                if clicks is None:  # another link needed the slot
                    continue
                clicks = max(clicks, stored)
                if clicks >= limit.clicks:
                    return None
                visit = record()
                self._write(slot, link_id, limit.version, clicks + 1)
                return visit

    def close(self) -> None:
        os.close(self._file)

    async def _prepare(self, link: bytes, limit: ClickLimit) -> int:
        """Give the link a slot, and return its clicks in the database.

        Nobody records a click of the link before it has a slot, so what is counted meanwhile is complete.
        """
        link_id = bytes.fromhex(link.decode())
        if not self._has_slot(link_id, limit.version):
            async with self._counting:
                if not self._has_slot(link_id, limit.version):
                    clicks = await self._stored_and_spooled(link)
                    with self._locked():
                        slot, known = self._find(link_id, limit.version)
                        if known is None:  # otherwise another process was first, and may have counted clicks
                            self._write(slot, link_id, limit.version, clicks)
        return await self._stored(link)

    def _has_slot(self, link_id: bytes, version: int) -> bool:
        with self._locked():
            return self._find(link_id, version)[1] is not None

    def _find(self, link_id: bytes, version: int) -> tuple[int, int | None]:
        """Return (offset of the link's slot, its clicks). Without a slot: (the one to use, None)."""
        first = int.from_bytes(link_id[-4:]) % _SLOTS * _SLOT.size
        size = _SLOT.size * _MAX_PROBES
        slots = list(_SLOT.iter_unpack(os.pread(self._file, size, first).ljust(size, b"\0")))
        for number, (id_, of_version, clicks, _) in enumerate(slots):
            if id_ == link_id:
                return first + number * _SLOT.size, clicks if of_version == version else None
        idle = min(range(_MAX_PROBES), key=lambda number: slots[number][3])
        return first + idle * _SLOT.size, None

    def _write(self, slot: int, link_id: bytes, version: int, clicks: int) -> None:
        os.pwrite(self._file, _SLOT.pack(link_id, version, clicks, self._clock()), slot)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Raises Unavailable for a full disk."""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN)
        except OSError as error:
            raise Unavailable from error
