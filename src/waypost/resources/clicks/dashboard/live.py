"""The latest clicks as they arrive, over server-sent events.

One question a second to the database for all who watch in this process, and none when nobody does. What a message says
is made once, however many watch; who reads slowly misses messages, not clicks: each tells the latest ones anew.

Where all places are taken, who comes gets the oldest one of the account that has most: nobody can keep others out.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from starlette.responses import StreamingResponse

from waypost.kit.errors import Unavailable
from waypost.resources.clicks.subject import Subject
from waypost.web.streaming import Streamed

AT_ONCE = 50
OF_ACCOUNT = 4
EVERY = 1.0  # seconds, as all that follow
HEARTBEAT = 15.0
LASTS = 30 * 60.0
UNREAD = 30.0
"""How long a message may wait to be read at all."""
_LATER = "retry: 60000\n\n"
"""Told to who makes room: the place is somebody else's for a while."""
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # a proxy that collects answers would hold them back
}

Counts = Callable[[Collection[UUID]], Awaitable[Mapping[UUID, int]]]
"""How many clicks each of these subjects has had lately; who has none is missing. Raises Unavailable."""
Show = Callable[[Subject], Awaitable[str]]
"""The latest clicks of one, as HTML. Raises Unavailable."""
IsWelcome = Callable[[], Awaitable[bool]]
"""Whether who watches is still signed in. Raises Unavailable."""


@dataclass(eq=False, slots=True)
class _Watched:
    subject: Subject
    watchers: int = 0
    count: int = -1
    message: str = ""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once, when the message is another; then there is a new one."""
    is_over: bool = False
    """Nobody looks any more: whoever watches comes again."""

    def tell(self, message: str) -> None:
        self.message = message
        self.wake()

    def end(self) -> None:
        self.is_over = True
        self.wake()

    def wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


@dataclass(eq=False, slots=True)
class _Watcher:
    account_id: UUID
    watched: _Watched
    is_over: bool = False
    """Its place is another's by now."""

    def end(self) -> None:
        self.is_over = True
        self.watched.wake()


class Live:
    def __init__(self, counts: Counts, show: Show, *, is_leaving: Callable[[], bool]) -> None:
        """`is_leaving`: whether this process is about to end; then all streams end, too."""
        self._counts = counts
        self._show = show
        self._is_leaving = is_leaving
        self._watched: dict[Subject, _Watched] = {}
        self._watchers: list[_Watcher] = []
        """The oldest first."""
        self._looking: asyncio.Task[None] | None = None

    def stream(self, subject: Subject, account_id: UUID, is_welcome: IsWelcome) -> StreamingResponse | None:
        """None when the process is about to end."""
        if self._is_leaving():
            return None
        self._make_room(account_id)
        watched = self._watched.setdefault(subject, _Watched(subject))
        watched.watchers += 1
        watcher = _Watcher(account_id, watched)
        self._watchers.append(watcher)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_on())

        def leave() -> None:
            watched.watchers -= 1
            if not watcher.is_over:
                self._watchers.remove(watcher)
            if not watched.watchers:
                del self._watched[subject]

        messages = self._messages(watcher, is_welcome)
        return Streamed(messages, "text/event-stream", leave, headers=_HEADERS, unread=UNREAD)

    async def close(self) -> None:
        if self._looking:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    def _make_room(self, account_id: UUID) -> None:
        """One more place, for this account."""
        accounts = Counter(each.account_id for each in self._watchers)
        if accounts[account_id] >= OF_ACCOUNT:
            fullest = account_id
        elif len(self._watchers) >= AT_ONCE:
            fullest = accounts.most_common(1)[0][0]
        else:
            return
        oldest = next(each for each in self._watchers if each.account_id == fullest)
        self._watchers.remove(oldest)
        oldest.end()

    async def _messages(self, watcher: _Watcher, is_welcome: IsWelcome) -> AsyncIterator[str]:
        watched = watcher.watched
        clock = asyncio.get_running_loop().time
        told, begin = "", clock()
        asked = begin
        yield "retry: 3000\n\n"
        while not watched.is_over and clock() - begin < LASTS:
            if watcher.is_over:
                yield _LATER
                return
            if clock() - asked >= HEARTBEAT:
                asked = clock()
                with contextlib.suppress(Unavailable):
                    if not await is_welcome():
                        return
                yield ": still here\n\n"
            elif watched.message != told:
                told = watched.message
                yield told
            else:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(asked + HEARTBEAT - clock()):
                        await watched.changed.wait()

    async def _look_on(self) -> None:
        try:
            while self._watched and not self._is_leaving():
                with contextlib.suppress(Unavailable):
                    await self._look()
                await asyncio.sleep(EVERY)
        finally:
            self._looking = None
            for watched in self._watched.values():
                watched.end()

    async def _look(self) -> None:
        counts = await self._counts({subject.id for subject in self._watched})
        for subject, watched in list(self._watched.items()):
            count = counts.get(subject.id, 0)
            if count != watched.count:
                rows = await self._show(subject)
                watched.count = count
                watched.tell(event("clicks", rows))


def event(name: str, text: str) -> str:
    lines = (f"data: {line}\n" for line in text.splitlines())
    return f"event: {name}\n{''.join(lines)}\n"
