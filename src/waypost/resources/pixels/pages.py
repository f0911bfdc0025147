"""HTML pages of pixels."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from waypost.auth.sessions import Session
from waypost.kit.errors import Invalid, PaymentRequired
from waypost.kit.fields import parse
from waypost.resources.pixels import service
from waypost.resources.pixels.deps import Deps
from waypost.resources.pixels.model import Pixel
from waypost.resources.pixels.platforms import PLATFORM_HINTS, is_usual_id
from waypost.resources.pixels.schemas import NewPixel, PixelChange
from waypost.web import page_request, path_id
from waypost.web.dashboard import Form, SessionAuth, Views, read_form

_ALL = "/pixels"
_ONE = "/pixels/{id}"
_PER_PAGE = 25
_SECRETS = ("pixel_id", "access_token")
_UNUSUAL = "This does not look like an ID of {name}, and {name} may ignore it. {id_format}"


def endpoints(deps: Deps, auth: SessionAuth, views: Views) -> list[Route]:
    pages = _Pages(deps, auth, views)
    return [
        Route(_ALL, pages.browse, methods=["GET"]),
        Route(f"{_ALL}/new", pages.new, methods=["GET"]),
        Route(f"{_ALL}/new", pages.create, methods=["POST"]),
        Route(_ONE, pages.show, methods=["GET"]),
        Route(_ONE, pages.change, methods=["POST"]),
        Route(f"{_ONE}/delete", pages.ask_to_delete, methods=["GET"]),
        Route(f"{_ONE}/delete", pages.delete, methods=["POST"]),
    ]


@dataclass(frozen=True, slots=True)
class _Pages:
    deps: Deps
    auth: SessionAuth
    views: Views

    async def browse(self, request: Request) -> Response:
        session = await self.auth.session(request)
        found = await service.browse(self.deps, session, replace(page_request(request), per_page=_PER_PAGE))
        counts = await service.count_links(self.deps, found.items)
        notice = "Pixel deleted." if "deleted" in request.query_params else ""
        return self._page(request, "list", page=found, counts=counts, notice=notice)

    async def new(self, request: Request) -> Response:
        await self.auth.session(request)
        return self._page(request, "new", form=Form({"platform": "facebook"}))

    async def create(self, request: Request) -> Response:
        session = await self.auth.session(request)
        form = await read_form(request)
        new, problems = parse(NewPixel, form.fields)
        if not self.auth.has_active_plan(session):
            return self._page(request, "new", 402, form=form.with_errors({"body": [PaymentRequired().message]}))
        warning = _id_warning(form, new.platform, new.pixel_id)
        if warning and not problems:
            return self._page(request, "new", 422, form=form, warning=warning)
        try:
            pixel = await service.create(self.deps, session, new, problems)
        except Invalid as error:
            return self._page(request, "new", 422, form=form.with_errors(error.errors))
        return RedirectResponse(f"/pixels/{pixel.id}?saved=1", 303)

    async def show(self, request: Request) -> Response:
        session, pixel = await self._find(request)
        form = Form({"platform": pixel.platform, "name": pixel.name})
        notice = "Changes saved." if "saved" in request.query_params else ""
        return await self._one(request, session, pixel, form, notice=notice)

    async def change(self, request: Request) -> Response:
        session, pixel = await self._find(request)
        form = await read_form(request)
        if not self.auth.has_active_plan(session):
            unpaid = form.with_errors({"body": [PaymentRequired().message]})
            return await self._one(request, session, pixel, unpaid, status=402)
        change, problems = parse(PixelChange, _changes(form))
        warning = _id_warning(form, change.platform or pixel.platform, change.pixel_id)
        if warning and not problems:
            return await self._one(request, session, pixel, form, status=422, warning=warning)
        try:
            await service.change(self.deps, session, pixel.id, change, problems)
        except Invalid as error:
            return await self._one(request, session, pixel, form.with_errors(error.errors), status=422)
        return RedirectResponse(f"/pixels/{pixel.id}?saved=1", 303)

    async def ask_to_delete(self, request: Request) -> Response:
        _, pixel = await self._find(request)
        return self._page(request, "delete", pixel=pixel, count=await self._count(pixel))

    async def delete(self, request: Request) -> Response:
        session = await self.auth.session(request)
        await service.delete(self.deps, session, await path_id(request.path_params["id"]))
        return RedirectResponse("/pixels?deleted=1", 303)

    async def _find(self, request: Request) -> tuple[Session, Pixel]:
        session = await self.auth.session(request)
        return session, await service.find(self.deps, session, await path_id(request.path_params["id"]))

    async def _count(self, pixel: Pixel) -> int:
        counts: Mapping[UUID, int] = await service.count_links(self.deps, [pixel])
        return counts[pixel.id]

    async def _one(
        self, request: Request, session: Session, pixel: Pixel, form: Form, *, status: int = 200, **context: Any
    ) -> Response:
        results = await service.results(self.deps, session, pixel.id)
        count = await self._count(pixel)
        return self._page(request, "one", status, form=form, pixel=pixel, results=results, count=count, **context)

    def _page(self, request: Request, name: str, status: int = 200, **context: Any) -> Response:
        shared = {"hints": PLATFORM_HINTS, "counted_to": service.COUNTED_TO, "warning": ""}
        return self.views.page(request, f"pixels/{name}.html", status=status, **shared | context)


def _id_warning(form: Form, platform: str | None, pixel_id: str | None) -> str:
    """Shown once: the form can be sent again with the same ID."""
    if platform is None or pixel_id is None or form.is_checked("sure") or is_usual_id(platform, pixel_id.strip()):
        return ""
    hint = PLATFORM_HINTS[platform]  # type: ignore[index]  # parsed
    return _UNUSUAL.format(name=hint.name, id_format=hint.id_format)


def _changes(form: Form) -> dict[str, Any]:
    """A secret left blank does not change, because the form does not show it."""
    sent = {name: value or "" for name, value in form.fields.items() if name not in _SECRETS or value is not None}
    return sent | ({"access_token": None} if form.is_checked("forget_token") else {})
