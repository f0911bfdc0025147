"""Pages out of templates: each room has its own, all of them stand in one frame.

Every text is escaped unless a template of ours made it. What a page may load and do is said in its headers: nothing
from elsewhere, no inline script, no frame around it.
"""

import gzip
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from waypost.kit.clock import Clock
from waypost.web.dashboard import shapes
from waypost.web.dashboard.assets import Assets
from waypost.web.dashboard.icons import icon

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
_WORTH_IT = 1_000
_LEVEL = 4  # a tenth more than the best, in a third of the time


class Views:
    def __init__(self, resources: Mapping[str, str], assets: Assets, *, base_url: str, clock: Clock) -> None:
        """`resources`: of each its name in templates (`links/list.html`), and its package, which has `templates`."""
        loaders = {name: PackageLoader(package) for name, package in resources.items()}
        self._environment = Environment(
            loader=PrefixLoader({"frame": PackageLoader("waypost.web.dashboard"), **loaders}),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        # icons and assets as filters: of a text that stands in a template they are worked out when that is compiled
        self._environment.filters.update(shapes.FILTERS, asset=assets.url, icon=icon)
        self._environment.globals.update(base_url=base_url)
        self._clock = clock

    def page(self, request: Request, template: str, *, status: int = 200, **context: Any) -> Response:
        return self._answer(request, self.text(request, template, **context), status)

    def text(self, request: Request, template: str, **context: Any) -> str:
        session = request.scope.get(SESSION)
        told = {"request": request, "session": session, "now": self._clock(), **context}
        return self._environment.get_template(template).render(told)

    def part(self, request: Request, template: str, block: str, *, status: int = 200, **context: Any) -> Response:
        """One block of a template alone, for a page that replaces it in place."""
        session = request.scope.get(SESSION)
        found = self._environment.get_template(template)
        shown = found.new_context({"request": request, "session": session, "now": self._clock(), **context})
        return self._answer(request, "".join(found.blocks[block](shown)), status)

    def _answer(self, request: Request, html: str, status: int) -> Response:
        """Compressed, which costs a millisecond. No secret is in a page that can be asked for twice, so its size tells
        nobody any.
        """
        if "gzip" not in request.headers.get("accept-encoding", "") or len(html) < _WORTH_IT:
            return HTMLResponse(html, status, HEADERS)
        content = gzip.compress(html.encode(), _LEVEL, mtime=0)
        return HTMLResponse(content, status, HEADERS | {"Content-Encoding": "gzip"})


SESSION = "waypost.session"
"""Where the reception leaves, in the ASGI scope, who is signed in."""
