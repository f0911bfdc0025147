"""CSV that spreadsheets open without running its cells as formulas."""

import csv
import io
import re
from collections.abc import Iterable
from typing import Any

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""With the apostrophes of a value that looks like one of ours, so that it comes back as it was."""


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Return lines that end with CRLF."""
    lines = io.StringIO(newline="")
    csv.writer(lines).writerows([_cell(value) for value in row] for row in rows)
    return lines.getvalue()


def _cell(value: Any) -> str:
    """Put an apostrophe before what a spreadsheet would run: visitors choose what their browsers send."""
    if isinstance(value, str):
        return f"'{value}" if _FORMULA.match(value) else value
    return "" if value is None else str(value).lower()


def read_cell(text: str) -> str:
    """Return the value of a text that `csv_text` has written."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
