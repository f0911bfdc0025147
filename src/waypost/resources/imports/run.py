"""What every import does: the lease, and pages that are stored with the cursor after them in one transaction.

So an import can be killed at any point: it continues after the last page that was stored.
"""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from waypost import audit
from waypost.audit import Actor
from waypost.database import Tx
from waypost.kit.errors import WaypostError
from waypost.resources.imports import lease, rules, store
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.model import CHECK_JOB, Import, ImportState
from waypost.resources.imports.report import Counts, Report, to_warnings, warn
from waypost.resources.imports.source import RefusedRow
from waypost.worker import jobs

T = TypeVar("T")
Cursor = dict[str, Any]
"""What is read next. `phase`: `end` if nothing, otherwise of the class; `at`: where in it, null at first."""

_CHANGES = ("created", "updated", "aliases", "clicks")
"""Counts of what an import changes."""
_RENEWAL = store.LEASE.total_seconds() / 3


@dataclass(slots=True)
class Page:
    """What one page changes. Merged into the import after the commit."""

    counts: Counts = field(default_factory=Counts)
    warnings: dict[str, tuple[int, str]] = field(default_factory=dict)
    refused: list[RefusedRow] = field(default_factory=list)

    def refuse(self, source_id: str, reason: str) -> None:
        self.refused.append(RefusedRow(rules.printable_id(source_id), reason))
        self.counts.refused += 1

    def warn(self, text: str, source_id: str = "") -> None:
        warn(self.warnings, rules.printable(text), rules.printable_id(source_id))

    def add(self, other: "Page") -> None:
        self.counts.add(other.counts)
        _merge(self.warnings, other.warnings)
        self.refused += other.refused


class ImportRun(ABC):
    """Call `start`, then `step` until it returns False, and always `stop`.

    A dry run only reads.
    """

    _first_phase: str

    def __init__(self, deps: Deps, import_: Import, holder: str, *, is_dry_run: bool) -> None:
        """`holder`: see `lease.holder`."""
        self._deps = deps
        self._import = import_
        self._account_id = import_.account_id
        self._holder = holder
        self._is_dry_run = is_dry_run
        self._cursor: Cursor = dict(import_.cursor or {"phase": self._first_phase, "at": None})
        self.counts = Counts(**import_.counts)
        self.warnings = {text: (count, example) for text, count, example in import_.warnings}
        self.total = import_.total
        self.refused: list[RefusedRow] = []
        """Of a dry run. Otherwise see `service.get_report`."""
        self.hosts: Counter[str] = Counter()
        """How many links each hostname of the source has, as far as a dry run has read them."""

    @abstractmethod
    async def _check(self) -> None:
        """Find out whether the source can be read, and what its links refer to. Raises SourceError."""

    async def _prepare(self) -> None:  # noqa: B027  # most need nothing
        """Create what links refer to."""

    @abstractmethod
    async def _step(self) -> None:
        """Import one page of the phase of the cursor."""

    @property
    def cursor(self) -> Cursor:
        """Where a continued dry run starts. Otherwise it is stored with each page."""
        return self._cursor

    @property
    def progress(self) -> tuple[int, int]:
        """Return how much is done and how much there is; 0 if the source does not say."""
        return self.counts.found, self.total or 0

    @property
    def dry_report(self) -> Report:
        return Report(self._import.source, self.counts, self.total, to_warnings(_rows(self.warnings)), self.refused)

    async def start(self) -> None:
        """Check the source and take the lease. Raises SourceError and ImportRunning, before anything is written."""
        await self._check()
        if not self._is_dry_run:
            async with self._deps.db.write() as tx:
                await lease.take(tx, self._account_id, self._import.id, self._holder, self._deps.clock())
        await self._keeping_lease(self._prepare())

    async def step(self) -> bool:
        """Import one page. Return False if the import has finished. Raises SourceError, LeaseLost, Unavailable."""
        if self._cursor["phase"] != "end":
            await self._step()
        return bool(self._cursor["phase"] != "end")

    async def stop(self, error: Exception | None = None) -> None:
        """Give the lease back. `error`: why the import does not continue now."""
        if self._is_dry_run:
            return
        is_finished = self._cursor["phase"] == "end"
        message = error.details if isinstance(error, WaypostError) else type(error).__name__ if error else None
        async with self._deps.db.write() as tx:
            state: ImportState = "finished" if is_finished else "stopped" if error else "waiting"
            await store.release(tx, self._import.id, self._holder, self._deps.clock(), state, message)
            if is_finished and any(asdict(self.counts)[name] for name in _CHANGES):
                actor, counts = Actor.system(self._account_id, "import"), asdict(self.counts)
                await audit.record(tx, actor, "import.finished", self._deps.clock(), self._import.item, details=counts)
            if is_finished and await store.find_unchecked(tx, self._account_id, limit=1):
                await jobs.enqueue(tx, CHECK_JOB, {}, now=self._deps.clock(), account_id=self._account_id)

    async def _keeping_lease(self, work: Awaitable[T]) -> T:
        """Renew the lease while the source is waited for."""

        async def renew() -> None:
            while True:
                await asyncio.sleep(_RENEWAL)
                async with self._deps.db.write() as tx:
                    await store.renew_lease(tx, self._import.id, self._holder, self._deps.clock())

        if self._is_dry_run:
            return await work
        renewing = asyncio.create_task(renew())
        try:
            return await work
        finally:
            renewing.cancel()
            await asyncio.wait([renewing])

    @contextlib.asynccontextmanager
    async def _write(self, done: Page, cursor: Cursor, total: int | None = None) -> AsyncIterator[Tx]:
        """Open the transaction that stores a page with the cursor after it; a dry run only reads in it.

        Merge what the page did after the commit. Raises LeaseLost.
        """
        counts, warnings = Counts(**asdict(self.counts)), dict(self.warnings)
        total = self.total if total is None else total
        db, import_id = self._deps.db, self._import.id
        async with db.read() if self._is_dry_run else db.write() as tx:
            now = self._deps.clock()
            if not self._is_dry_run and not await store.renew_lease(tx, import_id, self._holder, now):
                raise lease.LeaseLost
            yield tx
            counts.add(done.counts)
            _merge(warnings, done.warnings)
            if not self._is_dry_run:
                await store.add_refusals(tx, import_id, self.counts.refused, done.refused)
                values = {"cursor": cursor, "counts": asdict(counts), "warnings": _rows(warnings), "total": total}
                await store.save(tx, import_id, now, values)
        if self._is_dry_run:
            self.refused += done.refused
        self.counts, self.warnings, self.total, self._cursor = counts, warnings, total, cursor


def _merge(warnings: dict[str, tuple[int, str]], new: Mapping[str, tuple[int, str]]) -> None:
    for text, (count, example) in new.items():
        before, first = warnings.get(text, (0, example))
        warnings[text] = before + count if example else 1, first


def _rows(warnings: Mapping[str, tuple[int, str]]) -> list[tuple[str, int, str]]:
    """Return `Import.warnings`."""
    return [(text, *counted) for text, counted in warnings.items()]
