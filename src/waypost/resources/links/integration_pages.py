"""The page with other ways to create links: the bookmarklet, the installed dashboard, and programs of others."""

from starlette.routing import Route

from waypost.resources.links.deps import Deps
from waypost.web.dashboard import Pages, shows

_BOOKMARKLET = (
    'javascript:void open("{base_url}/links/new?url="+encodeURIComponent(location.href)'
    '+"&title="+encodeURIComponent(document.title))'
)


class IntegrationPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        bookmarklet = _BOOKMARKLET.format(base_url=self._deps.base_url)
        return [self.get("/integrations", shows("links/integrations.html", bookmarklet=bookmarklet), "links.write")]
