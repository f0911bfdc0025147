"""HTML pages of pixels."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from waypost.context import Context
from waypost.kit.errors import Invalid, Problems
from waypost.kit.fields import parse
from waypost.kit.ids import parse_id
from waypost.resources.pixels import service
from waypost.resources.pixels.model import Pixel
from waypost.resources.pixels.platforms import PLATFORM_HINTS, is_usual_id
from waypost.resources.pixels.schemas import NewPixel, PixelChange
from waypost.web.dashboard import EditForm, Form, PageCall, Pages, redirect, shows

_PATH = "/pixels/{id}"
_PER_PAGE = 25
_MAX_AGENT = 500
_SECRETS = ("pixel_id", "access_token")
_EDIT = EditForm(
    service.get,
    lambda pixel, _: Form({"platform": pixel.platform, "name": pixel.name, "forget_token": False}),
    secrets=lambda pixel: dict.fromkeys(_SECRETS, pixel.updated_at),
    labels={"forget_token": "Remove the saved token"},
    names={"platform": {platform: hint.name for platform, hint in PLATFORM_HINTS.items()}},
)
_NEW = Form({"platform": "facebook"})
_SHARED: Mapping[str, Any] = {"hints": PLATFORM_HINTS, "max_counted": service.MAX_COUNTED_LINKS}
_UNUSUAL = "This does not look like a {name} pixel ID. {name} may ignore it. {id_format}."


class PixelPages(Pages[Context]):
    def endpoints(self) -> list[Route]:
        return [
            self.get("/pixels", shows("pixels/list.html", self._find_all, **_SHARED), "view"),
            self.get("/pixels/new", self.new, "pixels.write"),
            self.form("/pixels/new", self.create, "pixels.write", self.new),
            self.get(_PATH, self.show, "view"),
            self.form(_PATH, self.change, "pixels.write", self.show, edit=_EDIT),
            self.post(f"{_PATH}/test", self.send_test, "pixels.write"),
            self.get(f"{_PATH}/delete", shows("pixels/delete.html", self._find, **_SHARED), "pixels.write"),
            self.action(f"{_PATH}/delete", service.delete, "pixels.write", "/pixels", "pixel-deleted"),
        ]

    async def new(self, call: PageCall) -> Response:
        return _render(call, "new", _NEW)

    async def create(self, call: PageCall) -> Response:
        self._auth.require_active_plan(call.session)
        new, problems = parse(NewPixel, call.form.fields)
        _check_id(call.form, new.platform, new.pixel_id, problems)
        pixel = await service.create(self._deps, call.session, new, problems)
        return redirect(f"/pixels/{pixel.id}", "pixel-created")

    async def show(self, call: PageCall) -> Response:
        context = await self._find(call)
        pixel: Pixel = context["pixel"]
        context["results"] = await service.get_results(self._deps, call.session, pixel.id)
        event_id = parse_id(call.query("event"))
        is_pending = event_id and await service.is_pending(self._deps, pixel.id, event_id)
        context["pending"] = event_id if is_pending else None
        context["token"] = await service.check_token(self._deps, call.session, pixel.id)
        return _render(call, "one", _EDIT.show(pixel, call.preferences), **context)

    async def change(self, call: PageCall) -> Response:
        pixel = await service.get(self._deps, call.session, call.id)
        self._auth.require_active_plan(call.session)
        change, problems = parse(PixelChange, _changes(call.form))
        _check_id(call.form, change.platform or pixel.platform, change.pixel_id, problems)
        await service.change(self._deps, call.session, pixel.id, change, problems)
        return redirect(f"/pixels/{pixel.id}", "saved")

    async def send_test(self, call: PageCall) -> Response:
        self._auth.require_active_plan(call.session)
        await self._auth.limit_expensive(call.session, "pixel event")
        headers, ip = call.request.headers, self._auth.storable_address(call.request)
        agent = headers.get("User-Agent", "")[:_MAX_AGENT]
        event_id = await service.send_test(self._deps, call.session, call.id, ip=ip or "", user_agent=agent)
        return redirect(f"/pixels/{call.id}?event={event_id}", "pixel-tested")

    async def _find_all(self, call: PageCall) -> dict[str, Any]:
        pixels = await service.list_pixels(self._deps, call.session, call.pagination(_PER_PAGE))
        counts = await service.count_links_per_pixel(self._deps, [pixel.id for pixel in pixels.items])
        return {"page": pixels, "counts": counts}

    async def _find(self, call: PageCall) -> dict[str, Any]:
        pixel = await service.get(self._deps, call.session, call.id)
        counts = await service.count_links_per_pixel(self._deps, [pixel.id])
        return {"pixel": pixel, "count": counts[pixel.id]}


def _render(call: PageCall, name: str, form: Form, **context: Any) -> Response:
    warning = call.error.errors.get("sure", [""])[0] if isinstance(call.error, Invalid) else ""
    if warning:
        call, form, context = replace(call, error=None), call.form, {**context, "status": 422}
    return call.render(f"pixels/{name}.html", form, **_SHARED, **context, warning=warning)


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
