"""Statistics and clicks as templates render them. Pure."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from waypost.audit.model import AuditEntry
from waypost.kit.clock import from_microseconds
from waypost.kit.preferences import Preferences
from waypost.resources.clicks.dashboard.time_range import StatsChoice
from waypost.resources.clicks.dashboard.value_lists import name_value, source_name
from waypost.resources.clicks.model import Click
from waypost.resources.clicks.stats.read import Statistics

METRICS = {"clicks": "Clicks", "visitors": "Visitors", "scans": "QR scans"}


@dataclass(frozen=True, slots=True)
class StatNumber:
    metric: str
    count: int | None
    """None if it is not known."""
    before: int | None
    """None if there is nothing to compare with."""
    dates: str
    """Of the comparison."""
    preferences: Preferences

    @property
    def name(self) -> str:
        return METRICS[self.metric]

    @property
    def change(self) -> str:
        """The comparison without its dates."""
        if self.before is None or self.count is None or not (self.count or self.before):
            return ""
        if self.count == self.before:
            return "as many"
        difference = abs(self.count - self.before)
        percent = round(100 * difference / self.before) if self.before else 0
        is_useful = 0 < percent < 100_000
        shown = f"{self.preferences.number(percent)}%" if is_useful else self.preferences.number(difference)
        return f"{shown} {'more' if self.count > self.before else 'fewer'}"

    @property
    def comparison(self) -> str:
        if self.change and not self.before:
            return f"0 in {self.dates}"
        return self.change and f"{self.change} {'as' if self.count == self.before else 'than'} {self.dates}"

    @property
    def direction(self) -> str:
        """Empty also for a change of less than a tenth, which may be chance."""
        if self.before is None or self.count is None or 10 * abs(self.count - self.before) < max(self.before, 1):
            return ""
        return "up" if self.count > self.before else "down"


@dataclass(frozen=True, slots=True)
class LatestClick:
    id: UUID
    at: datetime
    country: str
    agent: str
    referrer: str
    is_scan: bool
    link: tuple[UUID, str] | None
    """Id and short URL of the link, in lists of an account."""


class ChartMark(NamedTuple):
    """A change of the link. It has no values: not every member may read the audit log."""

    bucket: int
    """Index of the entry of the chart."""
    at: str
    text: str


MAX_MARKS = 20


def metrics(*, hides: bool) -> Mapping[str, str]:
    """Return what a page counts. `hides`: whether it hides small numbers, as those of scans can be."""
    return {name: text for name, text in METRICS.items() if name != "scans" or not hides}


def compare(found: Statistics, dates: str, preferences: Preferences) -> list[StatNumber]:
    """`dates`: of the earlier time range."""
    counts, counts_before = found.total.metrics, found.previous.total.metrics if found.previous else {}
    shown = metrics(hides=found.hidden is not None)
    return [StatNumber(name, counts[name], counts_before.get(name), dates, preferences) for name in shown]


def chart(choice: StatsChoice, found: Statistics, metric: str) -> dict[str, Any]:
    return {
        "interval": choice.query.interval,
        "ticks": [_tick(choice, bucket.at) for bucket in choice.query.buckets],
        "days": [choice.preferences.day_field(bucket.start) for bucket in choice.query.buckets],
        "lastDays": [
            choice.preferences.day_field(bucket.end - timedelta(microseconds=1)) for bucket in choice.query.buckets
        ],
        "separators": choice.preferences.separators,
        "at": [int(bucket.at.timestamp()) for bucket in choice.query.buckets],
        "isUntilNow": choice.is_until_now,
        "name": METRICS[metric],
        "values": [counts.get(metric) for counts in _points(found)],
        "before": [counts.get(metric) for counts in _points(found.previous)] if found.previous else [],
        "beforeDates": choice.comparison_dates,
    }


def marks(choice: StatsChoice, entries: Iterable[AuditEntry]) -> list[ChartMark]:
    """Return what changed in the link within the time range, the oldest change first.

    `entries`: of its audit log, newest first.
    """
    starts = [bucket.start for bucket in choice.query.buckets]
    found = [(entry.at, text) for entry in entries if (text := _mark(entry)) and starts[0] <= entry.at]
    return [
        ChartMark(bisect_right(starts, at) - 1, choice.preferences.time(at), text)
        for at, text in reversed(found[:MAX_MARKS])
    ]


def _mark(entry: AuditEntry) -> str:
    if entry.action == "link.updated" and "destination_url" in entry.changes:
        return "Destination changed"
    return {
        "link.created": "Link created",
        "routing.updated": "Routing changed",
        "routing.deleted": "Routing removed",
    }.get(entry.action, "")


def label(choice: StatsChoice, at: datetime) -> str:
    """Return the name of the interval that begins at a time."""
    match choice.query.interval:
        case "hour":
            return choice.preferences.time(at)
        case "day":
            return choice.preferences.day(at, "%a, ")
        case "week":
            return f"Week of {choice.preferences.day(at)}"
        case "month":
            return choice.preferences.month(at)


def _tick(choice: StatsChoice, at: datetime) -> str:
    """Return the short name, for the axis of the chart."""
    match choice.query.interval:
        case "hour":
            return choice.preferences.minute(at)
        case "month":
            return choice.preferences.month(at, is_short=True)
        case _:
            return choice.preferences.day_of_year(at)


def chart_table(choice: StatsChoice, found: Statistics) -> list[tuple[str, list[int | None]]]:
    """Return the rows: time, and the count of each metric."""
    shown = metrics(hides=found.hidden is not None)
    return [
        (label(choice, bucket.at), [counts.get(name) for name in shown])
        for bucket, counts in zip(choice.query.buckets, _points(found), strict=True)
    ]


def _points(found: Statistics) -> list[Mapping[str, int | None]]:
    """Return the counts of each point; none of one that is hidden."""
    hidden = found.hidden.points if found.hidden else ()
    return [{} if index in hidden else point.metrics for index, point in enumerate(found.points)]


def latest_click(click: Click, short_url: str | None = None) -> LatestClick:
    """`short_url`: the URL of its link, unless all clicks are of one link."""
    return LatestClick(
        id=UUID(bytes=click.id),
        at=from_microseconds(click.at),
        country=name_value("country", click.country).name,
        agent=agent(click.device.capitalize(), click.browser, click.platform),
        referrer=source_name(click.referrer),
        is_scan=click.is_scan,
        link=None if short_url is None else (UUID(bytes=click.link_id), short_url),
    )


def agent(*names: str) -> str:
    """Device, browser and platform as far as they are known."""
    return ", ".join(name for name in names if name not in {"", "other", "Other"}) or "Unknown device"
