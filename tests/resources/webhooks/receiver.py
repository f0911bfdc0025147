"""A receiver as a customer has one: HTTPS on a port of its own, with a certificate of an authority of its own.

Verifies signatures as docs/guides/webhooks.md describes, with none of the package's code.
"""

import hashlib
import hmac
import json
import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import trustme

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Received:
    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float
    """Seconds since 1970."""

    @property
    def envelope(self) -> dict[str, Any]:
        return json.loads(self.body)

    def is_signed_with(self, secret: str) -> bool:
        signed = dict(part.split("=", 1) for part in self.headers["X-Signature"].split(","))
        expected = hmac.new(secret.encode(), signed["t"].encode() + b"." + self.body, hashlib.sha256).hexdigest()
        is_fresh = abs(self.at - int(signed["t"])) <= 300 and signed["t"] == self.headers["X-Webhook-Timestamp"]
        return is_fresh and hmac.compare_digest(expected, signed["v1"])


class Receiver:
    """Answers each path with its next turn, a status; the last one stays, and without any it is 200."""

    def __init__(self, directory: Path) -> None:
        authority = trustme.CA()
        self.ca_file = directory / "receiver-ca.pem"
        authority.cert_pem.write_to_path(self.ca_file)
        self._turns: dict[str, list[int]] = defaultdict(lambda: [200])
        self._received: list[Received] = []
        self._news = threading.Condition()
        self._server = _Server((HOST, 0), self._handler())
        self._server.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert(HOST).configure_cert(self._server.tls)
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.01])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def url(self, path: str) -> str:
        return f"https://{HOST}:{self._server.server_address[1]}{path}"

    def will(self, path: str, *turns: int) -> None:
        self._turns[path] = list(turns)

    def received(self, path: str | None = None) -> Sequence[Received]:
        with self._news:
            return [each for each in self._received if path in {None, each.path}]

    def wait_for(self, path: str, count: int, within: float = 60) -> Sequence[Received]:
        with self._news:
            came = self._news.wait_for(lambda: sum(each.path == path for each in self._received) >= count, within)
        found = self.received(path)
        assert came, f"{len(found)} of {count} came to {path}"
        return found

    def _note(self, received: Received) -> int:
        with self._news:
            self._received.append(received)
            self._news.notify_all()
            turns = self._turns[received.path]
            return turns.pop(0) if len(turns) > 1 else turns[0]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        note = self._note

        class Hook(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # connections are kept

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(note(Received(self.path, dict(self.headers), body, time.time())))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Quiet."""

        return Hook


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    tls: ssl.SSLContext

    def finish_request(self, request: Any, client_address: Any) -> None:
        """In the connection's own thread: whoever dies in the handshake holds up nobody."""
        with self.tls.wrap_socket(request, server_side=True) as secured:
            super().finish_request(secured, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Senders are killed here."""
