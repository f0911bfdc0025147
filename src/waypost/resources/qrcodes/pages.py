"""The page to design a link's QR code. It shows a preview of every change before it is saved."""

from dataclasses import asdict, replace
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.kit.errors import Invalid, PaymentRequired
from waypost.kit.fields import parse
from waypost.resources import domains, links
from waypost.resources.links import routing
from waypost.resources.qrcodes import service
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.image_cache import CodeImage
from waypost.resources.qrcodes.image_response import SAFE_HEADERS
from waypost.resources.qrcodes.model import QrCode
from waypost.resources.qrcodes.schemas import NewStyle, form_fields
from waypost.resources.qrcodes.style import MAX_MARGIN, MAX_SIZE, MEDIA_TYPES, MIN_SIZE, CodeStyle, style_text, warnings
from waypost.web.dashboard import Form, Pages, get, post, read_form, redirect

_PATH = "/links/{id}/qrcode"
_FIELDS = tuple(CodeStyle.__dataclass_fields__)
_PREVIEW_SIZE = 512
_CACHING = {"Cache-Control": "private, max-age=300"}


class DesignPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            get(_PATH, self.show, "view"),
            post(_PATH, self.save, "links.write"),
            get(f"{_PATH}/look", self.show_style, "links.write"),
            get(f"{_PATH}/preview", self.show_preview, "view"),
        ]

    async def show(self, request: Request) -> Response:
        """Show the saved style, or the one in the query: the preview also works without scripts."""
        code = await self._code(request)
        form = _query_form(request)
        return await self._page(request, code, form if form.fields else Form(_texts(code.style)))

    async def save(self, request: Request) -> Response:
        session = await self._auth.require_session(request)
        code = await self._code(request)
        form = await read_form(request)
        if not self._auth.has_active_plan(session):
            return await self._page(request, code, form, status=402, error=PaymentRequired().message)
        new, problems = parse(NewStyle, form_fields(form.fields))
        try:
            await service.set_style(self._deps, session, code.link_id, new, problems)
        except Invalid:
            return await self._page(request, code, form, status=422)
        return redirect(f"/links/{code.link_id}/qrcode", "saved")

    async def show_style(self, request: Request) -> Response:
        """Render problems, warnings and downloads of an unsaved style."""
        code = await self._code(request)
        return self._views.render_page(request, "qrcodes/_style.html", **self._context(code, _query_form(request)))

    async def show_preview(self, request: Request) -> Response:
        """Draw the image of an unsaved style."""
        code = await self._code(request)
        new, problems = parse(NewStyle, form_fields(_query_form(request).fields))
        problems.raise_if_any()
        style = replace(new.code_style, size=_PREVIEW_SIZE)  # the page scales it
        session = await self._auth.require_session(request)
        image = CodeImage(self._deps.encoded_url(code.target), style_text(style), "svg")
        content = await self._deps.image_cache.get_or_draw(image, account=session.account.id)
        return Response(content, media_type=MEDIA_TYPES["svg"], headers={**SAFE_HEADERS, **_CACHING})

    async def _code(self, request: Request) -> QrCode:
        session = await self._auth.require_session(request)
        return await service.get(self._deps, session, self._path_id(request))

    async def _page(self, request: Request, code: QrCode, form: Form, *, status: int = 200, **texts: str) -> Response:
        session = await self._auth.require_session(request)
        async with self._deps.db.read() as tx:
            link = await links.get(tx, session.account.id, code.link_id)
            unserved = await domains.find_unserved(tx, [link.domain_id])
            routed = await routing.find_routed(tx, [link.id])
        context = (
            self._context(code, form)
            | {
                "link": link,
                "is_domain_served": not unserved,
                "is_routed": bool(routed),
                "error": "",
                "has_form_errors": True,
            }
            | texts
        )
        return self._views.render_page(request, "qrcodes/designer.html", status=status, **context)

    def _context(self, code: QrCode, form: Form) -> dict[str, Any]:
        new, problems = parse(NewStyle, form_fields(form.fields))
        style = code.style if problems else new.code_style
        return {
            "form": form.with_errors(problems.errors),
            "has_problems": bool(problems),
            "has_form_errors": False,
            "code": code,
            "short_url": code.target.short_url(self._deps.shared_domain),
            "is_saved": style == code.style and not problems,
            "warnings": list(warnings(style, self._deps.encoded_url(code.target))),
            "preview_url": f"/links/{code.link_id}/qrcode/preview?{urlencode(_texts(style))}",
            **self._deps.image_urls(code.id, style),
            "limits": {"MIN_SIZE": MIN_SIZE, "MAX_SIZE": MAX_SIZE, "MAX_MARGIN": MAX_MARGIN},
        }


def _query_form(request: Request) -> Form:
    return Form({name: request.query_params[name] or None for name in _FIELDS if name in request.query_params})


def _texts(style: CodeStyle) -> dict[str, str]:
    return {name: str(value) for name, value in asdict(style).items()}
