"""The account's pages: before and after signing in, and its API keys."""

from starlette.routing import Route

from waypost.resources.account import key_pages
from waypost.resources.account.doors import Doors
from waypost.resources.account.entry_pages import EntryPages
from waypost.resources.account.own_pages import OwnPages
from waypost.resources.account.verify_pages import VerifyPages
from waypost.web.dashboard import Reception, Views


def routes(doors: Doors, door: Reception, views: Views) -> list[Route]:
    pages = EntryPages(doors, door, views), OwnPages(doors, door, views), VerifyPages(doors, door, views)
    return [*(route for each in pages for route in each.routes()), *key_pages.routes(doors, door, views)]
