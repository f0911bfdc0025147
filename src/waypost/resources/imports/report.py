"""What an import has done so far, as the command prints it and the dashboard shows it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from waypost.resources.imports.source import RefusedRow


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


def to_warnings(rows: Iterable[tuple[str, int, str]]) -> list[str]:
    """`rows`: see `Import.warnings`."""
    return [_with_count(*row) for row in rows]


def _with_count(text: str, count: int, example: str) -> str:
    if not example:
        return text
    return f"{text} ({example})" if count == 1 else f"{text} ({count:,} links, such as {example})"
