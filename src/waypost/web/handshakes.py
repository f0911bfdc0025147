"""The TLS port: accepts, and lets nobody in before the handshake is done.

Whoever connects and says nothing keeps nobody out: of too many handshakes under way, the oldest is broken off.
"""

import asyncio
import resource
import socket
import ssl
from collections.abc import Callable

import structlog

_PATIENCE = 5.0  # seconds a visitor has for it
_GOODBYE = 2.0  # seconds to answer the end of a connection
_AT_ONCE = 1_000
_SHARE = 4  # and no more than one in so many of the files that the process may have open
_ACCEPTED_AT_ONCE = 100
_REST = 1.0  # seconds

log = structlog.get_logger(__name__)


class Handshakes:
    """Of one listening socket. Is to uvicorn what an asyncio.Server is: closed first, waited for last."""

    def __init__(
        self,
        bound: socket.socket,
        context: ssl.SSLContext,
        protocol: Callable[[], asyncio.Protocol],
        *,
        at_once: int = _AT_ONCE,
        patience: float = _PATIENCE,
        rest: float = _REST,
    ) -> None:
        """Begins to accept. `rest`: after a connection that could not be."""
        self._bound = bound
        self._context = context
        self._protocol = protocol
        self._at_once = max(1, min(at_once, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // _SHARE))
        self._patience = patience
        self._rest = rest
        self._under_way: dict[asyncio.Task[None], None] = {}  # the oldest first
        self._loop = asyncio.get_running_loop()
        self._is_out = False
        self._is_closed = False
        bound.setblocking(False)
        self._listen()

    def close(self) -> None:
        self._is_closed = True
        self._loop.remove_reader(self._bound)
        self._bound.close()
        for task in self._under_way:
            task.cancel()

    async def wait_closed(self) -> None:
        await asyncio.gather(*self._under_way, return_exceptions=True)

    def _listen(self) -> None:
        if not self._is_closed:
            self._loop.add_reader(self._bound, self._accept)

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                connection, _ = self._bound.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):  # another process was first
                return
            except OSError as error:  # no file is left, mostly: it would be heard of again and again
                if not self._is_out:
                    log.error("no connection can be accepted", error=str(error))
                self._is_out = True
                self._loop.remove_reader(self._bound)
                self._loop.call_later(self._rest, self._listen)
                return
            self._is_out = False
            self._begin(connection)

    def _begin(self, connection: socket.socket) -> None:
        if len(self._under_way) >= self._at_once:
            oldest = next(iter(self._under_way))
            del self._under_way[oldest]
            oldest.cancel()
        task = self._loop.create_task(self._shake_hands(connection))
        self._under_way[task] = None
        task.add_done_callback(lambda _: self._end(task, connection))

    def _end(self, task: "asyncio.Task[None]", connection: socket.socket) -> None:
        self._under_way.pop(task, None)
        if task.cancelled():
            connection.close()  # perhaps it had not even begun

    async def _shake_hands(self, connection: socket.socket) -> None:
        try:
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.connect_accepted_socket(
                self._protocol,
                connection,
                ssl=self._context,
                ssl_handshake_timeout=self._patience,
                ssl_shutdown_timeout=_GOODBYE,
            )
        except OSError:  # of whatever kind, it is the visitor's
            connection.close()
