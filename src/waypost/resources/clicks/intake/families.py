"""Which names ua-parser's patterns find: most know a few words, and some take whatever stands in a place for one.

What a visitor makes up is no family: figures are kept for each, and there would be as many as somebody likes.
"""

import re

_CHARACTER = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")  # in a pattern, what stands for a single one
_OPENING = re.compile(r"\((?!\?)")
_OPEN_ENDED = re.compile(r"[.+*]|\{\d+,(?:\d{2,})?\}")


def takes_any(pattern: str, family: str) -> bool:
    """`family`: as ua-parser writes it, where `$1` is what the pattern's first group finds."""
    return "$1" in family and bool(_OPEN_ENDED.search(_first_group(pattern)))


def words(pattern: str, family: str) -> list[str]:
    """The names among which the pattern chooses, and, where groups lie inside each other, scraps that name nothing."""
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
