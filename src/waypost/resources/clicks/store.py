"""The interface of the click store, which keeps clicks and their statistics.

There are two: `backends.sql` in the service's database, and `backends.clickhouse` on a ClickHouse server. Both give the
same numbers, and `tests/resources/clicks/test_click_stores.py` compares them.
"""

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from uuid import UUID

from waypost.database import Database, Tx
from waypost.kit.clock import Clock
from waypost.kit.errors import Unavailable
from waypost.resources.clicks.days import DaySlice, KnownDays, PageSlice, SignedSlice
from waypost.resources.clicks.model import (
    HUMAN,
    Click,
    ClickKind,
    LabelName,
    ListName,
    RankedValues,
    StatsTotals,
    Subject,
)
from waypost.resources.clicks.selection import ClickSelection
from waypost.resources.clicks.stats.tally import Counted, Tally

if TYPE_CHECKING:  # imported by commands only
    from waypost.resources.clicks.backends.sql.rebuild import Difference, OnDay, RebuildResult
    from waypost.resources.clicks.intake.build import IntakeSettings
    from waypost.resources.clicks.intake.drain import Drainer
    from waypost.worker.jobs import Handlers
    from waypost.worker.loop import Step


class ClicksUnavailable(Unavailable):
    """Clicks and statistics are not available right now. Try again in a moment."""


class ClickReader(Protocol):
    """Reads clicks and statistics of subjects. Every method raises Unavailable, of which ClicksUnavailable is one."""

    def transaction(self) -> AbstractAsyncContextManager[Tx]:
        """Open the transaction in which everything else about the subjects is read."""

    async def find_known_days(self, subject: Subject) -> KnownDays: ...

    async def totals_by_day(self, subject: Subject, days: Sequence[int]) -> dict[int, StatsTotals]:
        """Return totals in the order of days; days without a visit are missing."""

    async def totals_by_bucket(self, subject: Subject, slices: Sequence[DaySlice]) -> dict[int, StatsTotals]:
        """Add up totals of quarters. Each slice begins and ends with a quarter, or is widened to do so."""

    async def count_part(self, subject: Subject, day_slice: DaySlice) -> StatsTotals:
        """Count from clicks."""

    async def clicks_by_quarter(
        self, subject: Subject, slices: Sequence[DaySlice]
    ) -> Sequence[tuple[int, int, int, int]]:
        """Return (bucket, day of the week, quarter of the day, clicks). The first day of the week is a Thursday."""

    async def find_top_values(
        self, subject: Subject, days: Mapping[int, int], partial_days: Sequence[SignedSlice], limit: int | None
    ) -> RankedValues:
        """Return `limit` values of each list. None: TOP_COUNT. `days`: the clicks of each whole day."""

    async def find_label_values(
        self, subject: Subject, days: Mapping[int, int], partial_days: Sequence[SignedSlice], *, shared_domain: str
    ) -> Mapping[LabelName, Counter[str]]:
        """Return the clicks of each tag, hostname and UTM parameter of an account's links."""

    max_counted: int
    """Clicks that can be counted within two seconds, if nothing else is done meanwhile."""

    async def count_clicks(
        self, selection: ClickSelection, slices: Sequence[DaySlice], sizes: Mapping[int, int], tally: Tally
    ) -> Counted:
        """Count clicks in the slices, of which the first and the last may be parts of days. Raises TooManyClicks.

        `sizes`: about how many visits each day has. `tally`: what to count.
        """

    async def sum_links(
        self, selection: ClickSelection, slices: Sequence[DaySlice], lists: Sequence[ListName]
    ) -> Counted:
        """Add up the sums of the links of a selection: of quarters of an hour, in lists of days. Without visitors."""

    async def count_by_day(
        self, selection: ClickSelection, kind: ClickKind | None, days: Sequence[DaySlice]
    ) -> dict[int, int]:
        """Return the number of matching clicks by day. Days without any may be missing. None: of every kind."""

    async def read_newest(
        self, selection: ClickSelection, kind: ClickKind | None, page_slice: PageSlice
    ) -> list[Click]: ...

    async def clicks_per_day(self, subjects: Collection[UUID], days: Sequence[int]) -> Mapping[UUID, Mapping[int, int]]:
        """Return the clicks of people by subject and day. Those without clicks are missing."""

    async def sum_days(self, subjects: Collection[UUID], days: Sequence[int]) -> Mapping[UUID, int]:
        """Return the clicks of people on these days by subject. Some without clicks are missing."""


@dataclass(frozen=True, slots=True)
class ExportQuery:
    subject: Subject | None = None
    """None: every account."""
    kind: ClickKind | None = HUMAN
    """None: every kind."""
    start: datetime | None = None
    end: datetime | None = None


class ExportedClick(NamedTuple):
    click: Click
    short_url: str


class DayStatistics(NamedTuple):
    day: int
    link_id: UUID | None
    """None: of the account."""
    totals: Sequence[int]
    """Clicks, visitors, scans, crawlers, previews, prefetches."""
    quarters: list[Sequence[Any]]
    """Rows of `click_totals` without day and subject; empty while the clicks are kept."""
    values: list[tuple[int, str, int]]
    """(dimension, value, clicks)"""


class ClickExporter(Protocol):
    """Reads the clicks of an export. Every method raises Unavailable."""

    async def find_days(self) -> list[int]:
        """Return the days with clicks, in order."""

    async def count(self, day_slice: DaySlice) -> int: ...

    def read(self, day_slice: DaySlice) -> AsyncIterator[list[ExportedClick]]:
        """Yield batches in the order of time and id."""

    async def count_by_link(self, day_slice: DaySlice) -> list[DayStatistics]:
        """Count the clicks of the account, and of each of its links that has some."""

    def read_expired(self, kept_since: int) -> AsyncIterator[list[DayStatistics]]:
        """Yield the statistics of the account and its links on the days before `kept_since`, with quarters."""


class ClickStore(Protocol):
    def reader(self, db: Database, account_id: UUID | None = None) -> AbstractAsyncContextManager[ClickReader]:
        """Open a reader. With an account, it uses that account's share of what all share. Raises Unavailable."""

    def exporter(self, db: Database, query: ExportQuery, shared_domain: str) -> ClickExporter: ...

    def new_drainer(self, db: Database, spool: Path, settings: "IntakeSettings") -> "Drainer":
        """Return what moves visits from this spool to the store. Close it afterwards."""

    def hourly_steps(self, db: Database, retention_days: int | None, clock: Clock) -> "list[Step]": ...

    def handlers(self, db: Database, clock: Clock) -> "Handlers":
        """Return what does the jobs of drainers."""

    def delete_account_data(self, db: Database, account_id: UUID, *, batch_size: int) -> AsyncGenerator[None, None]:
        """Delete the clicks and statistics of an account. Yields after each short step. Raises Unavailable."""

    async def rebuild(self, db: Database, *, from_day: int | None, on_progress: "OnDay | None") -> "RebuildResult":
        """Correct statistics and counters that differ from the clicks."""

    def check(self, db: Database, *, from_day: int | None, on_progress: "OnDay | None") -> "AsyncIterator[Difference]":
        """Yield what differs. Changes nothing."""

    async def close(self) -> None: ...
