"""The JSON of statistics."""

from datetime import datetime
from uuid import UUID

from typing_extensions import TypedDict

from waypost.kit.clock import timestamp
from waypost.kit.fields import IdText, TimestampText
from waypost.resources.clicks.listing import Value
from waypost.resources.clicks.stats.query import Asked
from waypost.resources.clicks.stats.read.buckets import Interval
from waypost.resources.clicks.stats.read.service import Stats


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


class AccountStatsJson(StatsJson):
    top_links: list[TopLinkJson]


def link_stats_to_json(link_id: UUID, asked: Asked, stats: Stats) -> LinkStatsJson:
    return {"link_id": str(link_id), **_to_json(asked, stats)}


def account_stats_to_json(asked: Asked, stats: Stats) -> AccountStatsJson:
    return {**_to_json(asked, stats), "top_links": _top_links(stats)}


def _to_json(asked: Asked, stats: Stats) -> StatsJson:
    total = stats.total
    return {
        "from": timestamp(asked.start),
        "to": timestamp(asked.end),
        "interval": asked.interval,
        "timezone": asked.timezone,
        "clicks": total.clicks,
        "visitors": total.visitors,
        "scans": total.scans,
        "crawlers": total.crawlers,
        "previews": total.previews,
        "first_clicked_at": _moment(total.first_at),
        "last_clicked_at": _moment(total.last_at),
        "series": [
            {"at": timestamp(entry.at), "clicks": each.clicks, "visitors": each.visitors, "scans": each.scans}
            for entry, each in zip(asked.entries, stats.series, strict=True)
        ],
        "countries": _values(stats, "country"),
        "referrers": _values(stats, "referrer"),
        "devices": _values(stats, "device"),
        "browsers": _values(stats, "browser"),
        "platforms": _values(stats, "platform"),
    }


def _values(stats: Stats, name: Value) -> list[ValueCountJson]:
    return [{"value": value, "clicks": count} for value, count in stats.values[name]]


def _top_links(stats: Stats) -> list[TopLinkJson]:
    counted = [(UUID(value), count) for value, count in stats.values["link"]]
    names = [stats.names.get(link_id, (None, None)) for link_id, _ in counted]
    return [
        {"link_id": str(link_id), "short_url": short_url, "title": title, "clicks": count}
        for (link_id, count), (short_url, title) in zip(counted, names, strict=True)
    ]


def _moment(at: datetime | None) -> str | None:
    return timestamp(at) if at else None
