"""Statistics as JSON, and their endpoints."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, NamedTuple, NotRequired, get_args
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from waypost.accounts import Caller
from waypost.context import Context
from waypost.kit.clock import timestamp
from waypost.kit.docs import doc
from waypost.kit.errors import Problems
from waypost.kit.fields import IdText, TimestampText
from waypost.kit.timezones import UTC_NAME
from waypost.resources import links
from waypost.resources.clicks.api import TIME_RANGE_PARAMETERS, filter_parameters
from waypost.resources.clicks.filters import ACCOUNT_FILTERS, LINK_FILTERS, FilterName, check_link_ids
from waypost.resources.clicks.model import Subject
from waypost.resources.clicks.parameters import check_choice
from waypost.resources.clicks.stats import csv_rows
from waypost.resources.clicks.stats.query import (
    DEFAULT_INTERVAL,
    Comparison,
    Interval,
    StatsQuery,
    read_stats_query,
)
from waypost.resources.clicks.stats.read import ACCOUNT_LISTS, HOURS, LINK_LISTS, Statistics, StatsList, read_statistics
from waypost.resources.clicks.store import ClickReader
from waypost.web import Data, Endpoint, data, parameter, read_query
from waypost.web.openapi.parameters import Schema

_CLICKS = "Number of clicks by people, including QR code scans"
_VISITORS = (
    "Number of unique visitors. A visitor counts once per UTC day. Null for several links on days whose clicks were"
    " deleted"
)
_VISITORS_OF_VALUE = "Number of unique visitors, if `visitors=true` was sent; null if clicks of some days were deleted"


class StatsEntryJson(TypedDict):
    at: Annotated[TimestampText, doc("Start of the interval, in UTC", "2026-11-19T00:00:00.000000Z")]
    clicks: Annotated[int, doc(_CLICKS, 41)]
    visitors: Annotated[int | None, doc(_VISITORS, 36)]
    scans: Annotated[int, doc("Number of QR code scans, included in `clicks`", 2)]


class ValueCountJson(TypedDict):
    value: Annotated[str, doc("Value", "DE")]
    clicks: Annotated[int, doc(_CLICKS, 38)]
    visitors: NotRequired[Annotated[int | None, doc(_VISITORS_OF_VALUE, 30)]]


ValueCountsJson = list[ValueCountJson]


def _by(what: str, example: object) -> Any:
    return doc(f"Clicks by {what}, the 50 most frequent", example)


class TopLinkJson(TypedDict):
    link_id: Annotated[IdText, doc("ID of the link", "01a1fbb2-2855-72ee-8e77-c161c4205e89")]
    short_url: Annotated[str | None, doc("Short URL of the link; null for a deleted link", "go.example.com/spring")]
    title: Annotated[str | None, doc("Title of the link; null for a deleted link", "Pricing")]
    clicks: Annotated[int, doc(_CLICKS, 44)]
    visitors: NotRequired[Annotated[int | None, doc(_VISITORS_OF_VALUE, 40)]]


class HourJson(TypedDict):
    weekday: Annotated[int, doc("Day of the week, from 1 for Monday to 7", 4)]
    hour: Annotated[int, doc("Hour of the day, from 0 to 23, in the time zone of the intervals", 9)]
    clicks: Annotated[int, doc(_CLICKS, 12)]


_PreviousFrom = TypedDict(
    "_PreviousFrom",
    {"from": Annotated[TimestampText, doc("Start of the earlier time range", "2026-11-17T00:00:00.000000Z")]},
)


class PreviousStatsJson(_PreviousFrom):
    to: Annotated[TimestampText, doc("End of the earlier time range, exclusive", "2026-11-18T09:30:00.000000Z")]
    clicks: Annotated[int, doc(_CLICKS, 52)]
    visitors: Annotated[int | None, doc(_VISITORS, 47)]
    scans: Annotated[int, doc("Number of QR code scans, included in `clicks`", 1)]
    series: Annotated[
        list[StatsEntryJson],
        doc(
            "Numbers for each interval of the earlier time range",
            {"at": "2026-11-18T00:00:00.000000Z", "clicks": 15, "scans": 0, "visitors": 14},
        ),
    ]


_From = TypedDict(
    "_From", {"from": Annotated[TimestampText, doc("Start of the time range", "2026-11-19T00:00:00.000000Z")]}
)


class StatsJson(_From):
    to: Annotated[TimestampText, doc("End of the time range, exclusive", "2026-11-20T09:30:00.000000Z")]
    interval: Annotated[Interval, doc("Length of an entry of `series`", "day")]
    timezone: Annotated[str, doc("Time zone of the intervals", "UTC")]
    clicks: Annotated[int, doc(_CLICKS, 59)]
    visitors: Annotated[int | None, doc(_VISITORS, 51)]
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
    countries: Annotated[ValueCountsJson, _by("country code", {"clicks": 21, "value": "FR"})]
    referrers: Annotated[ValueCountsJson, _by("referrer", [{"clicks": 40, "value": "https://news.example/today"}])]
    devices: Annotated[
        ValueCountsJson,
        doc("Clicks by device type", [{"clicks": 33, "value": "mobile"}, {"clicks": 26, "value": "desktop"}]),
    ]
    browsers: Annotated[
        ValueCountsJson, _by("browser family", [{"clicks": 30, "value": "Firefox"}, {"clicks": 29, "value": "Chrome"}])
    ]
    platforms: Annotated[
        ValueCountsJson,
        _by("operating system", [{"clicks": 33, "value": "Android"}, {"clicks": 26, "value": "Windows"}]),
    ]
    hours: Annotated[
        list[HourJson],
        doc(
            "Clicks by hour of the week, without hours that have no clicks",
            [{"weekday": 4, "hour": 9, "clicks": 12}, {"weekday": 4, "hour": 17, "clicks": 9}],
        ),
    ]
    previous: NotRequired[
        Annotated[PreviousStatsJson, doc("The earlier time range, if `compare` was sent: cut at the same time of day")]
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
        ValueCountsJson,
        doc(
            "Clicks by the name of the rule or variant that the visitor was sent to, or `default`",
            [{"clicks": 21, "value": "iPhone"}],
        ),
    ]


class AccountStatsJson(StatsJson):
    top_links: Annotated[list[TopLinkJson], doc("The 50 links with the most clicks")]
    tags: Annotated[ValueCountsJson, _by("tag of the link", {"clicks": 35, "value": "spring"})]
    hostnames: Annotated[ValueCountsJson, _by("hostname of the link", {"clicks": 59, "value": "go.example.com"})]
    utm_sources: Annotated[ValueCountsJson, _by("UTM source of the link", {"clicks": 22, "value": "newsletter"})]
    utm_mediums: Annotated[ValueCountsJson, _by("UTM medium of the link", {"clicks": 22, "value": "email"})]
    utm_campaigns: Annotated[ValueCountsJson, _by("UTM campaign of the link", {"clicks": 22, "value": "spring"})]


def to_json(query: StatsQuery, statistics: Statistics, lists: Mapping[str, StatsList]) -> dict[str, Any]:
    """`lists`: those to show, by their names in JSON."""
    total = statistics.total
    found: dict[str, Any] = {
        "from": timestamp(query.range.start),
        "to": timestamp(query.range.end),
        "interval": query.interval,
        "timezone": query.timezone,
        **total.metrics,
        "crawlers": total.crawlers,
        "previews": total.previews,
        "first_clicked_at": timestamp(total.first_at) if total.first_at else None,
        "last_clicked_at": timestamp(total.last_at) if total.last_at else None,
        "series": _series(query, statistics),
        **{name: _list(query, statistics, list_) for name, list_ in lists.items()},
    }
    if query.comparison and statistics.previous:
        start, end = map(timestamp, query.comparison.range)
        series = _series(query.comparison, statistics.previous)
        found["previous"] = {"from": start, "to": end, **statistics.previous.total.metrics, "series": series}
    return found


def _series(query: StatsQuery, statistics: Statistics) -> list[dict[str, Any]]:
    points = zip(query.buckets, statistics.points, strict=True)
    return [{"at": timestamp(bucket.at), **point.metrics} for bucket, point in points]


def _list(query: StatsQuery, statistics: Statistics, name: StatsList) -> list[dict[str, Any]]:
    if name == HOURS:
        return [each._asdict() for each in statistics.hours]
    return [
        {
            **(_link(statistics, each.value) if name == "link" else {"value": each.value}),
            "clicks": each.clicks,
            **({"visitors": each.visitors} if query.has_visitors else {}),
        }
        for each in statistics.lists[name]
    ]


def _link(statistics: Statistics, value: str) -> dict[str, str | None]:
    link_id = UUID(value)
    short_url, title = statistics.names.get(link_id, (None, None))
    return {"link_id": str(link_id), "short_url": short_url, "title": title}


_TEXT = {"type": "string"}
_PARAMETERS = (
    *TIME_RANGE_PARAMETERS,
    parameter(
        "interval",
        {**_TEXT, "enum": list(get_args(Interval)), "default": DEFAULT_INTERVAL},
        "Length of one entry of the series",
    ),
    parameter("timezone", {**_TEXT, "default": UTC_NAME}, "IANA name of the time zone of the series", "Europe/Berlin"),
    parameter(
        "compare",
        {**_TEXT, "enum": list(get_args(Comparison))},
        "Adds `previous`: the period before, as many days earlier, or the same dates a year earlier",
    ),
    parameter("visitors", {"type": "boolean", "default": False}, "Adds the visitors of each entry to lists", True),
)


def _list_parameter(lists: Collection[str]) -> Schema:
    text = f"With `Accept: text/csv`, the list to return in place of the series: {', '.join(lists)}"
    return {**parameter("list", _TEXT, text, "countries"), "x-media-type": "text/csv"}


class _StatsRequest(NamedTuple):
    query: StatsQuery
    lists: Mapping[str, StatsList]
    """Those to read, by name."""
    is_csv: bool


def _read_request(
    request: Request, filters: Collection[FilterName], lists: Mapping[str, StatsList], now: datetime
) -> _StatsRequest:
    """Raises Invalid."""
    parameters, problems = read_query(request), Problems()
    is_csv, name = prefers_csv(request.headers.get("accept", "")), parameters.get("list")
    if name is not None and not is_csv:
        problems.add("list", "Only files have one list: send the header `Accept: text/csv` with it.")
    elif name is not None:
        check_choice("list", name, lists, problems)
    check_link_ids(request.query_params.multi_items(), filters, problems)
    query = read_stats_query(parameters, filters, problems, now)
    if not is_csv:
        return _StatsRequest(query, lists, is_csv)
    return _StatsRequest(replace(query, comparison=None), {name: lists[name]} if name else {}, is_csv)


def prefers_csv(accept: str) -> bool:
    """Return whether a header `Accept` prefers CSV to JSON. A name is preferred to a wildcard."""
    qualities: dict[str, float] = {}
    for text in accept.split(","):
        name, *parameters = (part.strip().lower() for part in text.split(";"))
        quality = next((part[2:] for part in parameters if part.startswith("q=")), "1")
        qualities[name] = float(quality) if re.fullmatch(r"[01](\.\d{1,3})?", quality, re.ASCII) else 0
    csv = qualities.get("text/csv", 0)
    return csv > qualities.get("application/json", 0) and csv >= qualities.get("*/*", 0)


async def _respond(
    context: Context, subject: Subject, sent: _StatsRequest, now: datetime, reader: ClickReader, **more: Any
) -> Response:
    """`more`: what JSON has besides."""
    query, lists, shared_domain = sent.query, sent.lists, context.shared_domain
    limit = csv_rows.MAX_ROWS + 1 if sent.is_csv and lists else None
    found = await read_statistics(
        reader, subject, query, now, shared_domain=shared_domain, lists=lists.values(), limit=limit
    )
    if not sent.is_csv:
        response: Response = data(more | to_json(query, found, lists))
    else:
        name, list_ = next(iter(lists.items()), ("statistics", None))
        headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
        content = await csv_rows.to_csv(query, found, list_)
        response = Response(content, media_type="text/csv; charset=utf-8", headers=headers)
    response.headers["Vary"] = "Accept"
    return response


async def get(context: Context, caller: Caller, request: Request) -> Response:
    """Includes the most clicked links, and clicks by tag, hostname and campaign of the links.

    All numbers follow the filters, which are those of lists of clicks. A time range with too many clicks to count, or
    with clicks that were deleted, is an error on `from` that names a later start. With the header `Accept: text/csv`,
    the answer is the series as CSV, or all values of a `list`.
    """
    now = context.clock()
    sent = _read_request(request, ACCOUNT_FILTERS, ACCOUNT_LISTS, now)
    async with context.click_store.reader(context.db, caller.account.id) as reader:
        return await _respond(context, Subject(caller.account.id), sent, now, reader)


async def stats(context: Context, caller: Caller, link_id: UUID, request: Request) -> Response:
    """Clicks, visitors and scans over time, with countries, referrers, devices, browsers, platforms and targets.

    Filters, errors and files are those of the statistics of all links; filters that select links are not accepted.
    """
    now = context.clock()
    sent = _read_request(request, LINK_FILTERS, LINK_LISTS, now)
    async with context.click_store.reader(context.db, caller.account.id) as reader:
        async with reader.transaction() as tx:
            await links.require_exists(tx, caller.account.id, link_id)
            imported = await links.find_imported_clicks(tx, [link_id])
        of_link = {"link_id": str(link_id), "imported_clicks": imported.get(link_id, 0)}
        return await _respond(context, Subject(caller.account.id, link_id), sent, now, reader, **of_link)


_CSV = "at,clicks,visitors,scans\r\n2026-11-20T00:00:00.000000Z,18,15,1\r\n"

ENDPOINTS = [
    Endpoint(
        "GET",
        "/stats",
        get,
        "Get statistics of all links",
        "links:read",
        Data[AccountStatsJson],
        tag="clicks",
        parameters=(*_PARAMETERS, _list_parameter(ACCOUNT_LISTS), *filter_parameters(ACCOUNT_FILTERS)),
        errors=[404],
        csv=_CSV,
    ),
    Endpoint(
        "GET",
        "/links/{id}/stats",
        stats,
        "Get a link's statistics",
        "links:read",
        Data[LinkStatsJson],
        tag="clicks",
        parameters=(*_PARAMETERS, _list_parameter(LINK_LISTS), *filter_parameters(LINK_FILTERS)),
        csv=_CSV,
    ),
]
