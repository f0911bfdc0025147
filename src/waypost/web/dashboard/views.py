"""Renders the templates of all resources in one layout.

Every text is escaped unless a template generated it. The headers allow a page nothing from other sites, no inline
scripts and no framing.
"""

import gzip
from collections.abc import Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from waypost.accounts import roles
from waypost.accounts.sessions.store import PersonSession, Session
from waypost.kit.clock import Clock
from waypost.kit.preferences import DEFAULT
from waypost.web.dashboard import filters
from waypost.web.dashboard.assets import Assets
from waypost.web.dashboard.documentation import page_about
from waypost.web.dashboard.form_account import ACCOUNTS, SESSION, add_account
from waypost.web.dashboard.navigation import MENU, OPERATOR, PROFILE, find_pages, section_of
from waypost.web.dashboard.notices import notice_of

if TYPE_CHECKING:
    from jinja2 import Environment

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none';"
        " object-src 'none'"
    ),
    "Cache-Control": "private, no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "Vary": "Accept-Encoding",
    "X-Frame-Options": "DENY",
}
_MIN_COMPRESSED = 1_000
_LEVEL = 4  # 10 % larger than the best level, in a third of the time


class Views:
    def __init__(
        self,
        resources: Mapping[str, str],
        assets: Assets,
        *,
        base_url: str,
        docs_url: str,
        clock: Clock,
        name: str = "Waypost",
    ) -> None:
        """`resources`: prefix of template names (`links/list.html`) to the package that has `templates`.

        `docs_url` ends with a slash. If it is empty, pages do not link to the documentation. `name`: of the operator.
        """
        self._packages = {"frame": "waypost.web.dashboard", **resources}
        # filters, because Jinja evaluates a filter of a constant when it compiles the template
        self._filters = {**filters.FILTERS, "asset": assets.url}
        self._globals = {"base_url": base_url, "docs_url": docs_url, "page_about": page_about, "section_of": section_of}
        self._globals |= {
            "brand": {"name": name, "logo": assets.logo_url},
            "MENU": MENU,
            "find_pages": find_pages,
            "PROFILE": PROFILE,
            "OPERATOR": OPERATOR,
        }
        self._clock = clock
        self.base_url = base_url

    @cached_property
    def _environment(self) -> "Environment":
        import jinja2  # noqa: PLC0415  # 3 MB, for pages

        environment = jinja2.Environment(
            loader=jinja2.PrefixLoader(
                {name: jinja2.PackageLoader(package) for name, package in self._packages.items()}
            ),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters.update(self._filters)
        environment.filters.update({name: jinja2.pass_context(each) for name, each in filters.PREFERRED.items()})
        environment.globals.update(self._globals)
        environment.globals["time_element"] = jinja2.pass_context(filters.time_ago)
        return environment

    def render_page(self, request: Request, template: str, *, status: int = 200, **context: Any) -> Response:
        return self._respond(request, self.render(request, template, **context), status)

    def render(self, request: Request, template: str, **context: Any) -> str:
        return self._environment.get_template(template).render(self._context(request, context))

    def render_fragment(
        self, request: Request, template: str, block: str, *, status: int = 200, **context: Any
    ) -> Response:
        """Render one block of a template, which htmx replaces on the page."""
        source = self._environment.get_template(template)
        html = "".join(source.blocks[block](source.new_context(self._context(request, context))))
        return self._respond(request, html, status)

    def _context(self, request: Request, context: Mapping[str, Any]) -> dict[str, Any]:
        session = request.scope.get(SESSION)
        shared = {"request": request, "session": session, "accounts": request.scope.get(ACCOUNTS, ())}
        shared["preferences"] = session.person.preferences if session else DEFAULT
        return {**shared, "may": partial(_may, session), "now": self._clock(), "notice": notice_of(request), **context}

    def _respond(self, request: Request, html: str, status: int) -> Response:
        """Compress the page, which takes a millisecond. A page that can be requested twice has no secrets, so that its
        compressed size reveals none.
        """
        html = add_account(html, request.scope.get(SESSION))
        if "gzip" not in request.headers.get("accept-encoding", "") or len(html) < _MIN_COMPRESSED:
            return HTMLResponse(html, status, HEADERS)
        content = gzip.compress(html.encode(), _LEVEL, mtime=0)
        return HTMLResponse(content, status, HEADERS | {"Content-Encoding": "gzip"})


def _may(session: PersonSession | None, action: roles.Action) -> bool:
    """Return whether the session may do this in the account that it shows: pages show nothing that is refused."""
    return isinstance(session, Session) and roles.may(session.role, action)
