"""The page with all components of the dashboard in every state, for who develops it."""

from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.kit.proxies import is_loopback
from waypost.web.dashboard.filters import LETTER_COLORS
from waypost.web.dashboard.forms import Form
from waypost.web.dashboard.session_auth import SessionAuth
from waypost.web.dashboard.views import Views

PATH = "/design"
_FORM = Form({"refused": "What was entered"}, {"refused": ["What is wrong, and what to do."]})


def endpoints(auth: SessionAuth, views: Views) -> list[Route]:
    """Return the route of the page, if the base URL is of this machine: nobody else can open such a service."""
    if not is_loopback(urlsplit(views.base_url).hostname or ""):
        return []

    async def show(request: Request) -> Response:
        await auth.peek_session(request)
        return views.render_page(request, "frame/design.html", form=_FORM, letter_colors=LETTER_COLORS)

    return [Route(PATH, show, methods=["GET"])]
