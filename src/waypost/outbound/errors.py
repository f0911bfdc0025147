"""Errors of outbound requests, and the short reason for each failed connection. Callers choose what users read.

OutboundError
├── NotPublic     the address is not on the public internet
├── Unreachable   no usable response: DNS, TCP, TLS, timeout, malformed or 5xx response, too many redirects
│   └── BadRedirect   to what is no URL of a website: no outage, so it is refused everywhere
└── Unsafe        a blocklist or Safe Browsing lists the URL
"""

import errno
from typing import ClassVar

HEADERS_TOO_LARGE = "the response headers are too large"

_BY_NUMBER = {
    errno.ECONNREFUSED: "connection refused",
    errno.ECONNRESET: "connection reset",
    errno.EPIPE: "connection reset",
    errno.ETIMEDOUT: "timed out",
    errno.EHOSTUNREACH: "no route to the host",
    errno.ENETUNREACH: "no route to the host",
}


class OutboundError(Exception):
    kind: ClassVar[str]
    """Does not change: logs, stored delivery errors and tests depend on it."""


class NotPublic(OutboundError):
    kind = "not_public"


class Unreachable(OutboundError):
    kind = "unreachable"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        """A few words, such as `timed out` or `tls: certificate has expired`."""

    @property
    def in_words(self) -> str:
        return in_words(self.reason)


class BadRedirect(Unreachable):
    pass


class Unsafe(OutboundError):
    kind = "unsafe"


def in_words(reason: str) -> str:
    """Return the reason of Unreachable for people, without the prefixes that logs have."""
    if reason == "dns: timed out":
        return "the DNS lookup timed out"
    return reason.removeprefix("dns: ").replace("tls: ", "HTTPS failed: ", 1)


def reason_of(error: Exception) -> str:
    """Return the reason in a few words, for users and delivery logs."""
    import aiohttp  # noqa: PLC0415  # 9 MB, which an idle process does without

    # the first match applies; several of these are also OSErrors
    by_type: tuple[tuple[type[Exception], str], ...] = (
        (aiohttp.ClientSSLError, "tls: the handshake failed"),
        (TimeoutError, "timed out"),
        (aiohttp.ServerDisconnectedError, "the connection was closed without a response"),
        (aiohttp.ClientPayloadError, "the response was cut off"),
        (ConnectionResetError, "connection reset"),  # the library's own has no number
    )
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"tls: {getattr(error.certificate_error, 'verify_message', '') or 'the certificate is not valid'}"
    for kind, reason in by_type:
        if isinstance(error, kind):
            return reason
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, ConnectionResetError):
        return _BY_NUMBER.get(error.os_error.errno or 0, "tls: the handshake failed")  # the event loop's has no number
    if isinstance(error, OSError) and "[SSL" in str(error):
        return "tls: the connection was cut off"
    if isinstance(error, OSError):
        return _BY_NUMBER.get(error.errno or 0, "the connection failed")
    # aiohttp has no other sign of it
    is_too_large = any(text in str(error) for text in ("Got more than", "Too many headers"))
    return HEADERS_TOO_LARGE if is_too_large else "the response is not valid HTTP"
