"""The account's pages: before and after signing in, and its API keys."""

from starlette.routing import Route

from waypost.resources.account import key_pages
from waypost.resources.account.auth_pages import AuthPages
from waypost.resources.account.deps import Deps
from waypost.resources.account.profile_pages import ProfilePages
from waypost.resources.account.verify_pages import VerifyPages
from waypost.web.dashboard import SessionAuth, Views


def routes(deps: Deps, auth: SessionAuth, views: Views) -> list[Route]:
    pages = AuthPages(deps, auth, views), ProfilePages(deps, auth, views), VerifyPages(deps, auth, views)
    return [*(route for each in pages for route in each.routes()), *key_pages.routes(deps, auth, views)]
