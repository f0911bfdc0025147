"""JSON endpoints of clicks."""

from datetime import datetime
from typing import get_args
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from waypost.accounts import Caller
from waypost.context import Context
from waypost.kit.errors import Problems
from waypost.kit.pagination import PageRequest
from waypost.resources.clicks import listing
from waypost.resources.clicks.filters import (
    DEVICES,
    FILTERS,
    TEXT_SCHEMA,
    UNKNOWN,
    ClickFilter,
    ClickKindFilter,
    check_names,
    read_filter,
    read_link_id,
)
from waypost.resources.clicks.model import HUMAN
from waypost.resources.clicks.schemas import ClickJson, to_json
from waypost.web import PAGING, Endpoint, Paginated, paginated, parameter, read_pagination, read_query

_TEXT = {"type": "string"}
TIME_RANGE_PARAMETERS = (
    parameter("from", {**_TEXT, "format": "date-time"}, "Start of the time range", "2026-11-01T00:00:00Z"),
    parameter("to", {**_TEXT, "format": "date-time"}, "End of the time range, exclusive", "2026-12-01T00:00:00Z"),
)
_PARAMETERS = (
    *TIME_RANGE_PARAMETERS,
    parameter(
        "country",
        {**_TEXT, "pattern": f"^([A-Za-z][A-Za-z0-9]|{UNKNOWN['country']})$"},
        f"Two-letter country code, or `{UNKNOWN['country']}`",
        "DE",
    ),
    parameter("device", {**_TEXT, "enum": list(DEVICES)}, "Type of device"),
    parameter("browser", TEXT_SCHEMA, "Browser family", "Firefox"),
    parameter("platform", TEXT_SCHEMA, "Operating system family", "Android"),
    parameter(
        "referrer",
        TEXT_SCHEMA,
        f"Origin and path of the referring page, or `{UNKNOWN['referrer']}`",
        "https://news.example/today",
    ),
    parameter(
        "kind",
        {**_TEXT, "enum": list(get_args(ClickKindFilter)), "default": HUMAN},
        "Kind of visit; only `human` visits count as clicks",
    ),
)

_LINK_CLICKS_PARAMETERS = ("page", "per_page", *FILTERS)
_CLICKS_PARAMETERS = ("page", "per_page", "link_id", *FILTERS)
_LINK_ID = parameter(
    "link_id", {"type": "string", "format": "uuid"}, "Clicks of this link only", "01a1fbb2-2855-72ee-8e77-c161c4205e89"
)


async def list_(context: Context, caller: Caller, request: Request) -> Response:
    """Lists clicks of all links, newest first. Bots and link previews are not clicks; request them by `kind`."""
    problems = Problems()
    link_id = read_link_id(read_query(request), problems)
    parameters = _read_query(request, _CLICKS_PARAMETERS, problems, context.clock())
    if link_id is not None:
        return await _list_of_link(context, caller, link_id, parameters, request)
    page = await listing.list_clicks(context.db, context.click_store, caller, *parameters)
    return paginated(page.map(to_json), request, context.base_url)


async def clicks(context: Context, caller: Caller, link_id: UUID, request: Request) -> Response:
    """Lists clicks newest first, with the same filters."""
    parameters = _read_query(request, _LINK_CLICKS_PARAMETERS, Problems(), context.clock())
    return await _list_of_link(context, caller, link_id, parameters, request)


async def _list_of_link(
    context: Context, caller: Caller, link_id: UUID, parameters: tuple[ClickFilter, PageRequest], request: Request
) -> Response:
    page = await listing.list_link_clicks(context.db, context.click_store, caller, link_id, *parameters)
    return paginated(page.map(to_json), request, context.base_url)


def _read_query(
    request: Request, names: tuple[str, ...], problems: Problems, at: datetime
) -> tuple[ClickFilter, PageRequest]:
    query = read_query(request)
    check_names(query, names, problems)
    parameters = read_filter(query, problems, at), read_pagination(request, problems)
    problems.raise_if_any()
    return parameters


ENDPOINTS = [
    Endpoint(
        "GET",
        "/clicks",
        list_,
        "List clicks",
        "links:read",
        Paginated[ClickJson],
        parameters=(*PAGING, _LINK_ID, *_PARAMETERS),
        errors=[404],
    ),
    Endpoint(
        "GET",
        "/links/{id}/clicks",
        clicks,
        "List a link's clicks",
        "links:read",
        Paginated[ClickJson],
        tag="clicks",
        parameters=(*PAGING, *_PARAMETERS),
    ),
]
