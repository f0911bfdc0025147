"""The dashboard's application: pages of the resources, assets, and error pages."""

from collections.abc import Iterable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from waypost.kit.errors import WaypostError
from waypost.web.dashboard import design_page, manifest
from waypost.web.dashboard.assets import Assets
from waypost.web.dashboard.docs_pages import DocsPages
from waypost.web.dashboard.error_pages import ErrorPages
from waypost.web.dashboard.session_auth import SessionAuth
from waypost.web.dashboard.views import Views
from waypost.web.envelope import ServerErrors


def new_dashboard(auth: SessionAuth, views: Views, assets: Assets, routes: Iterable[BaseRoute]) -> Starlette:
    pages = ErrorPages(auth, views)
    handlers = {WaypostError: pages.error, HTTPException: pages.http_error}
    return Starlette(
        routes=[
            assets.endpoint(),
            manifest.endpoint(assets),
            *DocsPages(auth, views).endpoints(),
            *design_page.endpoints(auth, views),
            *routes,
        ],
        exception_handlers=handlers,
        middleware=[Middleware(ServerErrors, respond=pages.server_error)],
    )
