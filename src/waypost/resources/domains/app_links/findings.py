"""What is wrong with a document, and where: errors refuse it, hints do not."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

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
_WRONG_TYPE = {str: NO_TEXT, bool: NO_BOOLEAN}

Shape: TypeAlias = "Mapping[str, Shape] | list[Shape] | type | Callable[[Findings, Any, str], None]"
"""What a value must be: an object with these keys, a list of such entries, a type, or what a function accepts."""


class Findings:
    """Collects errors and hints by place: keys and positions from 0, separated by dots."""

    def __init__(self) -> None:
        self.errors, self.hints = Problems(), Problems()

    def add(self, place: str, message: str) -> None:
        _add(self.errors, place, message)

    def hint(self, place: str, message: str) -> None:
        _add(self.hints, place, message)

    def check(self, value: Any, shape: Shape, place: str = "") -> None:
        if isinstance(shape, type):
            if not isinstance(value, shape):
                self.add(place, _WRONG_TYPE[shape])
        elif isinstance(shape, list):
            if not isinstance(value, list) or not value:
                self.add(place, NO_LIST if value != [] else EMPTY_LIST)
            else:
                for index, entry in enumerate(value):
                    self.check(entry, shape[0], f"{place}.{index}")
        elif callable(shape):
            shape(self, value, place)
        elif not isinstance(value, dict):
            self.add(place, NO_OBJECT)
        else:
            for key, entry in value.items():
                shown = key if len(key) <= _MAX_KEY else f"{key[:_MAX_KEY]}…"
                at = f"{place}.{shown}".removeprefix(".")
                if key in shape:
                    self.check(entry, shape[key], at)
                else:
                    self.hint(at, UNKNOWN_KEY)

    def require(self, value: Any, place: str, *keys: str) -> None:
        """Report keys that an object lacks."""
        for key in keys:
            if isinstance(value, dict) and key not in value:
                self.add(f"{place}.{key}", REQUIRED)


def text(pattern: str, message: str) -> Shape:
    """Return the shape of text that matches entirely."""
    compiled = re.compile(pattern)

    def check(findings: Findings, value: Any, place: str) -> None:
        if not isinstance(value, str) or not compiled.fullmatch(value):
            findings.add(place, message if isinstance(value, str) else NO_TEXT)

    return check


def _add(problems: Problems, place: str, message: str) -> None:
    if len(problems.errors) < MAX_FINDINGS:
        problems.add(place, message)
