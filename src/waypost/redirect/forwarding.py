"""Forwards what a visitor's address has besides the link's: parameters of the query, and more path. Pure.

All bytes go on as they were sent. The host of the destination never changes: what is added follows its first slash.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

MAX_LOCATION = 8_192
"""Bytes. A longer location is not sent, nor made of a longer query and path: the visitor gets the plain destination."""
_MAX_SEGMENTS = 32
_QR_SCAN_NAME, _QR_SCAN_VALUE = b"r", b"qr"
_SENDABLE = re.compile(rb"[!-~]*")
_DOTS = {b".", b".."}
_PARTS = re.compile(rb"(https?://[^/?#]*)([^?#]*)(?:\?([^#]*))?(#.*)?", re.IGNORECASE | re.DOTALL)


class Forwarding(NamedTuple):
    """What a link forwards."""

    names: tuple[bytes, ...] = ()
    """Names of parameters, of which one with an asterisk at its end matches all that begin so: `*` all."""
    has_path: bool = False


def forward(location: bytes, forwarding: Forwarding, query: bytes, path: bytes) -> bytes:
    """Return the location with what is forwarded of the query, and with `path` at the end of its own.

    `path`: as sent, what follows the link's own path and a slash. `location` as it is if the result would be too long,
    or if what was sent already is: nothing is read of that.
    """
    if len(query) + len(path) > MAX_LOCATION:
        return location
    sent = [*_parameters(query, forwarding.names)] if forwarding.names else []
    match = _PARTS.fullmatch(location)
    if not (sent or path) or match is None:
        return location
    authority, own_path, own_query, fragment = match.groups(b"")
    if path:
        own_path = own_path.removesuffix(b"/") + b"/" + path
    parameters = _merged(own_query, sent)
    result = authority + (own_path or b"/") + (b"?" + parameters if parameters else b"") + fragment
    return result if len(result) <= MAX_LOCATION and _SENDABLE.fullmatch(result) else location


def is_forwardable(path: bytes) -> bool:
    """Return whether the path can be appended to another: it must not lead upwards, however it is encoded."""
    if b"\\" in path:
        return False
    return all(segment not in _DOTS for segment in unquote_to_bytes(path).replace(b"\\", b"/").split(b"/"))


def beginnings(path: bytes) -> list[bytes]:
    """Return what the path has before each of its first slashes, the longest first. It has one."""
    parts = path.split(b"/", _MAX_SEGMENTS)
    return [b"/".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]


def _parameters(query: bytes, names: tuple[bytes, ...]) -> Iterator[tuple[bytes, bytes]]:
    """Yield (name, parameter as sent) of those that go on."""
    exact = {name for name in names if not name.endswith(b"*")}
    prefixes = tuple(name[:-1] for name in names if name.endswith(b"*"))
    for parameter in query.partition(b"#")[0].split(b"&"):
        sent, _, value = parameter.partition(b"=")
        name = unquote_to_bytes(sent)
        if not parameter or not (name in exact or name.startswith(prefixes)):
            continue
        if name != _QR_SCAN_NAME or unquote_to_bytes(value) != _QR_SCAN_VALUE:
            yield name, parameter


def _merged(own_query: bytes, sent: list[tuple[bytes, bytes]]) -> bytes:
    """Return the query: parameters that were sent replace all of the same name, in the place of the first."""
    by_name: dict[bytes, list[bytes]] = {}
    for name, parameter in sent:
        by_name.setdefault(name, []).append(parameter)
    merged: list[bytes] = []
    replaced: set[bytes] = set()
    for parameter in own_query.split(b"&") if own_query else ():
        name = unquote_to_bytes(parameter.partition(b"=")[0])
        if name not in by_name:
            merged.append(parameter)
        elif name not in replaced:
            replaced.add(name)
            merged += by_name[name]
    return b"&".join([*merged, *(parameter for name, parameter in sent if name not in replaced)])
