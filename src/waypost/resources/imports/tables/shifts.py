"""Finds rows whose cells are too far right, because a separator in a URL is not in quotation marks.

Such a row may have as many cells as the header if its last ones are missing. Other rows show what a column has.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from waypost.resources.imports.tables.columns import FIELDS
from waypost.resources.imports.tables.values import read_count, trim

_ADDRESS = re.compile(r"(?:https?://)?[^\s/?#]+\.[^\s/?#.]+/\S+", re.IGNORECASE)
_HOST = re.compile(r"(?:https?://)?[\w-]+(?:\.[\w-]+)+/?", re.IGNORECASE)
_QUERY = re.compile(r"[^\s&]*(?:&[\w.%\[\]-]+=[^\s&]*)+")
"""The rest of a query."""
_KINDS: dict[str, Callable[[str], object]] = {
    "short_url": _ADDRESS.fullmatch,
    "domain": _HOST.fullmatch,
    "clicks": lambda text: text.isdigit() or read_count(text) is not None,
}
"""Fields with values that no text is taken for. Dates are refused anyway."""
_NOTHING = {"-", "null", "none", "n/a", "nan", r"\n"}
_MIN_ROWS = 2
"""That show what a column has."""
_MAX_SHIFT = 3
_MAX_SUSPECTS = 1_000
"""Rows. If more of them are unlike the others, the column has no kind."""
_MAX_TEXT = 40
"""Characters that a reason repeats."""
_ADVICE = "A cell that contains the separator must be in quotation marks."


class Shifts:
    """Call `see` for each row, and then `compare` for each row if `needs_proof`, before `find_problem`."""

    def __init__(self, fields: Sequence[str]) -> None:
        """`fields`: of each column, see `columns.Column.field`."""
        self._next = fields.index("destination") + 1 if "destination" in fields else len(fields)
        """The column after the destination."""
        columns = [(name, index) for index, name in enumerate(fields[:-1]) if index >= self._next and name in _KINDS]
        self._columns = [(name, index, _KINDS[name]) for name, index in columns]
        self._counts = Counter[str]()
        """Rows with a value as it should be."""
        self._suspects: dict[int, tuple[str, str]] = {}
        """By line: the field of a row that is unlike others and has such a value later, and its text."""

    @property
    def needs_proof(self) -> bool:
        return bool(self._suspects)

    def see(self, line: int, fields: Mapping[str, str], cells: Sequence[str]) -> None:
        for name, index, is_kind in self._columns:
            text = fields.get(name)
            if not text:
                continue
            if is_kind(text):
                self._counts[name] += 1
            elif (
                len(self._suspects) < _MAX_SUSPECTS
                and self._is_unlike(text, index)
                and _is_later(cells, index, is_kind)
            ):
                self._suspects[line] = name, text[:_MAX_TEXT]

    def _is_unlike(self, text: str, index: int) -> bool:
        return text.lower() not in _NOTHING and not (index == self._next and " " in text)  # URLs have no blanks

    def compare(self, fields: Mapping[str, str], cells: Sequence[str]) -> None:
        """Forget what a column has if a row has two such values, as clicks and an id are."""
        for name, index, is_kind in self._columns:
            if self._counts[name] and is_kind(fields.get(name, "")) and _is_later(cells, index, is_kind):
                self._counts[name] = 0

    def find_problem(self, line: int, cells: Sequence[str]) -> str | None:
        name, text = self._suspects.get(line, ("", ""))
        if self._counts[name] >= _MIN_ROWS and len(self._suspects) < _MAX_SUSPECTS:
            problem = f"The {FIELDS[name].lower()} “{text}” is unlike those of other rows, and a later cell has one"
            return f"{problem}. {_ADVICE}"
        rest = cells[self._next] if self._next < len(cells) else ""
        if "&" in rest and "?" in cells[self._next - 1] and _QUERY.fullmatch(rest):
            return f"“{rest[:_MAX_TEXT]}” looks like the rest of the destination. {_ADVICE}"
        return None


def _is_later(cells: Sequence[str], index: int, is_kind: Callable[[str], object]) -> bool:
    return any(is_kind(trim(cell)) for cell in cells[index + 1 : index + 1 + _MAX_SHIFT])
