"""Trims cells, and reads status words and totals of clicks as people and services write them."""

import re

from waypost.kit.urls import ZERO_WIDTH

_WORDS = {
    True: "active activated approved archived enabled live ok on online open public published running true yes y 1",
    False: (
        "banned blocked closed deactivated deleted disabled draft expired false hidden inactive no n off offline paused"
        " pending rejected removed spam stopped suspended trash trashed unpublished 0"
    ),
}
"""What a status says of whether the link is enabled. Archived links redirect."""
_STATUSES = {word: is_enabled for is_enabled, words in _WORDS.items() for word in words.split()}
_GROUPED = re.compile(r"\d{1,3}([., '\u2019\xa0\u202f])\d{3}(?:\1\d{3})*|\d{1,3}(?:,\d{2})+,\d{3}", re.ASCII)
_NO_PART = re.compile(r"[.,]0{1,2}$")
_MAX_DIGITS = 15
EDGES = ZERO_WIDTH + "".join(char for char in map(chr, range(0x3001)) if char.isspace())


def trim(cell: str) -> str:
    return cell.strip() if cell.isascii() else cell.strip(EDGES)


def is_enabled(status: str) -> bool | None:
    """Return None for an unknown word."""
    return _STATUSES.get(status.lower())


def read_count(text: str) -> int | None:
    """Read `1234`, `1,234`, `1.234`, `1 234` and `17.0`. Return None for what is no whole number, such as `12,5`."""
    whole = _NO_PART.sub("", text)
    if _GROUPED.fullmatch(whole):
        whole = "".join(re.findall(r"\d", whole))
    return int(whole) if whole.isascii() and whole.isdigit() and len(whole) <= _MAX_DIGITS else None
