"""JSON endpoints of clicks."""

from datetime import datetime
from typing import Annotated, get_args

from fastapi import APIRouter, Depends, Request, Response

from waypost.accounts import Caller
from waypost.database import Database
from waypost.kit.clock import Clock, now
from waypost.kit.errors import Problems
from waypost.kit.pagination import Page, PageRequest
from waypost.resources.clicks import listing
from waypost.resources.clicks.click_store import ClickStore
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
from waypost.resources.clicks.model import HUMAN, Click
from waypost.resources.clicks.schemas import ClickJson, to_json
from waypost.web import (
    PAGING,
    Guard,
    Paginated,
    PathId,
    error_responses,
    new_router,
    paginated,
    parameter,
    query_parameters,
    read_pagination,
    read_query,
)

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

_LINK_CLICKS_PATH = "/links/{id}/clicks"
_LINK_CLICKS_PARAMETERS = ("page", "per_page", *FILTERS)
_CLICKS_PARAMETERS = ("page", "per_page", "link_id", *FILTERS)
_LINK_ID = parameter(
    "link_id", {"type": "string", "format": "uuid"}, "Clicks of this link only", "01a1fbb2-2855-72ee-8e77-c161c4205e89"
)


def endpoints(db: Database, store: ClickStore, guard: Guard, *, base_url: str, clock: Clock = now) -> APIRouter:
    router = new_router("clicks")
    Reader = Annotated[Caller, Depends(guard.allow("links:read"))]  # noqa: N806  # a type

    def paginated_clicks(page: Page[Click], request: Request) -> Response:
        return paginated(page.map(to_json), request, base_url)

    @router.get(
        "/clicks",
        name="list",
        summary="List clicks",
        response_model=Paginated[ClickJson],
        responses=error_responses(404),
        openapi_extra=query_parameters(*PAGING, _LINK_ID, *_PARAMETERS),
    )
    async def list_(caller: Reader, request: Request) -> Response:
        """Lists clicks of all links, newest first. Bots and link previews are not clicks; request them by `kind`."""
        problems = Problems()
        link_id = read_link_id(read_query(request), problems)
        parameters = _read_query(request, _CLICKS_PARAMETERS, problems, clock())
        if link_id is None:
            return paginated_clicks(await listing.list_clicks(db, store, caller, *parameters), request)
        return paginated_clicks(await listing.list_link_clicks(db, store, caller, link_id, *parameters), request)

    @router.get(
        _LINK_CLICKS_PATH,
        operation_id="links_clicks",
        summary="List a link's clicks",
        response_model=Paginated[ClickJson],
        openapi_extra=query_parameters(*PAGING, *_PARAMETERS),
    )
    async def list_of_link(caller: Reader, link_id: PathId, request: Request) -> Response:
        """Lists clicks newest first, with the same filters."""
        parameters = _read_query(request, _LINK_CLICKS_PARAMETERS, Problems(), clock())
        return paginated_clicks(await listing.list_link_clicks(db, store, caller, link_id, *parameters), request)

    return router


def _read_query(
    request: Request, names: tuple[str, ...], problems: Problems, at: datetime
) -> tuple[ClickFilter, PageRequest]:
    query = read_query(request)
    check_names(query, names, problems)
    parameters = read_filter(query, problems, at), read_pagination(request, problems)
    problems.raise_if_any()
    return parameters
