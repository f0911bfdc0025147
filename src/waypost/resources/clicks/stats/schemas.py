"""The JSON of statistics."""

from typing import Literal
from uuid import UUID

from typing_extensions import TypedDict

from waypost.kit.clock import timestamp
from waypost.kit.fields import IdText, TimestampText
from waypost.resources.clicks.filters import FilterField
from waypost.resources.clicks.stats.query import Interval, StatsQuery
from waypost.resources.clicks.stats.read import StatsLists, StatsSeries


class StatsEntryJson(TypedDict):
    at: TimestampText
    clicks: int
    visitors: int
    scans: int


class ValueCountJson(TypedDict):
    value: str
    clicks: int


class TopLinkJson(TypedDict):
    link_id: IdText
    short_url: str | None
    title: str | None
    clicks: int


_From = TypedDict("_From", {"from": TimestampText})


class StatsJson(_From):
    to: TimestampText
    interval: Interval
    timezone: str
    clicks: int
    visitors: int
    scans: int
    crawlers: int
    previews: int
    first_clicked_at: TimestampText | None
    last_clicked_at: TimestampText | None
    series: list[StatsEntryJson]
    countries: list[ValueCountJson]
    referrers: list[ValueCountJson]
    devices: list[ValueCountJson]
    browsers: list[ValueCountJson]
    platforms: list[ValueCountJson]


class LinkStatsJson(StatsJson):
    link_id: IdText
    imported_clicks: int
    targets: list[ValueCountJson]


class AccountStatsJson(StatsJson):
    top_links: list[TopLinkJson]


def to_json(query: StatsQuery, series: StatsSeries, lists: StatsLists) -> StatsJson:
    total = series.total
    return {
        "from": timestamp(query.range.start),
        "to": timestamp(query.range.end),
        "interval": query.interval,
        "timezone": query.timezone,
        "clicks": total.clicks,
        "visitors": total.visitors,
        "scans": total.scans,
        "crawlers": total.crawlers,
        "previews": total.previews,
        "first_clicked_at": timestamp(total.first_at) if total.first_at else None,
        "last_clicked_at": timestamp(total.last_at) if total.last_at else None,
        "series": [
            {"at": timestamp(bucket.at), "clicks": point.clicks, "visitors": point.visitors, "scans": point.scans}
            for bucket, point in zip(query.buckets, series.points, strict=True)
        ],
        "countries": _values(lists, "country"),
        "referrers": _values(lists, "referrer"),
        "devices": _values(lists, "device"),
        "browsers": _values(lists, "browser"),
        "platforms": _values(lists, "platform"),
    }


def targets_to_json(lists: StatsLists) -> list[ValueCountJson]:
    return _values(lists, "target")


def _values(lists: StatsLists, name: FilterField | Literal["target"]) -> list[ValueCountJson]:
    return [{"value": value, "clicks": count} for value, count in lists.values[name]]


def top_links_to_json(lists: StatsLists) -> list[TopLinkJson]:
    counted = [(UUID(value), count) for value, count in lists.values["link"]]
    return [
        {"link_id": str(link_id), "short_url": short_url, "title": title, "clicks": count}
        for link_id, count in counted
        for short_url, title in [lists.names.get(link_id, (None, None))]
    ]
