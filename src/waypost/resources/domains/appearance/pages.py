"""The page with the appearance of a domain, and previews of what visitors see."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import date

from starlette.responses import Response
from starlette.routing import Route

from waypost.kit.errors import Problems
from waypost.kit.fields import parse
from waypost.redirect import Appearance, pages, password_pages, report_pages
from waypost.resources.domains import names
from waypost.resources.domains.appearance import service
from waypost.resources.domains.appearance.model import DomainAppearance
from waypost.resources.domains.appearance.schemas import MAX_NAME, MAX_TEXT, DomainAppearanceChange
from waypost.resources.domains.appearance.store import APPEARANCES, with_logo
from waypost.resources.domains.deps import WebDeps
from waypost.resources.domains.logos import store as logos
from waypost.resources.domains.model import Domain
from waypost.web.dashboard import EditForm, Form, PageCall, Pages, redirect

_PATH = "/domains/{id}/appearance"
_FIELDS = tuple(DomainAppearanceChange.model_fields)
_NAMES = {
    "not_found": "Link not found",
    "expired": "Expired link",
    "not_started": "Link before its start",
    "password": "Password form",
    "info": "Page about a link (+)",
}
_STILL = {b'<form method="post">': b"<form>", b'<a href="/">': b"<a>", b'" autofocus': b'"'}
"""What a preview has instead. No text of the domain has these: quotes are escaped."""
_PREVIEWS: Mapping[str, Callable[[Domain, Appearance], bytes]] = {
    "not_found": lambda _, appearance: pages.ended_page("not_found", appearance),
    "expired": lambda _, appearance: pages.ended_page("expired", appearance),
    "not_started": lambda _, appearance: pages.ended_page("not_started", appearance),
    "password": lambda _, appearance: password_pages.page("", appearance),
    "info": lambda domain, appearance: report_pages.info_page(
        "Summer sale", f"{domain.hostname}/sale", "https://example.com/sale", date(2026, 6, 1), appearance
    ),
}


_EDIT = EditForm(
    APPEARANCES.get, lambda appearance, _: Form({name: getattr(appearance, name) or "" for name in _FIELDS})
)


class AppearancePages(Pages[WebDeps]):
    def endpoints(self) -> list[Route]:
        return [
            self.get(_PATH, self.show, "view"),
            self.form(_PATH, self.save, "domains.write", self.show, edit=_EDIT),
            self.get(f"{_PATH}/preview", self.preview, "view"),
            self.form(f"{_PATH}/preview", self.preview_changes, "domains.write"),
        ]

    async def show(self, call: PageCall) -> Response:
        domain, appearance = await APPEARANCES.get_with_domain(self._deps, call.session, call.id)
        return call.render(
            "domains/appearance.html",
            _EDIT.show(appearance, call.preferences),
            domain=domain,
            appearance=appearance,
            readable=names.readable,
            previews=_NAMES,
            limits={"name": MAX_NAME, "text": MAX_TEXT},
        )

    async def save(self, call: PageCall) -> Response:
        self._auth.require_active_plan(call.session)
        await service.change(self._deps, call.session, call.id, *_parse(call.form))
        return redirect(f"/domains/{call.id}/appearance", "saved")

    async def preview(self, call: PageCall) -> Response:
        domain, appearance = await APPEARANCES.get_with_domain(self._deps, call.session, call.id)
        return _preview(call.query("page"), domain, await self._with_logo(domain, appearance))

    async def preview_changes(self, call: PageCall) -> Response:
        """Show the page with the form as it is now."""
        domain, appearance = await APPEARANCES.get_with_domain(self._deps, call.session, call.id)
        change, problems = _parse(call.form)
        if problems:
            text = " ".join(text for texts in problems.errors.values() for text in texts)
            content = f"<h1>No preview</h1>\n{pages.paragraph(text)}"
            return _framed(pages.page("No preview", content, pages.STYLE), pages.STYLE)
        changed = await self._with_logo(domain, change.apply_to(appearance))
        return _preview(call.form.text("page"), domain, changed)

    async def _with_logo(self, domain: Domain, appearance: DomainAppearance) -> Appearance:
        """The page has it in itself: a frame without a session could not load it."""
        async with self._deps.db.read() as tx:
            logo = await logos.find(tx, domain.id)
            content = await logos.read(tx, logo.name) if logo else None
        if logo is None or content is None:
            return appearance.of_pages
        url = f"data:image/png;base64,{b64encode(content).decode()}"
        return with_logo(appearance.of_pages, url, logo.width, logo.height, logo.color)


def _parse(form: Form) -> tuple[DomainAppearanceChange, Problems]:
    return parse(DomainAppearanceChange, {name: form.text(name).replace("\r\n", "\n") or None for name in _FIELDS})


def _preview(name: str, domain: Domain, appearance: Appearance) -> Response:
    """Return the page as visitors get it, without what leads out of the frame or takes the keyboard into it."""
    name = name if name in _PREVIEWS else "not_found"
    show = _PREVIEWS[name]
    appearance = appearance._replace(has_home=bool(domain.root_url))
    is_ended = name in ("not_found", "expired", "not_started")
    style = pages.ended_style(appearance) if is_ended else pages.form_style(appearance.color)
    page = show(domain, appearance)
    for text, still in _STILL.items():
        page = page.replace(text, still)
    return _framed(page, style)


def _framed(page: bytes, style: str) -> Response:
    """Only pages of the dashboard may frame it, and no form of it is sent."""
    response = Response(page)
    headers = pages.headers(style, frame_ancestors=b"'self'")
    response.raw_headers = [*headers, (b"content-length", b"%d" % len(page))]
    return response
