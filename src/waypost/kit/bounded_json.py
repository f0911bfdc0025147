"""JSON of other services and of uploaded files: what it becomes in memory is bounded before it is parsed.

The objects of `[{},{},…]` take thirty times the bytes of their text, so a limit of bytes alone is none.
"""

import json
import re
from typing import Any

MAX_DEPTH = 64
_TEXT_OR_BRACKET = re.compile(rb'"[^"]*"?|[\[{\]}]')


def count_values(content: bytes) -> int:
    """Return how many keys and values there are at most: what looks like one within a text counts, too."""
    return 1 + content.count(b",") + content.count(b":") + content.count(b"[") + content.count(b"{")


def loads(content: bytes, *, max_values: int) -> Any:
    """Parse UTF-8. Raises ValueError for what is not JSON, has more values, or is nested too deeply."""
    if count_values(content) > max_values:
        raise ValueError(f"It has more than {max_values:,} values")
    if content.count(b"[") + content.count(b"{") > MAX_DEPTH and _depth(content) > MAX_DEPTH:
        raise ValueError(f"It is nested in more than {MAX_DEPTH} levels")
    try:
        return _DECODER.decode(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise ValueError("It is not JSON") from None


def _depth(content: bytes) -> int:
    depth = deepest = 0
    unescaped = content.replace(b"\\\\", b"").replace(b'\\"', b"")  # every quote left begins or ends a text
    for token in _TEXT_OR_BRACKET.finditer(unescaped):
        first = unescaped[token.start()]
        if first in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif first in b"]}":
            depth -= 1
    return deepest


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)
