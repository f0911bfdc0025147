"""What becomes of one page of a source, and how far an import is. A plan that is only shown is not applied."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from waypost.database import Tx
from waypost.resources.imports.model import Import
from waypost.resources.imports.report import Counts
from waypost.resources.imports.rules import printable, printable_id
from waypost.resources.imports.source import RefusedRow

Cursor = dict[str, Any]
"""What is read next. `phase`: `links` at first, `end` if nothing is left; `at`: where in it, null at first."""

MAX_WARNINGS, _MAX_KEPT = 200, 1_000
"""Of a page, and of an import."""
_MORE = "There are further warnings, which are not listed"
_START: Cursor = {"phase": "links", "at": None}


@dataclass(slots=True)
class PageReport:
    """What one page changes."""

    counts: Counts = field(default_factory=Counts)
    warnings: dict[str, tuple[int, str]] = field(default_factory=dict)
    """How many links each is about, and the id of one of them; "" if it is about none."""
    refused: list[RefusedRow] = field(default_factory=list)

    def refuse(self, source_id: str, reason: str, place: str = "") -> None:
        """`place`: see `SourceLink.place`."""
        reason = f"{place}: {reason}" if place else reason
        self.refused.append(RefusedRow(printable_id(source_id), printable(reason)))
        self.counts.refused += 1

    def warn(self, text: str, source_id: str = "") -> None:
        text = printable(text)
        if text not in self.warnings and len(self.warnings) >= MAX_WARNINGS:
            text = _MORE
        count, example = self.warnings.get(text, (0, printable_id(source_id)))
        self.warnings[text] = count + 1, example

    def add(self, other: "PageReport") -> None:
        self.counts.add(other.counts)
        _merge(self.warnings, other.warnings)
        self.refused += other.refused


async def _do_nothing(*_: Tx) -> None:
    pass


@dataclass(slots=True)
class PagePlan:
    following: Cursor = field(default_factory=dict)
    """Where the next page begins."""
    done: PageReport = field(default_factory=PageReport)
    """What it counts and reports. `apply` adds what only it finds out."""
    prepare: Callable[[], Awaitable[None]] = _do_nothing
    """Does what takes long, before the transaction."""
    apply: Callable[[Tx], Awaitable[None]] = _do_nothing
    """Raises Outdated."""
    total: int | None = None
    """How many links the source says it has."""
    hosts: Mapping[str, int] = field(default_factory=dict)
    """Number of links of each hostname of the source."""
    expected_clicks: int = 0
    """Those that are imported after the links of the page."""


class Outdated(Exception):
    """A slug or an alias was taken, or a link was changed, after the plan was made: plan again."""


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
        cursor = stored.cursor or _START
        if cursor["phase"] == "links.ndjson":  # of an archive, before these were read as links of other services
            cursor = {"phase": "links", "at": str(cursor["at"] or 0)}
        return cls(cursor, Counts(**stored.counts), warnings, stored.total)

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


def _merge(warnings: dict[str, tuple[int, str]], new: Mapping[str, tuple[int, str]]) -> None:
    for each, (count, example) in new.items():
        text = each if each in warnings or len(warnings) < _MAX_KEPT else _MORE
        before, first = warnings.get(text, (0, example))
        warnings[text] = before + count if example else 1, first
