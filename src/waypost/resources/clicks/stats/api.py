"""Statistics as JSON, and their endpoints."""

from typing import Annotated, Literal, get_args
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from waypost.accounts import Caller
from waypost.context import Context
from waypost.kit.clock import timestamp
from waypost.kit.docs import doc
from waypost.kit.fields import IdText, TimestampText
from waypost.resources import links
from waypost.resources.clicks.api import TIME_RANGE_PARAMETERS
from waypost.resources.clicks.filters import FilterField
from waypost.resources.clicks.model import Subject
from waypost.resources.clicks.stats.query import DEFAULT_INTERVAL, DEFAULT_ZONE, Interval, StatsQuery, read_stats_query
from waypost.resources.clicks.stats.read import StatsLists, StatsSeries, read_lists, read_series
from waypost.web import Data, Endpoint, data, parameter, read_query


class StatsEntryJson(TypedDict):
    at: Annotated[TimestampText, doc("Start of the interval, in UTC", "2026-11-19T00:00:00.000000Z")]
    clicks: Annotated[int, doc("Number of clicks by people, including QR code scans", 41)]
    visitors: Annotated[int, doc("Number of unique visitors. A visitor counts once per UTC day.", 36)]
    scans: Annotated[int, doc("Number of QR code scans, included in `clicks`", 2)]


class ValueCountJson(TypedDict):
    value: Annotated[str, doc("Value", "DE")]
    clicks: Annotated[int, doc("Number of clicks by people, including QR code scans", 38)]


class TopLinkJson(TypedDict):
    link_id: Annotated[IdText, doc("ID of the link", "01a1fbb2-2855-72ee-8e77-c161c4205e89")]
    short_url: Annotated[str | None, doc("Short URL of the link; null for a deleted link", "go.example.com/spring")]
    title: Annotated[str | None, doc("Title of the link; null for a deleted link", "Pricing")]
    clicks: Annotated[int, doc("Number of clicks by people, including QR code scans", 44)]


_From = TypedDict(
    "_From", {"from": Annotated[TimestampText, doc("Start of the time range", "2026-11-19T00:00:00.000000Z")]}
)


class StatsJson(_From):
    to: Annotated[TimestampText, doc("End of the time range, exclusive", "2026-11-20T09:30:00.000000Z")]
    interval: Annotated[Interval, doc("Length of an entry of `series`", "day")]
    timezone: Annotated[str, doc("Time zone of the intervals", "UTC")]
    clicks: Annotated[int, doc("Number of clicks by people, including QR code scans", 59)]
    visitors: Annotated[int, doc("Number of unique visitors. A visitor counts once per UTC day.", 51)]
    scans: Annotated[int, doc("Number of QR code scans, included in `clicks`", 3)]
    crawlers: Annotated[int, doc("Number of visits by crawlers, not included in `clicks`", 12)]
    previews: Annotated[int, doc("Number of requests for link previews, not included in `clicks`", 9)]
    first_clicked_at: Annotated[
        TimestampText | None, doc("First click in the time range; null if there is none", "2026-11-19T00:14:09.215000Z")
    ]
    last_clicked_at: Annotated[
        TimestampText | None, doc("Last click in the time range; null if there is none", "2026-11-20T09:28:51.030000Z")
    ]
    series: Annotated[
        list[StatsEntryJson],
        doc(
            "Numbers for each interval of the time range",
            {"at": "2026-11-20T00:00:00.000000Z", "clicks": 18, "scans": 1, "visitors": 15},
        ),
    ]
    countries: Annotated[
        list[ValueCountJson], doc("Clicks by country code, the 50 most frequent", {"clicks": 21, "value": "FR"})
    ]
    referrers: Annotated[
        list[ValueCountJson],
        doc("Clicks by referrer, the 50 most frequent", [{"clicks": 40, "value": "https://news.example/today"}]),
    ]
    devices: Annotated[
        list[ValueCountJson],
        doc("Clicks by device type", [{"clicks": 33, "value": "mobile"}, {"clicks": 26, "value": "desktop"}]),
    ]
    browsers: Annotated[
        list[ValueCountJson],
        doc(
            "Clicks by browser family, the 50 most frequent",
            [{"clicks": 30, "value": "Firefox"}, {"clicks": 29, "value": "Chrome"}],
        ),
    ]
    platforms: Annotated[
        list[ValueCountJson],
        doc(
            "Clicks by operating system, the 50 most frequent",
            [{"clicks": 33, "value": "Android"}, {"clicks": 26, "value": "Windows"}],
        ),
    ]


class LinkStatsJson(StatsJson):
    link_id: Annotated[IdText, doc("ID of the link", "01a1fbb2-2855-72ee-8e77-c161c4205e89")]
    imported_clicks: Annotated[
        int,
        doc(
            "Clicks that another service counted before the link was imported, for all time and in no other"
            " number; 0 if there are none",
            0,
        ),
    ]
    targets: Annotated[
        list[ValueCountJson],
        doc(
            "Clicks by the name of the rule or variant that the visitor was sent to, or `default`",
            [{"clicks": 21, "value": "iPhone"}],
        ),
    ]


class AccountStatsJson(StatsJson):
    top_links: Annotated[list[TopLinkJson], doc("The 50 links with the most clicks")]


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


_TEXT = {"type": "string"}
_PARAMETERS = (
    *TIME_RANGE_PARAMETERS,
    parameter(
        "interval",
        {**_TEXT, "enum": list(get_args(Interval)), "default": DEFAULT_INTERVAL},
        "Length of one entry of the series",
    ),
    parameter(
        "timezone", {**_TEXT, "default": DEFAULT_ZONE}, "IANA name of the time zone of the series", "Europe/Berlin"
    ),
)


async def get(context: Context, caller: Caller, request: Request) -> Response:
    """Includes the most clicked links."""
    at = context.clock()
    query = read_stats_query(read_query(request), at)
    async with context.click_store.reader(context.db, caller.account.id) as reader:
        series = await read_series(reader, Subject(caller.account.id), query, at)
        lists = await read_lists(reader, series, shared_domain=context.shared_domain)
    return data({**to_json(query, series, lists), "top_links": top_links_to_json(lists)})


async def stats(context: Context, caller: Caller, link_id: UUID, request: Request) -> Response:
    """Clicks, visitors and scans over time, with countries, referrers, devices, browsers, platforms and targets."""
    at = context.clock()
    query = read_stats_query(read_query(request), at)
    async with context.click_store.reader(context.db, caller.account.id) as reader:
        async with reader.transaction() as tx:
            await links.require_exists(tx, caller.account.id, link_id)
            imported = await links.find_imported_clicks(tx, [link_id])
        series = await read_series(reader, Subject(caller.account.id, link_id), query, at)
        lists = await read_lists(reader, series, shared_domain=context.shared_domain)
    of_link = {"imported_clicks": imported.get(link_id, 0), "targets": targets_to_json(lists)}
    return data({"link_id": str(link_id), **to_json(query, series, lists), **of_link})


ENDPOINTS = [
    Endpoint(
        "GET",
        "/stats",
        get,
        "Get statistics of all links",
        "links:read",
        Data[AccountStatsJson],
        tag="clicks",
        parameters=_PARAMETERS,
    ),
    Endpoint(
        "GET",
        "/links/{id}/stats",
        stats,
        "Get a link's statistics",
        "links:read",
        Data[LinkStatsJson],
        tag="clicks",
        parameters=_PARAMETERS,
    ),
]
