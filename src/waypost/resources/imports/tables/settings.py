"""The columns and the encoding of a file, as the plan of an import keeps them, and what people choose instead."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from waypost.kit.errors import Invalid
from waypost.resources.imports.model import Import
from waypost.resources.imports.rules import printable
from waypost.resources.imports.tables.columns import FIELDS, Description

MAX_SHOWN = 500
"""Columns. Those that are imported are among them."""
SHOWN_FIRST = 20
"""Columns, before others are asked for."""
_MAX_NAME, _MAX_SAMPLE = 100, 60
"""Characters."""


@dataclass(frozen=True, slots=True)
class TableSettings:
    columns: Sequence[tuple[int, str, Sequence[str]]]
    """Number from 0 on, name, and values of the first rows of those that are shown."""
    fields: Sequence[str]
    """Of all columns, see `columns.Column.field`."""
    codec: str
    note: str | None
    """Why the file is read in this encoding, if that is a guess."""
    readings: Sequence[tuple[str, str, str]]
    """Of a guess: see `encodings.readings`."""

    def enter(self, form: Mapping[str, Any]) -> "TableSettings":
        """Return it with what a form says of it. What that leaves out stays. `check` says whether it is right."""
        fields = [*self.fields]
        for number, *_ in self.columns:
            if (name := f"column-{number}") in form:
                fields[number] = str(form[name] or "")
        codec = form.get("encoding")
        is_known = any(codec == known for known, *_ in self.readings)
        return replace(self, fields=fields, codec=str(codec) if is_known else self.codec)

    def check(self) -> None:
        """Raises Invalid."""
        counts = Counter(field for field in self.fields if field)
        if not counts.keys() <= FIELDS.keys():
            raise Invalid({"columns": ["Choose from the lists."]})
        if repeated := [FIELDS[field] for field, count in counts.items() if count > 1]:
            raise Invalid({"columns": [f"Choose one column only for: {', '.join(repeated)}."]})
        if "destination" not in counts:
            raise Invalid({"columns": [f"Choose which column is the {FIELDS['destination']}."]})


def to_row(description: Description) -> dict[str, Any]:
    """Return what the plan of an import keeps of it, see `find_settings`."""
    fields = [column.field for column in description.columns]
    imported = [number for number, field in enumerate(fields) if field]
    others = [number for number, field in enumerate(fields) if not field]
    shown = [*imported, *others[: MAX_SHOWN - len(imported)]]
    if len(shown) <= SHOWN_FIRST:
        shown.sort()
    named = [(number, description.columns[number]) for number in shown]
    return {
        "columns": [
            (number, _cut(column.name, _MAX_NAME), [_cut(text, _MAX_SAMPLE) for text in column.samples])
            for number, column in named
        ],
        "fields": fields,
        "codec": description.codec,
        "note": description.note,
        "readings": [(codec, name, printable(text)) for codec, name, text in description.readings],
    }


def find_settings(import_: Import) -> TableSettings | None:
    """Return what is chosen, or else understood; None before the file was opened, and for other sources."""
    table = import_.plan.get("table")
    if table is None:
        return None
    settings, options = TableSettings(**table), import_.options
    fields = options.get("columns", ())
    return replace(
        settings,
        fields=fields if len(fields) == len(settings.fields) else settings.fields,
        codec=options.get("encoding", settings.codec),
    )


def options_of(import_: Import, settings: TableSettings) -> dict[str, Any]:
    """Return what of it differs from what the file says by itself. Raises Invalid."""
    settings.check()
    chosen = {"columns": settings.fields, "encoding": settings.codec}
    table = import_.plan["table"]
    understood = {"columns": table["fields"], "encoding": table["codec"]}
    return {name: value for name, value in chosen.items() if name in import_.options or value != understood[name]}


def _cut(text: str, limit: int) -> str:
    text = printable(text)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
