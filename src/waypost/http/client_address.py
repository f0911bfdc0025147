"""The address and the transport of a request's client, from the forwarding headers of trusted proxies."""

from collections.abc import Sequence
from enum import Enum, auto
from ipaddress import IPv6Address

from starlette.requests import Request

from waypost.kit.proxies import (
    ForwardingHeaders,
    Network,
    is_loopback,
    is_trusted,
    parse_ip,
    read_forwarded,
    visitor_address,
    visitor_scheme,
)

PROXY_HEADERS = ("via", "forwarded", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-real-ip")


def peer_address(request: Request, trusted: Sequence[Network]) -> str:
    """Return the visitor's IP address, from forwarding headers of trusted proxies."""
    return visitor_address(_peer(request), _forwarding_headers(request), trusted)


def is_https(request: Request, trusted: Sequence[Network]) -> bool:
    """Return whether the visitor uses HTTPS, from forwarding headers of trusted proxies."""
    scheme, headers = request.scope["scheme"], _forwarding_headers(request)
    return visitor_scheme(scheme, _peer(request), headers, trusted) == "https"


def is_proxied(request: Request) -> bool:
    """Return whether a header shows that the request came through a proxy."""
    return any(name in request.headers for name in PROXY_HEADERS)


def is_from_this_machine(request: Request) -> bool:
    """Return whether the connection is from this machine, and nothing shows that it is a proxy's.

    A proxy on this machine that sends neither these headers nor HTTP/1.0 is not recognized: HAProxy without `option
    forwardfor`, and nginx from 1.29.7 on without `proxy_set_header`. Then any client of the proxy seems to be here.
    """
    return is_loopback(_peer(request)) and not is_proxied(request) and request.scope["http_version"] != "1.0"


class Transport(Enum):
    """The transport of a request that is not known to have used HTTPS."""

    DIRECT = auto()
    """No sign of a proxy."""
    PLAIN_HTTP = auto()
    """A trusted proxy reports plain HTTP."""
    UNKNOWN = auto()
    """A proxy does not send X-Forwarded-Proto."""
    UNTRUSTED = auto()
    """The scheme comes from a header that cannot be trusted."""


def classify_transport(request: Request, trusted: Sequence[Network]) -> Transport:
    headers, is_known = _forwarding_headers(request), is_trusted(_peer(request), trusted)
    proto = f"{headers.x_forwarded_proto},{read_forwarded(headers.forwarded)[1]}".lower()
    if "http" in proto:
        return Transport.PLAIN_HTTP if is_known and "https" not in proto else Transport.UNTRUSTED
    return Transport.UNKNOWN if is_known or is_proxied(request) else Transport.DIRECT


def _peer(request: Request) -> str:
    return request.client.host if request.client else ""


def rate_limit_key(address: str) -> bytes:
    """Return an IPv4 address, or the /64 of an IPv6 address: a single caller can have all of it."""
    parsed = parse_ip(address)
    if parsed is None:  # a peer without an address, such as a Unix socket
        return address.encode()
    return parsed.packed[:8] if isinstance(parsed, IPv6Address) else parsed.packed


def _forwarding_headers(request: Request) -> ForwardingHeaders:
    names = ("x-forwarded-for", "x-forwarded-proto", "forwarded")
    return ForwardingHeaders(*(", ".join(request.headers.getlist(name)) for name in names))
