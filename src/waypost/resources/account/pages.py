"""The account's pages."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.database import Database
from waypost.web.dashboard import Reception, Views


def routes(_db: Database, _door: Reception, views: Views) -> list[Route]:
    async def login(request: Request) -> Response:
        return views.page(request, "account/login.html")

    return [Route("/login", login)]
