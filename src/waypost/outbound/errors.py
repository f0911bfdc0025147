"""Why a request to the outside came to nothing. What the user is told of it is the caller's business.

OutboundError
├── NotPublic     the address is not one of the public internet
├── Unreachable   no usable answer: DNS, TCP, TLS, time-out, broken or 5xx answer, redirects without end
└── Unsafe        a blocklist or a provider warns of it
"""

from typing import ClassVar


class OutboundError(Exception):
    kind: ClassVar[str]
    """Stable: logs, stored delivery errors and tests branch on it."""


class NotPublic(OutboundError):
    kind = "not_public"


class Unreachable(OutboundError):
    kind = "unreachable"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        """A few plain words, such as `timed out` or `tls: certificate has expired`."""


class Unsafe(OutboundError):
    kind = "unsafe"
