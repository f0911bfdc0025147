"""The page with other ways to create links: the bookmarklet, the installed dashboard, and programs of others."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.resources.links.deps import Deps
from waypost.web.dashboard import Pages, get

_BOOKMARKLET = (
    'javascript:void open("{base_url}/links/new?url="+encodeURIComponent(location.href)'
    '+"&title="+encodeURIComponent(document.title))'
)


class IntegrationPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [get("/integrations", self.show, "links.write")]

    async def show(self, request: Request) -> Response:
        await self._auth.require_session(request)
        bookmarklet = _BOOKMARKLET.format(base_url=self._deps.base_url)
        return self._views.render_page(request, "links/integrations.html", bookmarklet=bookmarklet)
