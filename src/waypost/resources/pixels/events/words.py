"""A platform's words about a request, fit to be kept and shown: short, printable, and without what is secret."""

import re
from collections.abc import Iterable

_LENGTH = 300
_MASK = "…"
_PIECE = re.compile(r"[^\s\"'()<>,;:=]{6,}")


def shown(text: str, secrets: Iterable[str]) -> str:
    """Platforms quote what they refuse: also a piece of a secret is masked."""
    hidden = sorted(filter(None, secrets), key=len, reverse=True)
    for secret in hidden:
        text = text.replace(secret, _MASK)
    text = _PIECE.sub(lambda found: _MASK if _is_piece(found[0].rstrip("."), hidden) else found[0], text)
    plain = "".join(each if each.isprintable() else " " for each in text)
    return " ".join(plain.split())[:_LENGTH]


def _is_piece(word: str, secrets: Iterable[str]) -> bool:
    return any(word.rstrip(".…*") in secret for secret in secrets if len(word.rstrip(".…*")) >= 6)
