"""Forms that edit an object, which somebody else may have changed since a form was opened.

A form is sent with the version that it showed. Verbs refuse another one, and a page compares the two then.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from waypost.accounts.sessions.store import Session
from waypost.kit.preferences import DEFAULT, Preferences
from waypost.kit.versions import Expected, Version
from waypost.web.dashboard.forms import Form

VERSION = "version"
"""Name of the hidden field with the version that the form was opened with."""
ZONE = "shown_zone"
"""Name of the hidden field with the time zone that the form showed its times in: the person may have changed it."""
_WORDS = {"url": "URL", "utm": "UTM", "og": "preview", "ids": "", "id": "ID", "options": ""}
_INDEX = re.compile(r"[0-9]{1,4}", re.ASCII)


class ChangedField(NamedTuple):
    label: str
    theirs: str
    yours: str


@dataclass(frozen=True, slots=True)
class EditForm:
    """The form of an object. Its version is what the form changes: a change of anything else is no conflict."""

    find: Callable[[Any, Session, UUID], Awaitable[Any]]
    """Gets the dependencies, the session and the id in the path, and returns what verbs compare, as they do."""
    fill: Callable[[Any, Preferences], Form]
    """Returns the fields with what the object has, as a person prefers it. A checkbox is a truth value."""
    read: Callable[[Form], Form] = lambda sent: sent
    """Returns what was sent as `fill` would show it."""
    secrets: Callable[[Any], Mapping[str, object]] = lambda _: {}
    """Returns fields that are never shown, each with a value that changes with what is stored."""
    changed_by: Callable[[Any], str | None] = lambda _: None
    page: str = ""
    """Path of the page with the form, if it is not that of the form."""

    @property
    def version(self) -> Version:
        return Version(lambda stored: (self.fill(stored, DEFAULT).fields, self.secrets(stored)))

    def show(self, stored: Any, preferences: Preferences) -> Form:
        """Return the form of an object, with its version."""
        return Form({**self.fill(stored, preferences).fields, VERSION: self.version.of(stored)})

    def expected(self, sent: Form) -> Expected | None:
        text = sent.text(VERSION)
        return Expected(self.version, frozenset([text])) if text else None

    def compare(self, stored: Any, sent: Form, preferences: Preferences) -> list[ChangedField]:
        """Return the fields that differ. Unchecked boxes and untouched fields are missing in what was sent."""
        shown, read = self.fill(stored, preferences).fields, self.read(sent).fields
        found = {
            name: bool(read.get(name)) if isinstance(value, bool) else read.get(name, [])
            for name, value in shown.items()
            if name in read or isinstance(value, bool | list)
        }
        theirs, yours = _joined({name: shown[name] for name in found}), _joined(found)
        rows = [ChangedField(_label(name), theirs.get(name, ""), yours.get(name, "")) for name in yours | theirs]
        secrets = {name: value for name, value in self.secrets(stored).items() if sent.text(name)}
        rows += [ChangedField(_label(name), "Saved" if value else "", "Another one") for name, value in secrets.items()]
        return [row for row in rows if row.theirs != row.yours]


def flatten(fields: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the fields as a form sends them, without files."""
    for name, value in fields.items():
        full = f"{prefix}[{name}]" if prefix else name
        if isinstance(value, Mapping):
            yield from flatten(value, full)
        elif isinstance(value, list):
            yield from ((f"{full}[]", text) for text in value if isinstance(text, str))
        elif isinstance(value, bool):
            yield full, "Yes" if value else "No"
        elif value is None or isinstance(value, str):
            yield full, value or ""


def _joined(fields: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, text in flatten(fields):
        plain = text.replace("\r\n", "\n")
        found[name] = f"{found[name]}, {plain}" if found.get(name) else plain
    return found


def _label(name: str) -> str:
    words: list[str] = []
    for part in name.removesuffix("[]").replace("[", "_").replace("]", "").split("_"):
        number = _INDEX.fullmatch(part)
        word = str(int(part) + 1) if number else _WORDS.get(part, part)
        if word and (number or word not in words):
            words.append(word)
    text = " ".join(words)
    return text[:1].upper() + text[1:]
