"""Identifiers: UUIDv7, which sort by creation time and are appended at the end of an index."""

import re
from uuid import UUID

from uuid_utils.compat import uuid7

_CANONICAL = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


def new_id() -> UUID:
    return uuid7()


def parse_id(text: str) -> UUID | None:
    """The UUID in its hyphenated form. `UUID()` alone would also take braces, URNs and bare hex."""
    return UUID(text) if _CANONICAL.fullmatch(text) else None
