"""Plans: what an import would do, read in several turns, so that the plan of a large account survives restarts."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from waypost.resources.imports.model import Import
from waypost.resources.imports.report import Counts, Report, to_warnings
from waypost.resources.imports.run import ImportRun
from waypost.resources.imports.source import RefusedRow

_MAX_REFUSED = 1_000
"""Rows that a plan lists. The report of the import has all."""
_MAX_HOSTS = 1_000
_MAX_HOSTNAME = 253


@dataclass(slots=True)
class Plan:
    cursor: dict[str, Any] | None = None
    """Where the next turn continues, as in an `Import`."""
    counts: dict[str, int] = field(default_factory=dict)
    warnings: list[tuple[str, int, str]] = field(default_factory=list)
    total: int | None = None
    hosts: dict[str, int] = field(default_factory=dict)
    """Number of links of each hostname of the source."""
    refused: list[Any] = field(default_factory=list)
    """Source id and reason."""

    def as_import(self, new: Import) -> Import:
        return replace(new, cursor=self.cursor, counts=self.counts, warnings=self.warnings, total=self.total)

    def save(self, importer: ImportRun) -> None:
        """Keep what the dry run has done so far."""
        self.cursor, self.total = dict(importer.cursor), importer.total
        self.counts = asdict(importer.counts)
        self.warnings = [(text, *counted) for text, counted in importer.warnings.items()]
        self.refused += [(row.source_id, row.reason) for row in importer.refused][: _MAX_REFUSED - len(self.refused)]
        importer.refused.clear()
        for hostname, count in importer.hosts.items():
            if len(hostname) > _MAX_HOSTNAME or not hostname.isprintable():
                continue  # a row of a file may have any text there
            if hostname in self.hosts or len(self.hosts) < _MAX_HOSTS:
                self.hosts[hostname] = self.hosts.get(hostname, 0) + count
        importer.hosts.clear()

    def report(self, source: str) -> Report:
        refused = [RefusedRow(*row) for row in self.refused]
        return Report(source, Counts(**self.counts), self.total, to_warnings(self.warnings), refused)
