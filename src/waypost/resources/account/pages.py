"""The account's pages: before and after the door."""

from starlette.routing import Route

from waypost.resources.account.doors import Doors
from waypost.resources.account.entry_pages import EntryPages
from waypost.resources.account.own_pages import OwnPages
from waypost.web.dashboard import Reception, Views


def routes(doors: Doors, door: Reception, views: Views) -> list[Route]:
    return [*EntryPages(doors, door, views).routes(), *OwnPages(doors, door, views).routes()]
