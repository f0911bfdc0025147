"""Errors of outbound requests, and the short reason for each failed connection. Callers choose what users read.

OutboundError
├── NotPublic     the address is not on the public internet
├── Unreachable   no usable response: DNS, TCP, TLS, timeout, malformed or 5xx response, too many redirects
│   ├── BadRedirect   to what is no URL of a website: no outage, so it is refused everywhere
│   ├── TooManyRedirects
│   ├── NoSuchHost
│   └── BadCertificate
└── Unsafe        a blocklist or Safe Browsing lists the URL
"""

import errno
import ssl
from typing import ClassVar

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

    is_of_network: ClassVar[bool] = True
    """Whether no server answered, of the destination or of its name."""

    @property
    def in_words(self) -> str:
        return in_words(self.reason)


class BadRedirect(Unreachable):
    is_of_network = False


class TooManyRedirects(Unreachable):
    is_of_network = False


class NoSuchHost(Unreachable):
    """A name server answered that the host has no address."""

    is_of_network = False


class BadCertificate(Unreachable):
    """The certificate is not valid for the host."""

    is_of_network = False


class Unsafe(OutboundError):
    kind = "unsafe"


def in_words(reason: str) -> str:
    """Return the reason of Unreachable for people, without the prefixes that logs have."""
    if reason == "dns: timed out":
        return "the DNS lookup timed out"
    return reason.removeprefix("dns: ").replace("tls: ", "HTTPS failed: ", 1)


def reason_of(error: OSError) -> str:
    """Return the reason in a few words, for users and delivery logs."""
    if isinstance(error, TimeoutError):
        return "timed out"
    if isinstance(error, ssl.SSLError):
        return "tls: the connection was cut off"
    if isinstance(error, ConnectionResetError):  # the event loop's own has no number
        return "connection reset"
    return _BY_NUMBER.get(error.errno or 0, "the connection failed")


def handshake_failed(error: OSError) -> Unreachable:
    if isinstance(error, ssl.SSLCertVerificationError):
        return BadCertificate(f"tls: {error.verify_message or 'the certificate is not valid'}")
    return Unreachable(_BY_NUMBER.get(error.errno or 0, "tls: the handshake failed"))
