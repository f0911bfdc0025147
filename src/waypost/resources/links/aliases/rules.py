"""Rules for aliases, without I/O: paths, their digests, and what a search finds."""

import re
from collections.abc import Iterable
from uuid import UUID

from waypost.redirect import fold, path_digest
from waypost.settings.reserved import INFRASTRUCTURE

MAX_PATH = 1024
MAX_ALIASES = 1_000
"""Aliases per link, which are deleted in the link's transaction."""
EMPTY_PATH = "This must have at least 1 character."
PATH_TOO_LONG = f"This must have at most {MAX_PATH:,} characters."
CONTROL_CHARACTERS = "This must not contain control characters."
LEADING_SLASH = "This must not begin with a slash."
RESERVED_PATH = "This path is reserved. Choose another one."
PATH_TAKEN = "This path is already an alias on this domain. Choose another one."
TOO_MANY = f"A link can have at most {MAX_ALIASES:,} aliases. Delete one that you no longer need."

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_MAX_SEARCH_TEXT = 10_000  # characters, so that a link's text stays small with any number of aliases
_RESERVED = {*INFRASTRUCTURE, ".well-known"}  # served on every host, before any alias


def find_path_problem(path: str) -> str | None:
    """Return what is wrong with the path of an alias, or None."""
    if not path:
        return EMPTY_PATH
    if len(path) > MAX_PATH:
        return PATH_TOO_LONG
    if _CONTROLS.search(path) or _SURROGATES.search(path):
        return CONTROL_CHARACTERS
    if path.startswith("/"):
        return LEADING_SLASH
    if path.partition("/")[0].lower() in _RESERVED:
        return RESERVED_PATH
    return None


def digest(path: str) -> UUID:
    """Return what identifies the path on its domain, in the column's type."""
    return UUID(bytes=path_digest(path.encode()))


def folded_digest(path: str) -> UUID:
    """Return what identifies all paths on a domain that differ from this one only by case."""
    return UUID(bytes=path_digest(fold(path.encode())))


def to_search_text(paths: Iterable[str]) -> str:
    """Return what to append to a link's `search_text` for aliases with these paths, oldest first."""
    return "".join(f"\n{path}" for path in paths).casefold()[:_MAX_SEARCH_TEXT]
