"""Analyses which names ua-parser's patterns can find: most know a few words, some accept any word.

An invented word is not a family: statistics keep a row for each name, so anyone could create any number of rows.
"""

import re

_CHARACTER = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")  # what matches one character in a pattern
_OPENING = re.compile(r"\((?!\?)")
_OPEN_ENDED = re.compile(r"[.+*]|\{\d+,(?:\d{2,})?\}")


def takes_any(pattern: str, family: str) -> bool:
    """Whether the pattern accepts any word. In `family`, `$1` stands for the first group of the pattern."""
    return "$1" in family and bool(_OPEN_ENDED.search(_first_group(pattern)))


def words(pattern: str, family: str) -> list[str]:
    """The names that the pattern chooses from. Nested groups add fragments, which match nothing."""
    if "$1" not in family:
        return [family]
    return [family.replace("$1", word) for word in _first_group(pattern).split("|") if not _OPEN_ENDED.search(word)]


def _first_group(pattern: str) -> str:
    plain = _CHARACTER.sub("x", pattern)
    opening = _OPENING.search(plain)
    if opening is None:
        raise ValueError(pattern)
    depth = 1
    for place in range(opening.end(), len(plain)):
        depth += (plain[place] == "(") - (plain[place] == ")")
        if depth == 0:
            return plain[opening.end() : place]
    raise ValueError(pattern)
