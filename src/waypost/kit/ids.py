"""Identifiers: UUIDv7, which sort by creation time and are appended at the end of an index."""

import re
from datetime import datetime
from uuid import UUID

from uuid_utils.compat import uuid7

from waypost.kit.clock import microseconds
from waypost.kit.errors import NotFound

_CANONICAL = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


def new_id() -> UUID:
    return uuid7()


def numbered_id(id_: UUID, number: int) -> UUID:
    """Derive the id of a part. Another `new_id` equals none of them, in all probability."""
    return UUID(int=(id_.int >> 16 << 16) | number)


def first_id(at: datetime) -> UUID:
    """Return the smallest id of that millisecond."""
    return UUID(int=max(0, microseconds(at)) // 1_000 << 80)


def parse_id(text: str) -> UUID | None:
    """Parse a hyphenated UUID. `UUID()` alone would also accept braces, URNs and bare hex."""
    return UUID(text) if _CANONICAL.fullmatch(text) else None


def require_id(text: str) -> UUID:
    """Parse the id of a resource. Raises NotFound for text that is not a UUID."""
    id_ = parse_id(text)
    if id_ is None:
        raise NotFound
    return id_
