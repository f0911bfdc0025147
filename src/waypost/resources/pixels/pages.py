"""HTML pages of pixels."""

from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts.sessions.store import Session
from waypost.context import Context
from waypost.kit.errors import Invalid, PaymentRequired
from waypost.kit.fields import parse
from waypost.resources.pixels import service
from waypost.resources.pixels.model import Pixel
from waypost.resources.pixels.platforms import PLATFORM_HINTS, is_usual_id
from waypost.resources.pixels.schemas import NewPixel, PixelChange
from waypost.web import require_pagination, status_of
from waypost.web.dashboard import Form, Pages, get, post, read_form, redirect

_LIST_PATH = "/pixels"
_PATH = "/pixels/{id}"
_PER_PAGE = 25
_SECRETS = ("pixel_id", "access_token")
_UNUSUAL = "This does not look like a {name} pixel ID. {name} may ignore it. {id_format}."


class PixelPages(Pages[Context]):
    def endpoints(self) -> list[Route]:
        return [
            get(_LIST_PATH, self.list_pixels, "view"),
            get(f"{_LIST_PATH}/new", self.new, "pixels.write"),
            post(f"{_LIST_PATH}/new", self.create, "pixels.write"),
            get(_PATH, self.show, "view"),
            post(_PATH, self.change, "pixels.write"),
            get(f"{_PATH}/delete", self.confirm_delete, "pixels.write"),
            post(f"{_PATH}/delete", self.delete, "pixels.write"),
        ]

    async def list_pixels(self, request: Request) -> Response:
        session = await self._auth.require_session(request)
        pixels = await service.list_pixels(
            self._deps, session, replace(require_pagination(request), per_page=_PER_PAGE)
        )
        counts = await service.count_links_per_pixel(self._deps, [pixel.id for pixel in pixels.items])
        return self._render(request, "list", page=pixels, counts=counts)

    async def new(self, request: Request) -> Response:
        await self._auth.require_session(request)
        return self._render(request, "new", form=Form({"platform": "facebook"}))

    async def create(self, request: Request) -> Response:
        session, form = await self._read(request)
        new, problems = parse(NewPixel, form.fields)
        warning = _id_warning(form, new.platform, new.pixel_id)
        try:
            self._auth.require_active_plan(session)
            if warning and not problems:
                return self._render(request, "new", 422, form=form, warning=warning)
            pixel = await service.create(self._deps, session, new, problems)
        except (Invalid, PaymentRequired) as error:
            return self._render(request, "new", status_of(error), form=form.with_error(error))
        return redirect(f"/pixels/{pixel.id}", "pixel-created")

    async def show(self, request: Request) -> Response:
        session, pixel = await self._get(request)
        form = Form({"platform": pixel.platform, "name": pixel.name})
        return await self._render_pixel(request, session, pixel, form)

    async def change(self, request: Request) -> Response:
        session, pixel = await self._get(request)
        form = await read_form(request)
        change, problems = parse(PixelChange, _changes(form))
        warning = _id_warning(form, change.platform or pixel.platform, change.pixel_id)
        try:
            self._auth.require_active_plan(session)
            if warning and not problems:
                return await self._render_pixel(request, session, pixel, form, status=422, warning=warning)
            await service.change(self._deps, session, pixel.id, change, problems)
        except (Invalid, PaymentRequired) as error:
            refused, status = form.with_error(error), status_of(error)
            return await self._render_pixel(request, session, pixel, refused, status=status)
        return redirect(f"/pixels/{pixel.id}", "saved")

    async def confirm_delete(self, request: Request) -> Response:
        _, pixel = await self._get(request)
        return self._render(request, "delete", pixel=pixel, count=await self._count_links(pixel))

    async def delete(self, request: Request) -> Response:
        session = await self._auth.require_session(request)
        await service.delete(self._deps, session, self._path_id(request))
        return redirect("/pixels", "pixel-deleted")

    async def _get(self, request: Request) -> tuple[Session, Pixel]:
        session = await self._auth.require_session(request)
        return session, await service.get(self._deps, session, self._path_id(request))

    async def _count_links(self, pixel: Pixel) -> int:
        counts = await service.count_links_per_pixel(self._deps, [pixel.id])
        return counts[pixel.id]

    async def _render_pixel(
        self, request: Request, session: Session, pixel: Pixel, form: Form, *, status: int = 200, **context: Any
    ) -> Response:
        context["results"] = await service.get_results(self._deps, session, pixel.id)
        context["token"] = await service.check_token(self._deps, session, pixel.id)
        context["count"] = await self._count_links(pixel)
        return self._render(request, "one", status, form=form, pixel=pixel, **context)

    def _render(self, request: Request, name: str, status: int = 200, **context: Any) -> Response:
        defaults = {"hints": PLATFORM_HINTS, "max_counted": service.MAX_COUNTED_LINKS, "warning": ""}
        return self._views.render_page(request, f"pixels/{name}.html", status=status, **defaults | context)


def _id_warning(form: Form, platform: str | None, pixel_id: str | None) -> str:
    """Return a warning about an unusual ID. The form can be sent again with the same ID."""
    if platform is None or pixel_id is None or form.is_checked("sure") or is_usual_id(platform, pixel_id.strip()):
        return ""
    hint = PLATFORM_HINTS[platform]  # type: ignore[index]  # parsed
    return _UNUSUAL.format(name=hint.name, id_format=hint.id_format)


def _changes(form: Form) -> dict[str, Any]:
    """Return the fields to change. A blank secret does not change, because the form does not show it."""
    sent = {name: value or "" for name, value in form.fields.items() if name not in _SECRETS or value is not None}
    return sent | ({"access_token": None} if form.is_checked("forget_token") else {})
