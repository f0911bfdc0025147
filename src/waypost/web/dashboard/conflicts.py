"""Compares two versions of what a form shows: the one that is stored, and the one that a person has sent."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

VERSION = "version"
"""Name of the hidden field with the version that the form was opened with."""
ZONE = "shown_zone"
"""Name of the hidden field with the time zone that the form showed its times in: the person may have changed it."""
_WORDS = {"url": "URL", "utm": "UTM", "og": "preview", "ids": "", "id": "ID", "new": ""}


class ChangedField(NamedTuple):
    label: str
    theirs: str
    yours: str


def compare(theirs: Mapping[str, Any], yours: Mapping[str, Any]) -> list[ChangedField]:
    """Return the fields that differ. Unchecked boxes and untouched fields are missing in what was sent."""
    saved, sent = _joined(theirs), _joined(yours)
    lists = [name for name, value in theirs.items() if isinstance(value, list)]
    names = dict.fromkeys([*sent, *(f"{name}[]" for name in lists)])
    return [
        ChangedField(_label(name), saved.get(name, ""), sent.get(name, ""))
        for name in names
        if name in saved or sent.get(name)
        if saved.get(name, "") != sent.get(name, "")
    ]


def flatten(fields: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the fields as a form sends them, without files."""
    for name, value in fields.items():
        full = f"{prefix}[{name}]" if prefix else name
        if isinstance(value, Mapping):
            yield from flatten(value, full)
        elif isinstance(value, list):
            yield from ((f"{full}[]", text) for text in value if isinstance(text, str))
        elif value is None or isinstance(value, str):
            yield full, value or ""


def _joined(fields: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, text in flatten(fields):
        if name not in {VERSION, ZONE}:
            found[name] = f"{found[name]}, {text}" if found.get(name) else text
    return found


def _label(name: str) -> str:
    words = (_WORDS.get(word, word) for word in name.removesuffix("[]").replace("[", "_").replace("]", "").split("_"))
    text = " ".join(dict.fromkeys(word for word in words if word and word != "options"))
    return text[:1].upper() + text[1:]
