"""The IP address of a visitor, from a connection and its forwarding headers."""

from collections.abc import Sequence

from waypost.kit.proxies import ForwardingHeaders, Network, visitor_address

_MAX_LENGTH = 4_096  # bytes from the end of a header, where our proxies append: as much as the spool keeps


def read_address(peer: bytes, forwarded_for: bytes, forwarded: bytes, trusted_proxies: Sequence[Network]) -> str:
    """Return the IP address, or what is known of the peer, such as a Unix socket's path. Accepts any bytes."""
    if trusted_proxies:
        headers = ForwardingHeaders(_text(forwarded_for), forwarded=_text(forwarded))
        return visitor_address(_text(peer), headers, trusted_proxies)
    if b":" in peer:
        return visitor_address(_text(peer), ForwardingHeaders(), ())
    if peer.replace(b".", b"").isdigit():  # IPv4 from the kernel is canonical already
        return peer.decode("ascii")
    return _text(peer)


def _text(raw: bytes) -> str:
    """Headers have no defined encoding. PostgreSQL stores no NUL."""
    return raw[-_MAX_LENGTH:].decode("utf-8", "replace").replace("\0", "")
