"""The HTTP server of a web process: uvicorn, stopped by an event instead of signals, and with TLS sockets."""

import asyncio
import contextlib
import resource
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence

import structlog
import uvicorn
from starlette.types import ASGIApp

from waypost.http.bounded import IDLE_TIMEOUT
from waypost.metrics import Counter

MALFORMED = Counter("waypost_malformed_requests_total", "Requests refused because they were not valid HTTP/1.1.")
_REQUEST_TIMEOUT = 12  # seconds for open requests at the end

_HANDSHAKE_TIMEOUT = 5.0  # seconds
_SHUTDOWN_TIMEOUT = 2.0  # seconds
_MAX_PENDING = 1_000
_FILES_PER_HANDSHAKE = 4  # handshakes use at most a quarter of the process's file limit
_ACCEPT_BATCH = 100
_PAUSE = 1.0  # seconds

log = structlog.get_logger(__name__)


def server_config(app: ASGIApp, protocol: type[asyncio.Protocol]) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        log_level="warning",
        server_header=False,
        proxy_headers=False,  # web.guard and clicks.intake read them, from trusted proxies only
        timeout_keep_alive=int(IDLE_TIMEOUT),
        timeout_graceful_shutdown=_REQUEST_TIMEOUT,
    )


class WebServer(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, tls: ssl.SSLContext | None = None, tls_sockets: Sequence[socket.socket] = ()
    ) -> None:
        """Connections of `tls_sockets` are counted, limited and closed with all others."""
        super().__init__(config)
        self._tls = tls
        self._tls_sockets = tls_sockets
        self.is_accepting = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self._tls:
            for bound in self._tls_sockets:
                bound.listen(self.config.backlog)
                listener = TlsListener(bound, self._tls, self._protocol)
                self.servers.append(listener)  # type: ignore[arg-type]  # uvicorn calls only what it has
        self.is_accepting.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # the process itself handles them, and the end of its parent

    async def exit_on(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self.should_exit = True

    def _protocol(self) -> asyncio.Protocol:
        return self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )


class TlsListener:
    """Accepts TLS connections of one socket. uvicorn uses it like an asyncio.Server: closes it first, waits last."""

    def __init__(
        self,
        bound: socket.socket,
        context: ssl.SSLContext,
        protocol: Callable[[], asyncio.Protocol],
        *,
        max_pending: int = _MAX_PENDING,
        timeout: float = _HANDSHAKE_TIMEOUT,
        pause: float = _PAUSE,
    ) -> None:
        """Start to accept. `pause`: seconds after a connection could not be accepted."""
        self._bound = bound
        self._context = context
        self._protocol = protocol
        self._max_pending = max(
            1, min(max_pending, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // _FILES_PER_HANDSHAKE)
        )
        self._timeout = timeout
        self._pause = pause
        self._pending: dict[asyncio.Task[None], None] = {}  # the oldest first
        self._loop = asyncio.get_running_loop()
        self._has_accept_failed = False
        self._is_closed = False
        bound.setblocking(False)
        self._listen()

    def close(self) -> None:
        self._is_closed = True
        self._loop.remove_reader(self._bound)
        self._bound.close()
        for task in self._pending:
            task.cancel()

    async def wait_closed(self) -> None:
        await asyncio.gather(*self._pending, return_exceptions=True)

    def _listen(self) -> None:
        if not self._is_closed:
            self._loop.add_reader(self._bound, self._accept)

    def _accept(self) -> None:
        for _ in range(_ACCEPT_BATCH):
            try:
                connection, _ = self._bound.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):  # another process was first
                return
            except OSError as error:  # usually no file descriptor is left; the event would fire again and again
                if not self._has_accept_failed:
                    log.error("cannot accept connections", error=error.strerror)
                self._has_accept_failed = True
                self._loop.remove_reader(self._bound)
                self._loop.call_later(self._pause, self._listen)
                return
            self._has_accept_failed = False
            self._begin(connection)

    def _begin(self, connection: socket.socket) -> None:
        if len(self._pending) >= self._max_pending:
            oldest = next(iter(self._pending))
            del self._pending[oldest]
            oldest.cancel()
        task = self._loop.create_task(self._shake_hands(connection))
        self._pending[task] = None
        task.add_done_callback(lambda _: self._end(task, connection))

    def _end(self, task: "asyncio.Task[None]", connection: socket.socket) -> None:
        self._pending.pop(task, None)
        if task.cancelled():
            connection.close()  # perhaps before the task began

    async def _shake_hands(self, connection: socket.socket) -> None:
        try:
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.connect_accepted_socket(
                self._protocol,
                connection,
                ssl=self._context,
                ssl_handshake_timeout=self._timeout,
                ssl_shutdown_timeout=_SHUTDOWN_TIMEOUT,
            )
        except OSError:  # TLS and network errors of the client
            connection.close()
