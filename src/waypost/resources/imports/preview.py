"""The plan of an import: what becomes of each page is added up, and not applied.

It is made in several turns, so that the plan of a large account survives restarts.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from waypost.resources.imports.deps import Deps
from waypost.resources.imports.model import Import
from waypost.resources.imports.page_plan import Progress
from waypost.resources.imports.pipeline import Pipeline
from waypost.resources.imports.report import Report, to_warnings
from waypost.resources.imports.source import RefusedRow, Source
from waypost.resources.imports.sources.csv import Csv
from waypost.resources.imports.tables.settings import to_row

_MAX_REFUSED = 1_000
"""Rows that a stored plan lists. The report of the import has all."""
_MAX_HOSTS = 1_000
_MAX_HOSTNAME = 253


class Preview:
    """Used like an ImportRun. It writes nothing."""

    def __init__(self, deps: Deps, source: Source, new: Import, stored: Mapping[str, Any] | None = None) -> None:
        """`new`: an import that is not stored; `stored`: see `to_row`."""
        self._import = new
        self._source = source
        self._pipeline = Pipeline(deps, source, new)
        self._hosts: dict[str, int] = {}
        """Number of links of each hostname of the source."""
        self._refused: list[RefusedRow] = []
        self._table: dict[str, Any] | None = None
        """See `tables.settings.to_row`."""
        stored = dict(stored or {})
        if stored:
            self._table = stored.pop("table", None)
            self._hosts = stored.pop("hosts")
            self._refused = [RefusedRow(*row) for row in stored.pop("refused")]
        self._progress = Progress.of(replace(new, **stored))

    @property
    def progress(self) -> tuple[int, int]:
        return self._progress.counts.found, self._progress.total or 0

    @property
    def has_begun(self) -> bool:
        return self._progress.has_begun

    @property
    def report(self) -> Report:
        counts, total, warnings = self._progress.counts, self._progress.total, self._progress.to_row()["warnings"]
        return Report(self._import.source, counts, total, to_warnings(warnings), self._refused)

    def to_row(self) -> dict[str, Any]:
        """Return what is stored of it. Later rows that are refused are only counted."""
        del self._refused[_MAX_REFUSED:]
        refused = [(row.source_id, row.reason) for row in self._refused]
        table = {"table": self._table} if self._table else {}
        return {**self._progress.to_row(), "hosts": self._hosts, "refused": refused, **table}

    async def describe(self) -> None:
        """Let the plan say what the columns of a file are taken for. Raises SourceError."""
        if isinstance(self._source, Csv):
            self._table = to_row(await self._source.describe())

    async def start(self) -> None:
        """Raises SourceError."""
        await self._pipeline.find_hosts()
        warnings = {**self._progress.warnings, **self._pipeline.found.warnings}
        self._progress = replace(self._progress, warnings=warnings)
        self._count_hosts(dict.fromkeys(self._pipeline.hostnames, 0))

    async def step(self) -> bool:
        """Plan one page. Return False at the end. Raises SourceError."""
        if self._progress.has_ended:
            return False
        has_begun = self.has_begun
        plan = await self._pipeline.plan(self._progress)
        if not has_begun:
            await self.describe()  # again, because all rows were read by now
        plan.done.counts.clicks += plan.expected_clicks
        self._progress = self._progress.after(plan.done, self._pipeline.next_planned(plan.following), plan.total)
        self._refused += plan.done.refused
        self._count_hosts(plan.hosts)
        return not self._progress.has_ended

    async def stop(self, _: Exception | None = None) -> None:
        await self._pipeline.close()

    def _count_hosts(self, hosts: Mapping[str, int]) -> None:
        for hostname, count in hosts.items():
            if len(hostname) > _MAX_HOSTNAME or not hostname.isprintable():
                continue  # a row of a file may have any text there
            if hostname in self._hosts or len(self._hosts) < _MAX_HOSTS:
                self._hosts[hostname] = self._hosts.get(hostname, 0) + count
