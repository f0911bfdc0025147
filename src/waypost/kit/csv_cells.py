"""CSV that spreadsheets open without running its cells as formulas."""

import csv
import io
from collections.abc import Iterable
from typing import Any

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Return lines that end with CRLF."""
    lines = io.StringIO(newline="")
    csv.writer(lines).writerows([_cell(value) for value in row] for row in rows)
    return lines.getvalue()


def _cell(value: Any) -> str:
    """Put an apostrophe before what a spreadsheet would run: visitors choose what their browsers send."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA_STARTS) else value
    return "" if value is None else str(value).lower()
