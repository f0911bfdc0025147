"""What an import has done so far, as the command prints it and the dashboard shows it."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from waypost.resources.imports.model import Import
from waypost.resources.imports.rules import printable, printable_id
from waypost.resources.imports.source import RefusedRow

Cursor = dict[str, Any]
"""What is read next. `phase`: `links` at first, `end` if nothing is left; `at`: where in it, null at first."""

MAX_WARNINGS = 200
_START: Cursor = {"phase": "links", "at": None}


@dataclass(slots=True)
class Counts:
    found: int = 0
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    refused: int = 0
    aliases: int = 0
    clicks: int = 0
    imported_clicks: int = 0
    """Totals of the source, kept apart. Not in the JSON of a report, whose fields are fixed."""

    def add(self, other: "Counts") -> None:
        for count in fields(self):
            setattr(self, count.name, getattr(self, count.name) + getattr(other, count.name))


@dataclass(slots=True)
class Report:
    source: str
    counts: Counts = field(default_factory=Counts)
    total: int | None = None
    """Links that the source says it has."""
    warnings: list[str] = field(default_factory=list)
    refused: list[RefusedRow] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        links = {name: getattr(self.counts, name) for name in ("found", "created", "updated", "unchanged", "refused")}
        return {
            "source": self.source,
            "links": links,
            "aliases": self.counts.aliases,
            "clicks": self.counts.clicks,
            "warnings": self.warnings,
            "refused": [{"source_id": row.source_id, "reason": row.reason} for row in self.refused],
        }


def read_plan(source: str, stored: Mapping[str, Any]) -> Report:
    """`stored`: see `Preview.to_row`; empty if nothing is planned yet."""
    refused = [RefusedRow(*row) for row in stored.get("refused", ())]
    warnings = to_warnings(stored.get("warnings", ()))
    return Report(source, Counts(**stored.get("counts", {})), stored.get("total"), warnings, refused)


@dataclass(slots=True)
class PageReport:
    """What one page changes."""

    counts: Counts = field(default_factory=Counts)
    warnings: dict[str, tuple[int, str]] = field(default_factory=dict)
    """How many links each is about, and the id of one of them; "" if it is about none."""
    refused: list[RefusedRow] = field(default_factory=list)

    def refuse(self, source_id: str, reason: str) -> None:
        self.refused.append(RefusedRow(printable_id(source_id), reason))
        self.counts.refused += 1

    def warn(self, text: str, source_id: str = "") -> None:
        text = printable(text)
        count, example = self.warnings.get(text, (0, printable_id(source_id)))
        if count or len(self.warnings) < MAX_WARNINGS:
            self.warnings[text] = count + 1, example

    def add(self, other: "PageReport") -> None:
        self.counts.add(other.counts)
        _merge(self.warnings, other.warnings)
        self.refused += other.refused


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an import or its plan is."""

    cursor: Cursor
    counts: Counts
    warnings: Mapping[str, tuple[int, str]]
    total: int | None

    @classmethod
    def of(cls, stored: Import) -> "Progress":
        warnings = {text: (count, example) for text, count, example in stored.warnings}
        return cls(stored.cursor or _START, Counts(**stored.counts), warnings, stored.total)

    @property
    def has_begun(self) -> bool:
        return self.cursor != _START

    @property
    def has_ended(self) -> bool:
        return bool(self.cursor["phase"] == "end")

    def after(self, page: PageReport, following: Cursor, total: int | None) -> "Progress":
        counts, warnings = Counts(**asdict(self.counts)), dict(self.warnings)
        counts.add(page.counts)
        _merge(warnings, page.warnings)
        return Progress(following, counts, warnings, self.total if total is None else total)

    def to_row(self) -> dict[str, Any]:
        """Return the fields of `Import`."""
        warnings = [(text, *counted) for text, counted in self.warnings.items()]
        return {"cursor": self.cursor, "counts": asdict(self.counts), "warnings": warnings, "total": self.total}


def to_warnings(rows: Iterable[tuple[str, int, str]]) -> list[str]:
    """`rows`: see `Import.warnings`."""
    return [_with_count(*row) for row in rows]


def _merge(warnings: dict[str, tuple[int, str]], new: Mapping[str, tuple[int, str]]) -> None:
    for text, (count, example) in new.items():
        before, first = warnings.get(text, (0, example))
        warnings[text] = before + count if example else 1, first


def _with_count(text: str, count: int, example: str) -> str:
    if not example:
        return text
    return f"{text} ({example})" if count == 1 else f"{text} ({count:,} links, such as {example})"
