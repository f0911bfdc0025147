"""Lists of clicks over JSON. Thin: reads the request, calls a verb, shows the clicks."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from waypost.auth import Caller
from waypost.database import Database
from waypost.kit.clock import Clock, now
from waypost.kit.errors import Problems
from waypost.kit.pagination import Page, PageRequest
from waypost.resources.clicks import openapi, service
from waypost.resources.clicks.filters import FILTERS, only, read_filters, read_link_id
from waypost.resources.clicks.model import Click
from waypost.resources.clicks.pages import Filters
from waypost.resources.clicks.schemas import shown
from waypost.web import PREFIX, Guard, Json, paginated, path_id, read_page

_OF_LINK = "/links/{id}/clicks"
_OF_ONE = ("page", "per_page", *FILTERS)
_OF_ALL = ("page", "per_page", "link_id", *FILTERS)


def routes(db: Database, guard: Guard, *, base_url: str, clock: Clock = now) -> APIRouter:
    router = APIRouter(prefix=PREFIX, tags=["clicks"])
    reader = Annotated[Caller, Depends(guard.allow("links:read"))]
    id_of_path = Annotated[UUID, Depends(path_id)]

    def answer(page: Page[Click], request: Request) -> Json:
        return Json(paginated(page.map(shown), request, base_url))

    @router.get("/clicks", **openapi.BROWSE)
    async def browse(caller: reader, request: Request) -> Response:
        problems = Problems()
        link_id = read_link_id(request, problems)
        asked = _asked(request, _OF_ALL, problems, clock())
        if link_id is None:
            return answer(await service.browse(db, caller, *asked), request)
        return answer(await service.browse_link(db, caller, link_id, *asked), request)

    @router.get(_OF_LINK, **openapi.BROWSE_LINK)
    async def browse_link(caller: reader, link_id: id_of_path, request: Request) -> Response:
        asked = _asked(request, _OF_ONE, Problems(), clock())
        return answer(await service.browse_link(db, caller, link_id, *asked), request)

    return router


def _asked(request: Request, names: tuple[str, ...], problems: Problems, at: datetime) -> tuple[Filters, PageRequest]:
    only(request, names, problems)
    asked = read_filters(request, problems, at), read_page(request, problems)
    problems.raise_if_any()
    return asked
