"""The page to design a link's QR code. It shows a preview of every change before it is saved."""

from dataclasses import asdict, replace
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.kit.errors import Invalid, PaymentRequired, or_not_found
from waypost.resources import domains, links
from waypost.resources.links import page_header, routing
from waypost.resources.qrcodes import images, presets, service
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.logos import schemas as logo_schemas
from waypost.resources.qrcodes.logos import service as logos
from waypost.resources.qrcodes.model import QrCode
from waypost.resources.qrcodes.schemas import read_form
from waypost.resources.qrcodes.style import (
    MAX_MARGIN,
    MAX_SIZE,
    MAX_WIDTH_MM,
    MEDIA_TYPES,
    MIN_SIZE,
    MIN_WIDTH_MM,
    SAFE_HEADERS,
    CodeStyle,
    style_text,
)
from waypost.web.dashboard import BLANK, VERSION, EditForm, Form, PageCall, Pages, redirect, shows

_PATH = "/links/{id}/qrcode"
_FIELDS = tuple(CodeStyle.__dataclass_fields__)
_PREVIEW_SIZE = 512
_LIMITS = {
    "MIN_SIZE": MIN_SIZE,
    "MAX_SIZE": MAX_SIZE,
    "MAX_MARGIN": MAX_MARGIN,
    "MIN_WIDTH_MM": MIN_WIDTH_MM,
    "MAX_WIDTH_MM": MAX_WIDTH_MM,
}
_EDIT = EditForm(
    service.get,
    lambda code, _: _shown(code.style),
    labels={
        "foreground": "Foreground",
        "background": "Background",
        "level": "Error correction",
        "style": "Style",
        "frame": "Frame",
        "frame_text": "Frame text",
        "logo": "Logo",
        "logo_size": "Logo size",
        "size": "Size",
        "margin": "Margin",
        "width_mm": "Width in print",
    },
    names={
        "style": {"squares": "Squares", "dots": "Dots", "fluid": "Fluid"},
        "frame": {"none": "No frame", "bottom": "Text at the bottom"},
        "level": {"L": "Low: tolerates 7% damage", "M": "Medium: 15%", "Q": "High: 25%", "H": "Highest: 30%"},
    },
)
_CACHING = {"Cache-Control": "private, max-age=300"}


class DesignPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            self.get(_PATH, self.show, "view"),
            self.form(_PATH, self.save, "links.write", edit=_EDIT),
            self.get(f"{_PATH}/look", shows("qrcodes/_style.html", self._find_style), "links.write"),
            self.get(f"{_PATH}/preview", self.show_preview, "view"),
            self.form(f"{_PATH}/logo", self.upload_logo, "links.write"),
            self.form(f"{_PATH}/logo/delete", self.delete_logo, "links.write"),
            self.form(f"{_PATH}/domain-logo", self.upload_domain_logo, "domains.write"),
            self.form(f"{_PATH}/domain-logo/delete", self.delete_domain_logo, "domains.write"),
        ]

    async def show(self, call: PageCall) -> Response:
        """Show the saved style, or the one in the query: the preview also works without scripts."""
        code = await self._code(call)
        saved, form = _EDIT.show(code, call.preferences), _query_form(call.request)
        version = call.query(VERSION) or saved.text(VERSION)
        return await self._page(call, code, Form({**form.fields, VERSION: version}) if form.fields else saved)

    async def save(self, call: PageCall) -> Response:
        code = await self._code(call)
        if not self._auth.has_active_plan(call.session):
            return await self._page(call, code, call.form, status=402, error=PaymentRequired().message)
        new, problems = read_form(call.form.fields)
        try:
            await service.set_style(self._deps, call.session, code.link_id, new, problems)
        except Invalid:
            return await self._page(call, code, call.form, status=422)
        return redirect(f"/links/{code.link_id}/qrcode", "saved")

    async def _find_style(self, call: PageCall) -> dict[str, Any]:
        """Return problems, warnings and downloads of an unsaved style."""
        return self._context(await self._code(call), _query_form(call.request))

    async def show_preview(self, call: PageCall) -> Response:
        """Draw the image of an unsaved style."""
        code = await self._code(call)
        new, problems = read_form(_query_form(call.request).fields)
        problems.raise_if_any()
        style = replace(new.code_style, size=_PREVIEW_SIZE)  # the page scales it
        logo = code.logo if style.logo else None
        image = images.new_image(self._deps, code.target, style_text(style), "svg", logo)
        content = await images.draw(self._deps, image, account=call.session.account.id)
        return Response(content, media_type=MEDIA_TYPES["svg"], headers={**SAFE_HEADERS, **_CACHING})

    async def upload_logo(self, call: PageCall) -> Response:
        return await self._upload(call, None)

    async def upload_domain_logo(self, call: PageCall) -> Response:
        return await self._upload(call, await self._domain_of(call))

    async def _upload(self, call: PageCall, domain_id: UUID | None) -> Response:
        """Upload the logo, and show it in the code before that is saved."""
        code = await self._code(call)
        self._auth.require_active_plan(call.session)
        try:
            await logos.upload_form(self._deps, call.session, domain_id, call.form.fields)
        except Invalid as error:
            form, logo_form = _EDIT.show(code, call.preferences), call.form.with_error(error)
            return await self._page(call, code, form, status=422, logo_form=logo_form)
        return redirect(f"/links/{call.id}/qrcode?{urlencode(_texts(replace(code.style, logo=True)))}", "logo-uploaded")

    async def delete_logo(self, call: PageCall) -> Response:
        await logos.delete(self._deps, call.session)
        return redirect(f"/links/{call.id}/qrcode", "logo-deleted")

    async def delete_domain_logo(self, call: PageCall) -> Response:
        await logos.delete(self._deps, call.session, await self._domain_of(call))
        return redirect(f"/links/{call.id}/qrcode", "logo-deleted")

    async def _domain_of(self, call: PageCall) -> UUID:
        async with self._deps.db.read() as tx:
            link = await links.get(tx, call.session.account.id, call.id)
        return or_not_found(link.domain_id)

    async def _code(self, call: PageCall) -> QrCode:
        return await service.get(self._deps, call.session, call.id)

    async def _page(self, call: PageCall, code: QrCode, form: Form, *, status: int = 200, **others: Any) -> Response:
        async with self._deps.db.read() as tx:
            link = await links.get(tx, call.session.account.id, code.link_id)
            is_served, has_domains = await domains.find_state(tx, link.account_id, link.domain_id)
            stored, shared = await routing.find(tx, link.id), self._deps.shared_domain
        context = self._context(code, form)
        context |= page_header.header(link, stored, shared, is_domain_served=is_served, has_domains=has_domains)
        context |= {"error": "", "logo_form": BLANK, "has_form_errors": True, **others}
        context |= {"logo_url": f"{logo_schemas.LOGO_PATH}/{code.logo.name}" if code.logo else ""}
        return call.render("qrcodes/designer.html", status=status, **context)

    def _context(self, code: QrCode, form: Form) -> dict[str, Any]:
        new, problems = read_form(form.fields)
        if new.code_style != code.style:  # what was saved is drawn as well as it can be
            service.check_logo(self._deps, code, new.code_style, problems)
        style = code.style if problems else new.code_style
        texts, layout = _texts(style), images.new_layout(self._deps, code, style)
        preview = f"/links/{code.link_id}/qrcode/preview?logo_name={code.logo.name if code.logo else ''}&"
        return {
            "form": form.with_errors(problems.errors),
            "has_problems": bool(problems),
            "has_form_errors": False,
            "code": code,
            "is_saved": style == code.style and not problems,
            "warnings": images.find_warnings(code, style, layout),
            "preview_url": preview + urlencode(texts),
            "layout": layout,
            "presets": [
                (name, fields, urlencode(texts | fields), presets.is_chosen(fields, style))
                for name, fields in presets.looks()
            ],
            **self._deps.image_urls(code.id, style),
            "limits": _LIMITS,
            "labels": _EDIT.labels,
            "names": _EDIT.names,
        }


def _query_form(request: Request) -> Form:
    return Form({name: request.query_params[name] or None for name in _FIELDS if name in request.query_params})


def _shown(style: CodeStyle) -> Form:
    return Form({name: value if isinstance(value, bool) else str(value) for name, value in asdict(style).items()})


def _texts(style: CodeStyle) -> dict[str, str]:
    """Return the fields as a form sends them: a checkbox only if it is checked."""
    return {
        name: "true" if value is True else str(value) for name, value in asdict(style).items() if value is not False
    }
