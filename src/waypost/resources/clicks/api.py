"""JSON endpoints of clicks."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from waypost.auth import Caller
from waypost.database import Database
from waypost.kit.clock import Clock, now
from waypost.kit.errors import Problems
from waypost.kit.pagination import Page, PageRequest
from waypost.resources.clicks import listing
from waypost.resources.clicks.filters import (
    ALL,
    DEVICES,
    FILTERS,
    TEXT_SCHEMA,
    UNKNOWN,
    ClickFilter,
    check_names,
    read_filter,
    read_link_id,
)
from waypost.resources.clicks.model import HUMAN, KINDS, Click
from waypost.resources.clicks.schemas import ClickJson, to_json
from waypost.web import (
    PAGING,
    PREFIX,
    Guard,
    Paginated,
    error_responses,
    paginated,
    parameter,
    path_id,
    query_parameters,
    read_pagination,
    read_query,
)

_TEXT = {"type": "string"}
TIME_RANGE_PARAMETERS = (
    parameter("from", {**_TEXT, "format": "date-time"}, "Start of the time range"),
    parameter("to", {**_TEXT, "format": "date-time"}, "End of the time range, exclusive"),
)
_PARAMETERS = (
    *TIME_RANGE_PARAMETERS,
    parameter(
        "country",
        {**_TEXT, "pattern": f"^([A-Za-z][A-Za-z0-9]|{UNKNOWN['country']})$"},
        f"Two-letter country code, or `{UNKNOWN['country']}`",
    ),
    parameter("device", {**_TEXT, "enum": list(DEVICES)}, "Type of device"),
    parameter("browser", TEXT_SCHEMA, "Browser family"),
    parameter("platform", TEXT_SCHEMA, "Operating system family"),
    parameter("referrer", TEXT_SCHEMA, f"Origin and path of the referring page, or `{UNKNOWN['referrer']}`"),
    parameter("kind", {**_TEXT, "enum": [*KINDS, ALL], "default": HUMAN}, "Kind of visitor; only people are clicks"),
)

_OF_LINK = "/links/{id}/clicks"
_OF_ONE = ("page", "per_page", *FILTERS)
_OF_ALL = ("page", "per_page", "link_id", *FILTERS)
_LINK_ID = parameter("link_id", {"type": "string", "format": "uuid"}, "Clicks of this link only")


def endpoints(db: Database, guard: Guard, *, base_url: str, clock: Clock = now) -> APIRouter:
    router = APIRouter(prefix=PREFIX, tags=["clicks"])
    reader = Annotated[Caller, Depends(guard.allow("links:read"))]
    id_of_path = Annotated[UUID, Depends(path_id)]

    def answer(page: Page[Click], request: Request) -> Response:
        return paginated(page.map(to_json), request, base_url)

    @router.get(
        "/clicks",
        summary="List clicks",
        response_model=Paginated[ClickJson],
        responses=error_responses(404),
        openapi_extra=query_parameters(*PAGING, _LINK_ID, *_PARAMETERS),
    )
    async def browse(caller: reader, request: Request) -> Response:
        """Of all links, newest first. Bots and link previews are not clicks; request them by `kind`."""
        problems = Problems()
        link_id = read_link_id(read_query(request), problems)
        parameters = _read_query(request, _OF_ALL, problems, clock())
        if link_id is None:
            return answer(await listing.browse(db, caller, *parameters), request)
        return answer(await listing.browse_link(db, caller, link_id, *parameters), request)

    @router.get(
        _OF_LINK,
        summary="List a link's clicks",
        response_model=Paginated[ClickJson],
        openapi_extra=query_parameters(*PAGING, *_PARAMETERS),
    )
    async def browse_link(caller: reader, link_id: id_of_path, request: Request) -> Response:
        """Newest first, with the same filters."""
        parameters = _read_query(request, _OF_ONE, Problems(), clock())
        return answer(await listing.browse_link(db, caller, link_id, *parameters), request)

    return router


def _read_query(
    request: Request, names: tuple[str, ...], problems: Problems, at: datetime
) -> tuple[ClickFilter, PageRequest]:
    query = read_query(request)
    check_names(query, names, problems)
    parameters = read_filter(query, problems, at), read_pagination(request, problems)
    problems.raise_if_any()
    return parameters
