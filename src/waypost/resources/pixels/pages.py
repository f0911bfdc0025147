"""HTML pages of pixels."""

from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts.sessions.store import Session
from waypost.context import Context
from waypost.kit.errors import Invalid, Problems, WaypostError
from waypost.kit.fields import parse
from waypost.resources.pixels import service
from waypost.resources.pixels.model import Pixel
from waypost.resources.pixels.platforms import PLATFORM_HINTS, is_usual_id
from waypost.resources.pixels.schemas import NewPixel, PixelChange
from waypost.web import require_pagination
from waypost.web.dashboard import BLANK, Form, Pages, get, post, redirect

_LIST_PATH = "/pixels"
_PATH = "/pixels/{id}"
_PER_PAGE = 25
_SECRETS = ("pixel_id", "access_token")
_NEW = Form({"platform": "facebook"})
_SHARED = {"hints": PLATFORM_HINTS, "max_counted": service.MAX_COUNTED_LINKS}
_UNUSUAL = "This does not look like a {name} pixel ID. {name} may ignore it. {id_format}."


class PixelPages(Pages[Context]):
    def endpoints(self) -> list[Route]:
        return [
            get(_LIST_PATH, self.list_pixels, "view"),
            get(f"{_LIST_PATH}/new", self.new, "pixels.write"),
            self.form(f"{_LIST_PATH}/new", self.create, "pixels.write", self.new),
            get(_PATH, self.show, "view"),
            self.form(_PATH, self.change, "pixels.write", self.show),
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

    async def new(self, request: Request, form: Form = _NEW, error: WaypostError | None = None) -> Response:
        await self._auth.require_session(request)
        return self._form(request, "new", form, error)

    async def create(self, _request: Request, session: Session, form: Form) -> Response:
        self._auth.require_active_plan(session)
        new, problems = parse(NewPixel, form.fields)
        _check_id(form, new.platform, new.pixel_id, problems)
        pixel = await service.create(self._deps, session, new, problems)
        return redirect(f"/pixels/{pixel.id}", "pixel-created")

    async def show(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        session, pixel = await self._get(request)
        context: dict[str, Any] = {"pixel": pixel, "count": await self._count_links(pixel)}
        context["results"] = await service.get_results(self._deps, session, pixel.id)
        context["token"] = await service.check_token(self._deps, session, pixel.id)
        shown = form if error else Form({"platform": pixel.platform, "name": pixel.name})
        return self._form(request, "one", shown, error, **context)

    async def change(self, request: Request, session: Session, form: Form) -> Response:
        pixel = await service.get(self._deps, session, self._path_id(request))
        self._auth.require_active_plan(session)
        change, problems = parse(PixelChange, _changes(form))
        _check_id(form, change.platform or pixel.platform, change.pixel_id, problems)
        await service.change(self._deps, session, pixel.id, change, problems)
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

    def _form(self, request: Request, name: str, form: Form, error: WaypostError | None, **context: Any) -> Response:
        warning = error.errors.get("sure", [""])[0] if isinstance(error, Invalid) else ""
        if warning:
            return self._render(request, name, 422, form=form, warning=warning, **context)
        return self._views.form(request, f"pixels/{name}.html", form, error, **_SHARED, warning="", **context)

    def _render(self, request: Request, name: str, status: int = 200, **context: Any) -> Response:
        return self._views.render_page(request, f"pixels/{name}.html", status=status, **_SHARED, **context)


def _check_id(form: Form, platform: str | None, pixel_id: str | None, problems: Problems) -> None:
    """Raise Invalid on `sure` if only the ID is unusual. The form can be sent again with the same ID."""
    if platform is None or pixel_id is None or problems or form.is_checked("sure"):
        return
    if not is_usual_id(platform, pixel_id.strip()):
        hint = PLATFORM_HINTS[platform]  # type: ignore[index]  # parsed
        raise Invalid({"sure": [_UNUSUAL.format(name=hint.name, id_format=hint.id_format)]})


def _changes(form: Form) -> dict[str, Any]:
    """Return the fields to change. A blank secret does not change, because the form does not show it."""
    sent = {name: value or "" for name, value in form.fields.items() if name not in _SECRETS or value is not None}
    return sent | ({"access_token": None} if form.is_checked("forget_token") else {})
