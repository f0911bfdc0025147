"""The designer of a link's code: what is changed is seen at once, and saved when it looks right."""

from dataclasses import asdict, replace
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from waypost.kit.errors import Invalid, PaymentRequired
from waypost.kit.fields import parse
from waypost.resources.qrcodes import image, rules, service
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.image_cache import CodeImage
from waypost.resources.qrcodes.model import QrCode
from waypost.resources.qrcodes.schemas import NewStyle, of_form
from waypost.resources.qrcodes.style import CodeStyle
from waypost.resources.qrcodes.urls import style_text
from waypost.web import path_id
from waypost.web.dashboard import Form, SessionAuth, Views, read_form

_ONE = "/links/{id}/qrcode"
_NAMES = tuple(CodeStyle.__dataclass_fields__)
_SIZE_SEEN = 512
_BRIEFLY = {"Cache-Control": "private, max-age=300"}


def routes(deps: Deps, auth: SessionAuth, views: Views) -> list[Route]:
    pages = _Pages(deps, auth, views)
    return [
        Route(_ONE, pages.show, methods=["GET"]),
        Route(_ONE, pages.save, methods=["POST"]),
        Route(f"{_ONE}/look", pages.style, methods=["GET"]),
        Route(f"{_ONE}/preview", pages.preview, methods=["GET"]),
    ]


class _Pages:
    def __init__(self, deps: Deps, auth: SessionAuth, views: Views) -> None:
        self._deps = deps
        self._auth = auth
        self._views = views

    async def show(self, request: Request) -> Response:
        """With a style in its query, that one: so the preview works without scripts, too."""
        code = await self._code(request)
        form = _asked(request)
        notice = "Saved." if "saved" in request.query_params else ""
        return self._page(request, code, form if form.fields else Form(_texts(code.style)), notice=notice)

    async def save(self, request: Request) -> Response:
        session = await self._auth.session(request)
        code = await self._code(request)
        form = await read_form(request)
        if not self._auth.is_live(session):
            return self._page(request, code, form, status=402, notice=PaymentRequired().message)
        wanted, problems = parse(NewStyle, of_form(form.fields))
        try:
            await service.set_style(self._deps, session, code.link_id, wanted, problems)
        except Invalid:
            return self._page(request, code, form, status=422)
        return RedirectResponse(f"/links/{code.link_id}/qrcode?saved=1", 303)

    async def look(self, request: Request) -> Response:
        """What is to be said of a look that is being tried."""
        code = await self._code(request)
        return self._views.page(request, "qrcodes/_style.html", **self._told(code, _asked(request)))

    async def preview(self, request: Request) -> Response:
        """A picture of a look that is not saved, and may never be."""
        code = await self._code(request)
        wanted, problems = parse(NewStyle, of_form(_asked(request).fields))
        problems.raise_if_any()
        seen = replace(wanted.code_style, size=_SIZE_SEEN)  # in the page it is as large as there is room
        session = await self._auth.session(request)
        picture = CodeImage(self._text(code), style_text(seen), "svg")
        content = await self._deps.image_cache.content(picture, account=session.account.id)
        return Response(content, media_type=image.TYPES["svg"], headers={**image.SAFE, **_BRIEFLY})

    async def _code(self, request: Request) -> QrCode:
        session = await self._auth.session(request)
        return await service.find(self._deps, session, await path_id(request.path_params["id"]))

    def _text(self, code: QrCode) -> str:
        return self._deps.encoded(code.target)

    def _page(self, request: Request, code: QrCode, form: Form, *, status: int = 200, notice: str = "") -> Response:
        told = self._told(code, form)
        return self._views.page(request, "qrcodes/designer.html", status=status, notice=notice, **told)

    def _told(self, code: QrCode, form: Form) -> dict[str, Any]:
        wanted, problems = parse(NewStyle, of_form(form.fields))
        style = code.style if problems else wanted.code_style
        png_url, svg_url = (self._deps.urls.url(code.id, style, each) for each in image.FORMATS)
        return {
            "form": form.wrong(problems.errors),
            "code": code,
            "short_url": f"{code.target.hostname or self._deps.shared_domain}/{code.target.slug}",
            "is_saved": style == code.look and not problems,
            "warnings": list(rules.warnings(style, self._text(code))),
            "preview_url": f"/links/{code.link_id}/qrcode/preview?{urlencode(_texts(style))}",
            "png_url": png_url,
            "svg_url": svg_url,
            "limits": rules,
        }


def _asked(request: Request) -> Form:
    return Form({name: request.query_params[name] or None for name in _NAMES if name in request.query_params})


def _texts(style: CodeStyle) -> dict[str, str]:
    return {name: str(value) for name, value in asdict(style).items()}
