"""JSON endpoints of statistics."""

from typing import Annotated, get_args

from fastapi import APIRouter, Depends, Request, Response

from waypost.accounts import Caller
from waypost.database import Database
from waypost.kit.clock import Clock, now
from waypost.resources import links
from waypost.resources.clicks.api import TIME_RANGE_PARAMETERS
from waypost.resources.clicks.click_store import ClickStore
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
from waypost.web import Data, Guard, PathId, data, new_router, parameter, query_parameters, read_query

_LINK_STATS_PATH = "/links/{id}/stats"
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


def endpoints(db: Database, store: ClickStore, guard: Guard, *, shared_domain: str, clock: Clock = now) -> APIRouter:
    router = new_router("stats")
    Reader = Annotated[Caller, Depends(guard.allow("links:read"))]  # noqa: N806  # a type

    @router.get(
        "/stats",
        name="get",
        summary="Get statistics of all links",
        response_model=Data[AccountStatsJson],
        openapi_extra=query_parameters(*_PARAMETERS),
    )
    async def of_account(caller: Reader, request: Request) -> Response:
        """Includes the most clicked links."""
        at = clock()
        query = read_stats_query(read_query(request), at)
        async with store.reader(db, caller.account.id) as reader:
            series = await read_series(reader, Subject(caller.account.id), query, at)
            lists = await read_lists(reader, series, shared_domain=shared_domain)
        return data({**to_json(query, series, lists), "top_links": top_links_to_json(lists)})

    @router.get(
        _LINK_STATS_PATH,
        operation_id="links_stats",
        summary="Get a link's statistics",
        response_model=Data[LinkStatsJson],
        openapi_extra=query_parameters(*_PARAMETERS),
    )
    async def of_link(caller: Reader, link_id: PathId, request: Request) -> Response:
        """Clicks, visitors and scans over time, with countries, referrers, devices, browsers, platforms and targets."""
        at = clock()
        query = read_stats_query(read_query(request), at)
        async with store.reader(db, caller.account.id) as reader:
            async with reader.transaction() as tx:
                await links.require_exists(tx, caller.account.id, link_id)
                imported = await links.find_imported_clicks(tx, [link_id])
            series = await read_series(reader, Subject(caller.account.id, link_id), query, at)
            lists = await read_lists(reader, series, shared_domain=shared_domain)
        of_link = {"imported_clicks": imported.get(link_id, 0), "targets": targets_to_json(lists)}
        return data({"link_id": str(link_id), **to_json(query, series, lists), **of_link})

    return router
