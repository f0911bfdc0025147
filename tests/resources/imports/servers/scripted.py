"""Servers that speak the protocol of a service that links are imported from, with its traps, and fail when asked to.

A server runs in a thread of its own, so that a test may read it in its event loop, or start `waypost import` as a
process. Each service is a subclass that answers requests from its rows; the faults here fit all of them.
"""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

from servers import OPEN

Row = TypeVar("Row")

TOKEN = "token-of-the-tests"


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Names are case-insensitive."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    sent: int | None = None
    """So many bytes of the body are sent; then the connection closes. None: all of them."""


Fault = Callable[[Answer], Answer]
"""Makes another answer of the true one."""


def as_json(value: Any, status: int = 200, **headers: str) -> Answer:
    return Answer(status, json.dumps(value).encode(), {"Content-Type": "application/json", **headers})


def always(status: int, body: bytes = b"", **headers: str) -> Fault:
    """Header names in Python's spelling: `retry_after="1"`."""
    answer = Answer(status, body, {name.replace("_", "-"): value for name, value in headers.items()})
    return lambda _: answer


TOO_MANY = always(429)
"""Without Retry-After."""
SERVER_ERROR = always(500, b"<h1>Internal Server Error</h1>", content_type="text/html")
HTML = always(200, b"<!doctype html><title>Sign in</title>", content_type="text/html")


def truncated(answer: Answer) -> Answer:
    """The body ends in the middle, and its length says so."""
    return replace(answer, body=answer.body[: len(answer.body) // 2])


def cut_off(answer: Answer) -> Answer:
    """The connection is lost in the middle of the body."""
    return replace(answer, sent=len(answer.body) // 2)


class ScriptedService:
    """Remembers its requests. A service overrides `answer`."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.faults: deque[Fault] = deque()
        """For the next answers, one each."""
        self.before: Callable[[Request], object] = lambda _: None
        """Called before each answer: a source may change while it is read."""
        self.is_endless = False
        """Every page is the first one, and says that there are more."""
        self.overlap = 0
        """So many rows of each page were on the page before as well."""
        self._lock = threading.Lock()

    def answer(self, request: Request) -> Answer:
        raise NotImplementedError

    def page(self, rows: Sequence[Row], start: int, size: int) -> tuple[Sequence[Row], bool]:
        """Return the rows from `start` on, and whether there are more."""
        if self.is_endless:
            return rows[:size], True
        first = max(0, start - self.overlap) if start < len(rows) else start
        return rows[first : start + size], start + size < len(rows)

    def faulty_answer(self, request: Request) -> Answer:
        with self._lock:
            self.requests.append(request)
            self.before(request)
            fault = self.faults.popleft() if self.faults else None
        answer = self.answer(request)
        return fault(answer) if fault else answer

    @contextmanager
    def running(self, host: str = OPEN) -> Iterator[str]:
        """Yield the origin, for `--url`."""
        server = _Server((host, 0), _handler(self))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"http://{host}:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that was killed is no news."""


def _handler(service: ScriptedService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10  # seconds, for a client that sends nothing; lines and headers are bounded by the library

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = dict(parse_qsl(parts.query, keep_blank_values=True))
            answer = service.faulty_answer(Request(parts.path, query, self.headers))
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body[: answer.sent])

        def log_message(self, *_: object) -> None:
            pass

    return Handler
