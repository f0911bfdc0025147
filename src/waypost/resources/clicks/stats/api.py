"""JSON endpoints of statistics."""

from typing import get_args
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from waypost.accounts import Caller
from waypost.context import Context
from waypost.resources import links
from waypost.resources.clicks.api import TIME_RANGE_PARAMETERS
from waypost.resources.clicks.model import Subject
from waypost.resources.clicks.stats.query import DEFAULT_INTERVAL, DEFAULT_ZONE, Interval, read_stats_query
from waypost.resources.clicks.stats.read import read_lists, read_series
from waypost.resources.clicks.stats.schemas import (
    AccountStatsJson,
    LinkStatsJson,
    targets_to_json,
    to_json,
    top_links_to_json,
)
from waypost.web import Data, Endpoint, data, parameter, read_query

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
