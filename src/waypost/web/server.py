"""The HTTP server of a web process: uvicorn, told to leave by an event instead of by signals, and with TLS beside."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator, Sequence

import uvicorn

from waypost.web.handshakes import Handshakes


class Server(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, tls: ssl.SSLContext | None = None, tls_sockets: Sequence[socket.socket] = ()
    ) -> None:
        """Connections of `tls_sockets` are counted, limited and ended with all others."""
        super().__init__(config)
        self._tls = tls
        self._tls_sockets = tls_sockets

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self._tls:
            for bound in self._tls_sockets:
                bound.listen(self.config.backlog)
                handshakes = Handshakes(bound, self._tls, self._protocol)
                self.servers.append(handshakes)  # type: ignore[arg-type]  # it is asked for no more than it has

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # the process listens to them, and to its parent's death, itself

    async def leave_on(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self.should_exit = True

    def _protocol(self) -> asyncio.Protocol:
        return self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
