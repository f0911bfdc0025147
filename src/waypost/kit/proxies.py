"""The visitor's IP address and scheme behind proxies: only trusted networks may send forwarding headers.

Header values may be any text; nothing is raised.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from socket import AF_INET, AF_INET6, inet_ntop, inet_pton
from typing import NamedTuple

Network = IPv4Network | IPv6Network
IpAddress = IPv4Address | IPv6Address

LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))

_MAX_HOPS = 32
"""Entries read from the right: more hops than any real chain of proxies has."""
_MAX_ENTRY = 64
"""Characters of an entry that are read, more than any address has: visitors write some, which are cached."""

_FORWARDED = re.compile(r'(?:^|[;,\s])(for|proto)=("[^"]*"|[^;,\s"]*)|"[^"]*"', re.IGNORECASE)
"""Quoted strings of other parameters are skipped, so that their content is not read as a parameter."""


class ForwardingHeaders(NamedTuple):
    """Each header's lines joined with commas; "" if it was not sent."""

    x_forwarded_for: str = ""
    x_forwarded_proto: str = ""
    forwarded: str = ""


def visitor_address(peer: str, headers: ForwardingHeaders, trusted: Sequence[Network]) -> str:
    """Return the nearest address that is not a trusted proxy's. `peer`: the connection's own address.

    A proxy sets one header and may pass on the other as the visitor sent it. Which one is unknown here, so if they lead
    to different addresses, both are ignored and the visitor is the peer.
    """
    if not trusted:
        return _normalize(peer)
    hops = headers.x_forwarded_for, read_forwarded(headers.forwarded)[0]
    addresses = {list(_chain(peer, chain, trusted))[-1] for chain in hops if _last_entries(chain)}
    return addresses.pop() if len(addresses) == 1 else _normalize(peer)


def visitor_scheme(scheme: str, peer: str, headers: ForwardingHeaders, trusted: Sequence[Network]) -> str:
    """Return `http` or `https`, as the visitor used it. The connection's own `scheme` applies if headers disagree."""
    if not is_trusted(peer, trusted):
        return scheme
    hops, protos = read_forwarded(headers.forwarded)
    pairs = (
        (headers.x_forwarded_for or hops, headers.x_forwarded_proto),
        (hops or headers.x_forwarded_for, protos),
    )
    schemes = {_visitor_proto(peer, hops, protos, trusted) for hops, protos in pairs if _last_entries(protos)}
    return schemes.pop() if schemes in ({"http"}, {"https"}) else scheme


def read_forwarded(header: str) -> tuple[str, str]:
    """Return RFC 7239's `Forwarded` as the two lists (for, proto) that `X-Forwarded-*` would contain.

    An unclosed quote of a visitor would hide what the proxy has added: such a header gives "unknown".
    """
    if not header:
        return "", ""
    if header.count('"') % 2:
        return "unknown", "unknown"
    values: dict[str, list[str]] = {"for": [], "proto": []}
    for name, value in _FORWARDED.findall(header):
        if name:
            values[name.lower()].append(value.strip('"').replace(",", "").strip() or "unknown")
    return ", ".join(values["for"]), ", ".join(values["proto"])


def storable_address(address: str, privacy: str) -> str:
    """Return what WAYPOST_IP_PRIVACY allows to store of an address: all of it, its /24 or /48, or "".

    Anything else, such as a Unix socket's path, is truncated to "".
    """
    if privacy != "truncated":
        return address if privacy == "full" else ""
    family, kept = (AF_INET6, 6) if ":" in address else (AF_INET, 3)
    try:
        packed = inet_pton(family, address)
    except (OSError, ValueError):
        return ""
    return inet_ntop(family, packed[:kept].ljust(len(packed), b"\0"))


def is_trusted(peer: str, trusted: Sequence[Network]) -> bool:
    address = _address(peer)
    return address is not None and _is_within(address, trusted)


def parse_ip(text: str) -> IpAddress | None:
    """Return an address; None for any other text."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Return whether an address, or the name `localhost`, is of this machine only."""
    return host == "localhost" or is_trusted(host, LOOPBACK)


def _visitor_proto(peer: str, hops: str, protos: str, trusted: Sequence[Network]) -> str:
    """Return the visitor's value. If each proxy added one, it is as far from the right as the visitor's address."""
    entries = _last_entries(protos)
    distance = len(list(_chain(peer, hops, trusted))) - 1
    return entries[min(max(distance, 1), len(entries)) - 1].lower()


def _chain(peer: str, forwarded_for: str, trusted: Sequence[Network]) -> Iterator[str]:
    """Yield the peer, then one hop after the other, each reported by a trusted proxy."""
    address = _address(peer)
    yield _normalize(peer)
    for entry in _last_entries(forwarded_for):
        if address is None or not _is_within(address, trusted):
            return
        address = _address(entry[:_MAX_ENTRY])
        if address is None:
            return
        yield str(address)


@lru_cache(10_000)  # visitors return, and parsing an address takes longer than the rest of a click
def _normalize(text: str) -> str:
    address = _address(text)
    return text if address is None else str(address)


def _last_entries(header: str) -> list[str]:
    """Return the entries from the right, limited to the maximum length of a chain. RFC 9110: empty ones don't count."""
    entries = (entry.strip() for entry in reversed(header.rsplit(",", _MAX_HOPS)[-_MAX_HOPS:]))
    return [entry for entry in entries if entry]


@lru_cache(4_096)
def _address(text: str) -> IpAddress | None:
    """Parse `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1` or `[2001:db8::1]:80`; v4-mapped addresses are unwrapped."""
    bare = text.strip().strip('"')
    if bare.startswith("["):
        bare = bare[1:].partition("]")[0]
    elif bare.count(":") == 1:
        bare = bare.partition(":")[0]
    if "%" in bare:  # a zone has a meaning on one machine only
        return None
    with contextlib.suppress(OSError, ValueError):  # the C library parses it in a third of the time
        return IPv4Address(inet_pton(AF_INET, bare))
    address = parse_ip(bare)
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def _is_within(address: IpAddress, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)
