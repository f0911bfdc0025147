"""The HTTP server of a web process: uvicorn, stopped by an event instead of signals, and with TLS sockets."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator, Sequence

import uvicorn

from waypost.web.tls_listener import TlsListener


class WebServer(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, tls: ssl.SSLContext | None = None, tls_sockets: Sequence[socket.socket] = ()
    ) -> None:
        """Connections of `tls_sockets` are counted, limited and closed with all others."""
        super().__init__(config)
        self._tls = tls
        self._tls_sockets = tls_sockets

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self._tls:
            for bound in self._tls_sockets:
                bound.listen(self.config.backlog)
                listener = TlsListener(bound, self._tls, self._protocol)
                self.servers.append(listener)  # type: ignore[arg-type]  # uvicorn calls only what it has

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # the process itself handles them, and its parent's death

    async def exit_on(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self.should_exit = True

    def _protocol(self) -> asyncio.Protocol:
        return self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
