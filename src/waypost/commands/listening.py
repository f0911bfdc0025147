"""`waypost webhook listen`: a receiver for those who write one. It prints deliveries and says whether to believe them.

Listens on loopback only. Whatever is received reaches the terminal as text: never as an escape sequence, nor as
a line that could pass for one of ours.
"""

import contextlib
import json
import os
import signal
import ssl
import sys
import textwrap
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socket import socket
from socketserver import ThreadingTCPServer
from typing import Any, cast

from waypost.commands.running import DONE, say
from waypost.kit import clock, signing
from waypost.kit.errors import Invalid, SettingsError, WaypostError

_HOST = "127.0.0.1"
_MAX_BODY = 1 << 20
_PATIENCE = 10.0  # seconds that a client may be silent

Show = Callable[[Mapping[str, str], bytes], None]


class ListenFailed(WaypostError):
    """The receiver could not be started."""


def chosen_secret(text: str | None, file: Path | None) -> str | None:
    if text is not None and file:
        raise Invalid({"--secret-file": ["The secret comes from here or from --secret, not from both."]})
    if file:
        try:
            text = file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ListenFailed(f"The secret cannot be read: {error}") from error
    if text == "":
        raise Invalid({"--secret": ["This is empty."]})
    return text


def chosen_tls(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    if not certificate:
        if key:
            raise Invalid({"--key": ["A key needs its --certificate."]})
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key, password="")  # without one, OpenSSL would ask on the terminal
    except OSError as error:
        raise ListenFailed(f"{certificate} and its key cannot be used: {error}") from error
    return context


def listen(*, port: int, secret: str | None, status: int, tls: ssl.SSLContext | None) -> int:
    """Until Ctrl-C or SIGTERM, or until nobody reads what it prints."""
    if not (0 <= port < 65536 and 200 <= status < 600):
        raise SettingsError("--port must be between 0 and 65535, and --status between 200 and 599.")
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    printing = threading.Lock()

    def show(headers: Mapping[str, str], body: bytes) -> None:
        told = description(headers, body, secret, clock.now())
        with printing:  # a pipe may take a long text in parts
            if not _written(told):
                over.set()

    with _opened(port, status, tls, show) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        scheme = "https" if tls else "http"
        say(f"Listening on {scheme}://{_HOST}:{server.server_address[1]}/ and answering {status}. Ctrl-C ends it.")
        over.wait()
        server.shutdown()
    return DONE


def description(headers: Mapping[str, str], body: bytes, secret: str | None, at: datetime) -> str:
    """A line on the delivery, then its body, indented so that no text of it can pass for such a line."""
    known = (headers.get(name, "-") for name in ("X-Event-Type", "X-Delivery-Id"))
    verdict = _verdict(headers.get("X-Signature", ""), body, secret, at)
    line = "  ".join([clock.timestamp(at), *map(_harmless, known), verdict])
    shown = "\n".join(map(_harmless, _readable(body).split("\n")))
    return f"{line}\n{textwrap.indent(shown, '  ')}\n"


def _verdict(signature: str, body: bytes, secret: str | None, at: datetime) -> str:
    if secret is None:
        return "not verified: no secret given"
    fault = signing.fault(secret, signature, body, now=at.timestamp())
    return f"NOT verified: {fault}" if fault else "verified"


def _readable(body: bytes) -> str:
    try:
        return json.dumps(json.loads(body.decode()), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return body.decode(errors="backslashreplace")


def _harmless(text: str) -> str:
    """Control characters, and those that turn the direction of a line, as JSON escapes them."""
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)


def _written(text: str) -> bool:
    """Past Python's own buffer: while a thread waits for room in it, the process could not end."""
    left = text.encode()
    try:
        while left:
            left = left[os.write(sys.stdout.fileno(), left) :]
    except BrokenPipeError:
        return False
    return True


def _opened(port: int, status: int, tls: ssl.SSLContext | None, show: Show) -> "_Server":
    try:
        return _Server(port, status, tls, show)
    except OSError as error:
        raise ListenFailed(f"Port {port} cannot be listened on: {error.strerror}") from error


class _Server(ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, status: int, tls: ssl.SSLContext | None, show: Show) -> None:
        self.status = status
        self.show = show
        self._tls = tls
        super().__init__((_HOST, port), _Handler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """In the connection's own thread, so that a slow handshake holds up nobody."""
        if not self._tls:
            super().finish_request(request, client_address)
            return
        cast("socket", request).settimeout(_PATIENCE)
        with self._tls.wrap_socket(request, server_side=True) as secured:
            super().finish_request(secured, client_address)

    def handle_error(self, _request: Any, _client_address: Any) -> None:
        say(f"A connection failed: {_harmless(str(sys.exc_info()[1]))}")


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _PATIENCE
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            self.send_error(411)
        elif len(length) > 9 or int(length) > _MAX_BODY:
            self.send_error(413)
        else:
            self._take(self.rfile.read(int(length)), int(length))

    def _take(self, body: bytes, length: int) -> None:
        if len(body) < length:
            raise ConnectionError("the body ended too early")
        self.server.show(cast("Mapping[str, str]", self.headers), body)
        self.send_response(self.server.status)
        self.send_header("Connection", "close")
        if self.server.status not in {204, 304}:
            self.send_header("Content-Length", "0")
        with contextlib.suppress(ConnectionError):  # it did not wait for the answer
            self.end_headers()

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """What was taken is printed already."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the standard library's name
        say(f"A request failed: {_harmless(format % args)}")
