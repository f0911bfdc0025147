"""What is wrong with a document, and where: errors refuse it, hints do not."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from waypost.kit.errors import Problems
from waypost.kit.fields import REQUIRED

NO_OBJECT = "This must be an object."
NO_LIST = "This must be a list."
NO_TEXT = "This must be a string."
NO_BOOLEAN = "This must be true or false."
EMPTY_LIST = "This must have at least 1 entry."
EMPTY = "This must not be empty."
UNKNOWN_KEY = "This key is not known. It is served as it is: check its spelling."
MAX_FINDINGS = 50
"""Of each kind. More do not help to correct a document."""
_MAX_KEY = 100


class Findings:
    """Collects errors and hints by place: keys and positions from 0, separated by dots."""

    def __init__(self) -> None:
        self.errors, self.hints = Problems(), Problems()

    def add(self, place: str, message: str) -> None:
        _add(self.errors, place, message)

    def hint(self, place: str, message: str) -> None:
        _add(self.hints, place, message)

    def object_at(self, value: Any, place: str, known: Collection[str]) -> Mapping[str, Any] | None:
        """Return the object, None for any other value. `known`: its keys."""
        if not isinstance(value, dict):
            self.add(place, NO_OBJECT)
            return None
        for key in value:
            if key not in known:
                self.hint(_join(place, key), UNKNOWN_KEY)
        return value

    def entries(self, owner: Mapping[str, Any], key: str, place: str) -> Iterator[tuple[str, Any]]:
        """Yield (place, entry) of a list that must have some. `place`: of its owner."""
        at = _join(place, key)
        value = owner.get(key)
        if key not in owner:
            self.add(at, REQUIRED)
        elif not isinstance(value, list):
            self.add(at, NO_LIST)
        elif not value:
            self.add(at, EMPTY_LIST)
        else:
            yield from ((f"{at}.{index}", entry) for index, entry in enumerate(value))

    def text(self, value: Any, place: str, is_valid: Callable[[str], object] = bool, message: str = EMPTY) -> None:
        """`message`: for text that is not valid."""
        if not isinstance(value, str):
            self.add(place, NO_TEXT)
        elif not is_valid(value):
            self.add(place, message)

    def types(self, owner: Mapping[str, Any], keys: Collection[str], place: str, kind: type, message: str) -> None:
        """Check the types of optional values."""
        for key in keys:
            if key in owner and not isinstance(owner[key], kind):
                self.add(_join(place, key), message)


def _add(problems: Problems, place: str, message: str) -> None:
    if len(problems.errors) < MAX_FINDINGS:
        problems.add(place, message)


def _join(place: str, key: str) -> str:
    shown = key if len(key) <= _MAX_KEY else f"{key[:_MAX_KEY]}…"
    return f"{place}.{shown}" if place else shown
