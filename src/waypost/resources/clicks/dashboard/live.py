"""The latest clicks as they arrive, over server-sent events.

Two queries a second for all open streams of this process, none if no stream is open: for new clicks, and for sessions
that no longer show the account, whose streams end. Each message has all the latest clicks and is rendered once for all
who read times and numbers alike: a slow reader misses messages, but no clicks.

When all streams are in use, a new one replaces the oldest of the account with most streams: no account can keep the
others out.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from starlette.responses import StreamingResponse

from waypost.kit.errors import Unavailable
from waypost.kit.preferences import Preferences
from waypost.resources.clicks.model import Subject
from waypost.web.streaming import StreamedResponse

MAX_STREAMS = 50
MAX_STREAMS_PER_ACCOUNT = 4
POLL_INTERVAL = 1.0  # seconds, like the following
HEARTBEAT = 15.0
MAX_DURATION = 30 * 60.0
READ_TIMEOUT = 30.0
"""How long a client may leave a message unread."""
_RETRY_LATER = "retry: 60000\n\n"
"""Sent to a stream that is replaced."""
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # a proxy that buffers responses would delay them
}

CountLatest = Callable[[Collection[UUID]], Awaitable[Mapping[UUID, int]]]
"""Returns recent clicks of each subject; those without clicks are missing. Raises Unavailable."""
RenderLatest = Callable[[Subject, Preferences], Awaitable[str]]
"""Returns the latest clicks of a subject as HTML. Raises Unavailable."""


class Viewer(NamedTuple):
    session_id: UUID
    account_id: UUID


FindActive = Callable[[Collection[Viewer]], Awaitable[Collection[Viewer]]]
"""Returns those whose session is active, shows the account, and is of a member. Raises Unavailable."""


@dataclass(eq=False, slots=True)
class _Channel:
    """The messages about one subject, for people with equal preferences."""

    subject: Subject
    preferences: Preferences
    streams: int = 0
    count: int = -1
    message: str = ""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once, when the message changes; then replaced by a new event."""
    is_closed: bool = False
    """Its streams end, and the browsers reconnect."""

    def wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


@dataclass(eq=False, slots=True)
class _Stream:
    viewer: Viewer
    channel: _Channel
    is_replaced: bool = False
    is_over: bool = False
    """The viewer may not see it any more."""


class LiveClicks:
    def __init__(
        self,
        count: CountLatest,
        render: RenderLatest,
        find_active: FindActive,
        *,
        is_shutting_down: Callable[[], bool],
    ) -> None:
        """`is_shutting_down`: whether this process is about to end; then all streams end, too."""
        self._count = count
        self._render = render
        self._find_active = find_active
        self._is_shutting_down = is_shutting_down
        self._channels: dict[tuple[Subject, Preferences], _Channel] = {}
        self._streams: list[_Stream] = []
        """In the order in which they were opened."""
        self._polling: asyncio.Task[None] | None = None

    def stream(self, subject: Subject, preferences: Preferences, viewer: Viewer) -> StreamingResponse | None:
        """Return None if the process is about to end."""
        if self._is_shutting_down():
            return None
        self._replace_one(viewer.account_id)
        key = subject, preferences
        channel = self._channels.setdefault(key, _Channel(*key))
        channel.streams += 1
        stream = _Stream(viewer, channel)
        self._streams.append(stream)
        if self._polling is None:
            self._polling = asyncio.create_task(self._poll_while_open())

        def leave() -> None:
            channel.streams -= 1
            if not stream.is_replaced:
                self._streams.remove(stream)
            if not channel.streams:
                del self._channels[key]

        messages = self._messages(stream)
        return StreamedResponse(messages, "text/event-stream", leave, headers=_HEADERS, read_timeout=READ_TIMEOUT)

    async def close(self) -> None:
        if self._polling:
            self._polling.cancel()
            await asyncio.gather(self._polling, return_exceptions=True)

    def _replace_one(self, account_id: UUID) -> None:
        """Replace a stream if the limit of the account or of the process is reached."""
        accounts = Counter(stream.viewer.account_id for stream in self._streams)
        if accounts[account_id] >= MAX_STREAMS_PER_ACCOUNT:
            account_to_reduce = account_id
        elif len(self._streams) >= MAX_STREAMS:
            account_to_reduce = accounts.most_common(1)[0][0]
        else:
            return
        oldest = next(stream for stream in self._streams if stream.viewer.account_id == account_to_reduce)
        self._streams.remove(oldest)
        oldest.is_replaced = True
        oldest.channel.wake()

    async def _messages(self, stream: _Stream) -> AsyncIterator[str]:
        channel = stream.channel
        clock = asyncio.get_running_loop().time
        sent, begin = "", clock()
        heartbeat_at = begin
        yield "retry: 3000\n\n"
        while not (channel.is_closed or stream.is_over) and clock() - begin < MAX_DURATION:
            if stream.is_replaced:
                yield _RETRY_LATER
                return
            if clock() - heartbeat_at >= HEARTBEAT:
                heartbeat_at = clock()
                yield ": heartbeat\n\n"
            elif channel.message != sent:
                sent = channel.message
                yield sent
            else:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(heartbeat_at + HEARTBEAT - clock()):
                        await channel.changed.wait()

    async def _poll_while_open(self) -> None:
        try:
            while self._channels and not self._is_shutting_down():
                with contextlib.suppress(Unavailable):
                    await self._poll()
                await asyncio.sleep(POLL_INTERVAL)
        finally:
            self._polling = None
            for channel in self._channels.values():
                channel.is_closed = True
                channel.wake()

    async def _poll(self) -> None:
        streams = list(self._streams)  # others may come during the query
        active = await self._find_active({stream.viewer for stream in streams})
        for stream in streams:
            if stream.viewer not in active:
                stream.is_over = True
                stream.channel.wake()
        counts = await self._count({subject.id for subject, _ in self._channels})
        for (subject, preferences), channel in list(self._channels.items()):
            count = counts.get(subject.id, 0)
            if count != channel.count:
                lines = (f"data: {line}\n" for line in (await self._render(subject, preferences)).splitlines())
                channel.count, channel.message = count, f"event: clicks\n{''.join(lines)}\n"
                channel.wake()
