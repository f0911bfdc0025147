"""Responds to visits inside the HTTP protocol, and passes everything else unchanged to uvicorn and the application.

An ordinary GET of a route in memory gets its response where its bytes arrive: no task, no scope, no ASGI message. Every
other request is passed on: bodies, upgrades, HTTP/1.0, `Expect`, repeated headers, encoded paths, several
requests or part of one in a read, and requests while a response on the connection is in progress.
"""

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from waypost.http.bounded import BoundedProtocol
from waypost.http.connections import Connections
from waypost.redirect.responder import VisitResponder
from waypost.redirect.state import RedirectState


def protocol_for(state: RedirectState, connections: Connections) -> type[HttpToolsProtocol]:
    """Return the protocol class for `uvicorn.Config(http=…)`, which makes one instance per connection."""
    return type("VisitProtocol", (_VisitProtocol,), {"state": state, "client_connections": connections})


class _VisitProtocol(BoundedProtocol):
    state: RedirectState

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._responder = VisitResponder(self.state, self._receive_other)  # first: it keeps `active_at`
        super().__init__(*args, **kwargs)
        self.data_received = self._responder.receive  # type: ignore[method-assign]  # the event loop calls it directly

    @property
    def active_at(self) -> float:
        return self._responder.active_at

    @active_at.setter
    def active_at(self, now: float) -> None:
        self._responder.active_at = now

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._responder.peer = self.peer
        self._responder.write = transport.write
        self.state.refresh_headers(self.server_state.default_headers)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._responder.receive_other = _ignore  # no cycle of references: the connection is freed now

    def pause_writing(self) -> None:
        self._responder.has_only_visits = False
        super().pause_writing()

    def _receive_other(self, data: bytes) -> None:
        responder = self._responder
        if (
            not responder.has_only_visits
            and (self.cycle is None or self.cycle.response_complete)
            and not (self.is_in_message or self.pipeline or self.flow.write_paused)
            and responder.respond(data)
        ):
            self._unset_keepalive_if_required()
            return
        responder.has_only_visits = False
        if responder.responses:
            self.state.flush()  # in order, even if uvicorn responds immediately
        super().data_received(data)

    def shutdown(self) -> None:
        self.state.flush()
        super().shutdown()


def _ignore(_data: bytes) -> None:
    """After the end of a connection."""
