"""The language that a visitor prefers, from `Accept-Language`."""

import re
from functools import lru_cache

_MAX_LENGTH = 1_024  # bytes of the header to read: browsers send less than 200
_CACHE_SIZE = 1_024
_RANGE = re.compile(rb"\s*([a-z]{1,8}|\*)(?:-[a-z0-9]{1,8})*\s*(?:;\s*q=(0(?:\.[0-9]*)?|1(?:\.0*)?)\s*)?")


def preferred_language(accept_language: bytes) -> str:
    """Return the primary subtag of the most preferred language, in lower case. Accepts any bytes.

    Of equal ones the first counts. Empty if there is none, and if any language ("*") is preferred most.
    """
    header = accept_language[: _MAX_LENGTH + 1]
    if len(header) > _MAX_LENGTH:
        header = header.rpartition(b",")[0]  # the last one is incomplete
    return _preferred_language(header)


@lru_cache(_CACHE_SIZE)
def _preferred_language(header: bytes) -> str:
    preferred, highest = b"", 0.0
    for item in header.lower().split(b","):
        match = _RANGE.fullmatch(item)
        if match and (quality := float(match[2] or 1)) > highest:
            preferred, highest = match[1], quality
    return "" if preferred == b"*" else preferred.decode()
