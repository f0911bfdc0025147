"""Forms that edit an object, which somebody else may have changed since a form was opened.

A form is sent with the version that it showed, and a digest of each field. Verbs refuse another version, and a page
shows then who changed which field: what only the other person changed stays.
"""

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any, Literal, NamedTuple
from uuid import UUID

from waypost.accounts.sessions.store import Session
from waypost.kit.preferences import DEFAULT, Preferences
from waypost.kit.versions import Expected, Version
from waypost.web.dashboard.forms import Form

VERSION = "version"
"""Name of the hidden field with what the form was opened with: the version, and after a hyphen the digests."""
ZONE = "shown_zone"
"""Name of the hidden field with the time zone that the form showed its times in: the person may have changed it."""
_WORDS = {"url": "URL", "utm": "UTM", "og": "preview", "ids": "", "id": "ID", "options": ""}
_INDEX = re.compile(r"[0-9]{1,4}", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?", re.ASCII)
_NAME, _VALUE = 3, 5
"""Bytes of the digests of a field's name and value."""
_DIGESTS = re.compile(rf"([0-9a-f]{{{2 * _NAME}}})([0-9a-f]{{{2 * _VALUE}}})")

ChangedBy = Literal["them", "you", "both"]
Names = Mapping[str, Mapping[str, str]]
"""What people call the values of fields, by the field's name. A value without a name is shown as it is."""


class ChangedField(NamedTuple):
    label: str
    theirs: str
    yours: str
    by: ChangedBy


class _Field(NamedTuple):
    """A field in both versions. An entry of a mapping is one, and so are all rows of a list."""

    name: str
    theirs: Any
    yours: Any
    by: ChangedBy


_NO_NAMES: Names = {}


async def _no_names(*_: Any) -> Names:
    return _NO_NAMES


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
    labels: Mapping[str, str] = field(default_factory=dict)
    """By the names of fields, where they are not the names in words."""
    names: Names = field(default_factory=dict)
    """Those of values that all accounts have, such as the choices of a picker."""
    find_names: Callable[[Any, UUID, Sequence[Form]], Awaitable[Names]] = _no_names
    """Gets the dependencies, the id of the account and both versions, and returns the names of values such as ids."""
    words: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda fields: fields
    """Returns the fields as people read them."""

    @property
    def version(self) -> Version:
        return Version(lambda stored: (self.fill(stored, DEFAULT).fields, self.secrets(stored)))

    def show(self, stored: Any, preferences: Preferences) -> Form:
        """Return the form of an object, with its version."""
        fields = self.fill(stored, preferences).fields
        known = {**_split(fields), **_texts(self.secrets(stored))}
        digests = "".join(_digest(name, _NAME) + _value_digest(name, value) for name, value in known.items())
        return Form({**fields, VERSION: f"{self.version.of(stored)}-{digests}"})

    def expected(self, sent: Form) -> Expected | None:
        text = sent.text(VERSION).partition("-")[0]
        return Expected(self.version, frozenset([text])) if text else None

    async def all_names(self, deps: Any, session: Session, stored: Any, sent: Form) -> Names:
        versions = self.fill(stored, DEFAULT), sent
        return {**self.names, **await self.find_names(deps, session.account.id, versions)}

    def compare(
        self, stored: Any, sent: Form, preferences: Preferences, names: Names = _NO_NAMES
    ) -> list[ChangedField]:
        """Return what differs, as the person reads it."""
        rows = []
        for name, *values, by in self._compare(stored, sent, preferences):
            theirs, yours = (_joined(self.words({name: value}), names) for value in values)
            for each in yours | theirs:
                before, after = (_shown(side.get(each, ""), preferences) for side in (theirs, yours))
                rows.append(ChangedField(self.labels.get(each.removesuffix("[]")) or _label(each), before, after, by))
        for name, value in _texts(self.secrets(stored)).items():
            if sent.text(name):
                is_theirs = _is_changed(sent, name, value)
                rows.append(ChangedField(_label(name), "Saved" if value else "", "Another one", _by(is_theirs)))
        return [row for row in rows if row.theirs != row.yours]

    def merge(self, stored: Any, sent: Form, preferences: Preferences) -> list[tuple[str, str]]:
        """Return what to send to save what was sent, with what only the stored version changed and its version."""
        taken = {each.name: each.theirs for each in self._compare(stored, sent, preferences) if each.by == "them"}
        fields = {**sent.fields, VERSION: self.show(stored, preferences).text(VERSION)}
        kept = [pair for pair in flatten(fields) if pair[0].removesuffix("[]").partition(".")[0] not in taken]
        boxes = [(name, "true") for name, value in taken.items() if value is True]
        others = {name: value for name, value in taken.items() if not isinstance(value, bool)}
        return [*kept, *boxes, *flatten(others)]

    def _compare(self, stored: Any, sent: Form, preferences: Preferences) -> Iterator[_Field]:
        """Yield the fields of both. Unchecked boxes and untouched fields are missing in what was sent."""
        shown, read = _split(self.fill(stored, preferences).fields), _split(self.read(sent).fields)
        owners = [{name.partition("[")[0] for name in fields} for fields in (shown, read)]
        for name in shown | read:
            theirs, owner = shown.get(name), name.partition("[")[0]
            is_entry = owner != name and all(owner in each for each in owners)
            if not (is_entry or isinstance(theirs, bool | list) or (name in shown and name in read)):
                continue
            yours = bool(read.get(name)) if isinstance(theirs, bool) else read.get(name)
            is_theirs, is_yours = (_is_changed(sent, name, value) for value in (theirs, yours))
            if is_theirs or is_yours:
                yield _Field(name, theirs, yours, _by(is_theirs, is_yours))


def flatten(fields: Mapping[str, Any], prefix: str = "", *, in_rows: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the fields as a form sends them, without files."""
    for name, value in fields.items():
        full = f"{prefix}.{name}" if in_rows else f"{prefix}[{name}]" if prefix else name
        if isinstance(value, Mapping):
            yield from flatten(value, full, in_rows=in_rows or _has_rows(value))
        elif isinstance(value, list):
            yield from ((f"{full}[]", text) for text in value if isinstance(text, str))
        elif isinstance(value, bool):
            yield full, "Yes" if value else "No"
        elif value is None or isinstance(value, str):
            yield full, value or ""


def _has_rows(value: Mapping[str, Any]) -> bool:
    return all(map(_INDEX.fullmatch, value))


def _split(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of mappings as fields of their own. Rows stay one field."""
    found: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, Mapping) and not _has_rows(value):
            found |= {f"{name}[{key}]": each for key, each in value.items()}
        else:
            found[name] = value
    return found


def _texts(secrets: Mapping[str, object]) -> dict[str, str]:
    return {name: "" if value is None else str(value) for name, value in secrets.items()}


def _digest(text: str, size: int) -> str:
    return blake2b(text.encode(), digest_size=size).hexdigest()


def _value_digest(name: str, value: Any) -> str:
    texts = sorted((each, text) for each, text in _joined({name: value}).items() if text)
    return _digest(json.dumps(texts), _VALUE)


def _is_changed(sent: Form, name: str, value: Any) -> bool:
    """Return whether the form was opened with another value. A form without digests may have been."""
    _, has_digests, digests = sent.text(VERSION).partition("-")
    before = dict(_DIGESTS.findall(digests)).get(_digest(name, _NAME), _value_digest(name, None))
    return not has_digests or before != _value_digest(name, value)


def _by(is_theirs: bool, is_yours: bool = True) -> ChangedBy:  # noqa: FBT001, FBT002  # values
    return "both" if is_theirs and is_yours else "them" if is_theirs else "you"


def _joined(fields: Mapping[str, Any], names: Names = _NO_NAMES) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, text in flatten(fields):
        plain = names.get(name.removesuffix("[]"), {}).get(text) or text.replace("\r\n", "\n")
        found[name] = f"{found[name]}, {plain}" if found.get(name) else plain
    return found


def _shown(text: str, preferences: Preferences) -> str:
    """Return a text, or the time of a field as the person reads it."""
    try:
        at = datetime.fromisoformat(text) if _TIME.fullmatch(text) else None
    except ValueError:
        at = None
    if at is None:
        return text
    local = at.replace(tzinfo=preferences.zone)
    return preferences.second(local) if at.second else preferences.time(local)


def _label(name: str) -> str:
    """Return the name in words: "UTM params source", "Rule 1, condition 2, values"."""
    plain = re.sub(r"s?\.([0-9]{1,4})(?:\.|$)", lambda found: f" {int(found[1]) + 1}, ", name).removesuffix(", ")
    words: list[str] = []
    for part in re.split(r"[_\[\] ]+", plain.removesuffix("[]").replace(".", " ")):
        word = _WORDS.get(part, part)
        if word and (word not in words or word[0].isdigit()):
            words.append(word)
    text = " ".join(words)
    return text[:1].upper() + text[1:]
