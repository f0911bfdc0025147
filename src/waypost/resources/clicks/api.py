"""JSON endpoints of clicks."""

from collections.abc import Collection
from datetime import datetime
from typing import get_args
from uuid import UUID

from starlette.requests import Request

from waypost.accounts import Caller
from waypost.context import Context
from waypost.kit.errors import Problems
from waypost.kit.pagination import Page, PageRequest
from waypost.resources.clicks import filters, listing
from waypost.resources.clicks.filters import ACCOUNT_FILTERS, FILTER_TEXTS, LINK_FILTERS, ClickFilter, FilterName
from waypost.resources.clicks.model import HUMAN
from waypost.resources.clicks.parameters import ClickKindFilter, check_names, read_click_filter
from waypost.resources.clicks.schemas import ClickJson, to_json
from waypost.web import PAGING, Endpoint, Paginated, parameter, read_pagination, read_query
from waypost.web.openapi.parameters import Schema

_TEXT = {"type": "string"}
TIME_RANGE_PARAMETERS = (
    parameter("from", {**_TEXT, "format": "date-time"}, "Start of the time range", "2026-11-01T00:00:00Z"),
    parameter("to", {**_TEXT, "format": "date-time"}, "End of the time range, exclusive", "2026-12-01T00:00:00Z"),
)


def filter_parameters(names: Collection[FilterName]) -> list[Schema]:
    found = []
    for name in names:
        text, example = FILTER_TEXTS[name]
        described = parameter(name, {"type": "array", "items": _TEXT}, f"{text}; `-` before one excludes it", [example])
        found.append({**described, "style": "form", "explode": True})
    return found


_PARAMETERS = (
    *TIME_RANGE_PARAMETERS,
    parameter(
        "kind",
        {**_TEXT, "enum": list(get_args(ClickKindFilter)), "default": HUMAN},
        "Kind of visit; only `human` visits count as clicks",
    ),
)
_NAMES = ("page", "per_page", "from", "to", "kind")


async def list_(context: Context, caller: Caller, request: Request) -> Page[ClickJson]:
    """Lists clicks of all links, newest first. Bots and link previews are not clicks; request them by `kind`.

    Filters are combined with AND. The values of one filter are alternatives: repeat it, or separate values with commas
    where these cannot be part of one (`country`, `device`, `browser`, `platform`, `link_id`, `hostname`).
    """
    click_filter, page_request = _read_query(request, ACCOUNT_FILTERS, context.clock())
    return (await listing.list_clicks(context, caller, click_filter, page_request)).map(to_json)


async def clicks(context: Context, caller: Caller, link_id: UUID, request: Request) -> Page[ClickJson]:
    """Lists clicks newest first. Filters are those of all clicks, without those that select links."""
    click_filter, page_request = _read_query(request, LINK_FILTERS, context.clock())
    return (await listing.list_link_clicks(context, caller, link_id, click_filter, page_request)).map(to_json)


def _read_query(request: Request, names: Collection[FilterName], at: datetime) -> tuple[ClickFilter, PageRequest]:
    query, problems = read_query(request), Problems()
    check_names(query, [*_NAMES, *names], problems)
    filters.check_link_ids(request.query_params.multi_items(), names, problems)
    parameters = read_click_filter(query, names, problems, at), read_pagination(request, problems)
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
        parameters=(*PAGING, *_PARAMETERS, *filter_parameters(ACCOUNT_FILTERS)),
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
        parameters=(*PAGING, *_PARAMETERS, *filter_parameters(LINK_FILTERS)),
    ),
]
