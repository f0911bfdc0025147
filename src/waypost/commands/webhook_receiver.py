"""`waypost webhook listen`: a receiver for development. It prints deliveries and verifies their signatures.

It listens on loopback only. Received data is printed as text, without escape sequences, and cannot look like output of
this command.
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

from waypost.commands.runner import EXIT_OK, read_text, say
from waypost.kit import clock, signing
from waypost.kit.errors import Invalid, SettingsError, WaypostError

_HOST = "127.0.0.1"
_MAX_BODY = 1 << 20
_CLIENT_TIMEOUT = 10.0  # seconds
_ENDING = {signal.SIGINT, signal.SIGTERM}

PrintDelivery = Callable[[Mapping[str, str], bytes], None]


class ListenFailed(WaypostError):
    """The receiver could not be started."""


def read_secret(text: str | None, file: Path | None) -> str | None:
    if text is not None and file:
        raise Invalid({"--secret-file": ["Use either --secret or --secret-file."]})
    if file:
        text = read_text("--secret-file", file).strip()
    if text == "":
        raise Invalid({"--secret": ["The secret is empty."]})
    return text


def tls_context(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    if not certificate:
        if key:
            raise Invalid({"--key": ["Add --certificate: a key needs one."]})
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key, password="")  # otherwise OpenSSL prompts on the terminal
    except OSError as error:
        problem = f"{certificate} and its key cannot be used: {error.strerror or error}"
        raise Invalid({"--certificate": [problem]}) from error
    return context


def listen(*, port: int, secret: str | None, status: int, tls: ssl.SSLContext | None) -> int:
    """Run until Ctrl-C or SIGTERM, or until stdout is closed."""
    if not 0 <= port < 65536:
        raise SettingsError("--port must be between 0 and 65535.")
    if not 200 <= status < 600:
        raise SettingsError("--status must be between 200 and 599.")
    # blocked in all threads until `sigwait`: Python's handlers can miss a signal that comes as a lock begins to wait
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    lock = threading.Lock()

    def show(headers: Mapping[str, str], body: bytes) -> None:
        text = describe(headers, body, secret, clock.now())
        with lock:  # a pipe may take a long text in parts
            if not _write(text):
                os.kill(os.getpid(), signal.SIGTERM)

    with _open_server(port, status, tls, show) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        scheme = "https" if tls else "http"
        url = f"{scheme}://{_HOST}:{server.server_address[1]}/"
        say(f"Listening on {url} and responding with {status}. Press Ctrl-C to stop.")
        signal.sigwait(_ENDING)
        server.shutdown()
    return EXIT_OK


def describe(headers: Mapping[str, str], body: bytes, secret: str | None, at: datetime) -> str:
    """Return a line about the delivery and its indented body."""
    fields = (headers.get(name, "-") for name in ("X-Event-Type", "X-Delivery-Id"))
    verdict = _verdict(headers.get("X-Signature", ""), body, secret, at)
    line = "  ".join([clock.timestamp(at), *map(_printable, fields), verdict])
    indented = "\n".join(map(_printable, _readable(body).split("\n")))
    return f"{line}\n{textwrap.indent(indented, '  ')}\n"


def _verdict(signature: str, body: bytes, secret: str | None, at: datetime) -> str:
    if secret is None:
        return "not verified: no secret given"
    problem = signing.find_problem(secret, signature, body, now=at.timestamp())
    return f"NOT verified: {problem}" if problem else "verified"


def _readable(body: bytes) -> str:
    try:
        return json.dumps(json.loads(body.decode()), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return body.decode(errors="backslashreplace")


def _printable(text: str) -> str:
    """Escape control characters, also those of text direction, as in JSON."""
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)


def _write(text: str) -> bool:
    """Write to stdout without Python's buffer, which could block the end of the process. False if it is closed."""
    rest = text.encode()
    try:
        while rest:
            rest = rest[os.write(sys.stdout.fileno(), rest) :]
    except BrokenPipeError:
        return False
    return True


def _open_server(port: int, status: int, tls: ssl.SSLContext | None, show: PrintDelivery) -> "_Server":
    try:
        return _Server(port, status, tls, show)
    except OSError as error:
        raise ListenFailed(f"Port {port} cannot be used: {error.strerror}") from error


class _Server(ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, status: int, tls: ssl.SSLContext | None, show: PrintDelivery) -> None:
        self.status = status
        self.show = show
        self._tls = tls
        super().__init__((_HOST, port), _Handler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Handshake in the connection's thread, so that a slow one does not delay others."""
        if not self._tls:
            super().finish_request(request, client_address)
            return
        cast("socket", request).settimeout(_CLIENT_TIMEOUT)
        with self._tls.wrap_socket(request, server_side=True) as secured:
            super().finish_request(secured, client_address)

    def handle_error(self, _request: Any, _client_address: Any) -> None:
        say(f"A connection failed: {_printable(str(sys.exc_info()[1]))}")


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _CLIENT_TIMEOUT
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            self.send_error(411)
        elif len(length) > 9 or int(length) > _MAX_BODY:
            self.send_error(413)
        else:
            self._accept(self.rfile.read(int(length)), int(length))

    def _accept(self, body: bytes, length: int) -> None:
        if len(body) < length:
            raise ConnectionError("the body ended too early")
        self.server.show(cast("Mapping[str, str]", self.headers), body)
        self.send_response(self.server.status)
        self.send_header("Connection", "close")
        if self.server.status not in {204, 304}:
            self.send_header("Content-Length", "0")
        with contextlib.suppress(ConnectionError):  # the client did not wait for the response
            self.end_headers()

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Deliveries are printed by `show`."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the standard library's name
        say(f"A request failed: {_printable(format % args)}")
