"""An HTTP proxy before the service that fails as networks and proxies do, once for each fault that it is given.

Programs in other languages ask for the fault of a request with its header `X-Fault`.
"""

import http.client
import threading
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal, Self

Fault = Literal["drop before", "drop after", "half", "slow", "429", "503", "502", "page", "redirect", "not json"]
RETRY_AFTER = "7"


@dataclass
class Seen:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class FaultProxy:
    port: int
    """Of the service."""
    faults: deque[Fault] = field(default_factory=deque)
    seen: list[Seen] = field(default_factory=list)
    forwarded: list[Seen] = field(default_factory=list)

    def __enter__(self) -> Self:
        proxy = self
        self.is_over = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _any(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                names = {name.lower(): value for name, value in self.headers.items()}
                proxy._answer(self, Seen(self.command, self.path, names, self.rfile.read(length)))

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _any

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.01])
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, to: BaseHTTPRequestHandler, request: Seen) -> None:
        self.seen.append(request)
        fault = self.faults.popleft() if self.faults else request.headers.pop("x-fault", None)
        if fault in {"429", "503", "502"}:
            self._send(to, int(fault), b"busy", {"Retry-After": RETRY_AFTER} if fault != "502" else {})
        elif fault == "page":
            self._send(to, 200, b"<!doctype html>", {"Content-Type": "text/html; charset=utf-8"})
        elif fault == "not json":
            self._send(to, 200, b'{"data": ', {"Content-Type": "application/json"})
        elif fault == "redirect":
            self._send(to, 301, b"", {"Location": f"https://go.example.com{request.path}"})
        elif fault == "slow":
            self.is_over.wait(60)
            to.close_connection = True
        elif fault == "drop before":
            to.close_connection = True
        else:
            status, headers, body = self._forward(request)
            if fault == "drop after":
                to.close_connection = True
            else:
                self._send(to, status, body, headers, is_half=fault == "half")

    def _forward(self, request: Seen) -> tuple[int, dict[str, str], bytes]:
        self.forwarded.append(request)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(request.method, request.path, request.body or None, request.headers)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        hop = {"connection", "content-length", "transfer-encoding", "date", "server"}
        return response.status, {n: v for n, v in response.getheaders() if n.lower() not in hop}, body

    def _send(
        self, to: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str], *, is_half: bool = False
    ) -> None:
        to.send_response(status)
        for name, value in headers.items():
            to.send_header(name, value)
        if status != 204:
            to.send_header("Content-Length", str(len(body)))
        to.end_headers()
        to.wfile.write(body[: len(body) // 2] if is_half else body)
        to.close_connection = to.close_connection or is_half
