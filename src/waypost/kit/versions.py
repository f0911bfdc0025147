"""Versions of stored objects: what ETags name, and what conditional requests and forms expect."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from pydantic_core import to_json

from waypost.kit.errors import Invalid, PreconditionFailed

MALFORMED = 'Send * or ETags in double quotes, separated by commas, such as "0a1b2c".'
EXISTS = "There is one already. Send the request without If-None-Match to change it."
ONLY_ABSENT = (
    "If-None-Match of a change can only be *, without If-Match, where the request creates what does not exist."
)
WEAK = "If-Match compares strong ETags only: one that begins with W/ is never the current one."

_ETAG = re.compile(r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"')
_PLACE = "\0"
"""In place of an ETag; no header has it."""


@dataclass(frozen=True, slots=True)
class Version:
    """What the version of an object depends on: all that callers can change, but no counter and no time that passes."""

    key: Callable[[Any], object]
    """Returns values of an object that JSON has, and times and ids. Databases change the order of a mapping."""

    def of(self, stored: Any) -> str:
        return blake2b(to_json(self.key(stored), fallback=str), digest_size=10).hexdigest()


@dataclass(frozen=True, slots=True)
class Expected:
    """The versions that a change is for."""

    version: Version
    texts: frozenset[str] | None
    """None: any."""
    reason: str | None = None
    """Why no version can be one of them."""
    is_absent: bool = False
    """Whether it is for no version: there must be no object."""

    def check(self, stored: Any) -> None:
        """Raise PreconditionFailed for another version, or if there is no object, None, but for `is_absent`.

        Call it when the object is locked, before it changes.
        """
        if self.is_absent:
            if stored is not None:
                raise PreconditionFailed(EXISTS)
        elif stored is None or (self.texts is not None and self.version.of(stored) not in self.texts):
            raise PreconditionFailed(self.reason)


def read_if_match(texts: Sequence[str], version: Version) -> Expected:
    """Read the header `If-Match`. Raises Invalid. An ETag is a version, or continues it with a hyphen."""
    tags = _read(texts)
    if tags is None:
        raise Invalid({"If-Match": [MALFORMED]})
    if ("", "*") in tags:
        return Expected(version, None)
    strong = frozenset(text.partition("-")[0] for weak, text in tags if not weak)
    return Expected(version, strong, None if strong else WEAK)


def read_if_absent(texts: Sequence[str], version: Version) -> Expected:
    """Read the header `If-None-Match` of a request that creates or changes. Raises PreconditionFailed but for `*`."""
    if _read(texts) != [("", "*")]:
        raise PreconditionFailed(ONLY_ABSENT)
    return Expected(version, None, is_absent=True)


def is_current(texts: Sequence[str], etag: str) -> bool:
    """Return whether the header `If-None-Match` has the ETag, which it compares weakly (RFC 9110)."""
    return any(text in {"*", etag.strip('"')} for _, text in _read(texts) or ())


def _read(texts: Sequence[str]) -> list[tuple[str, str]] | None:
    """Return `W/` or nothing and the text of each ETag, `*` for any, and None if they are malformed."""
    joined = ",".join(texts)
    if joined.strip() == "*":
        return [("", "*")]
    tags: list[tuple[str, str]] = _ETAG.findall(joined)
    places = {part.strip(" \t") for part in _ETAG.sub(_PLACE, joined).split(",")}
    return tags if tags and places <= {_PLACE, ""} else None
