"""Rebrandly: the links of all workspaces that an API key sees."""

from waypost.outbound import Outbound
from waypost.resources.imports import sections
from waypost.resources.imports.client import SourceClient, Wait
from waypost.resources.imports.json_fields import (
    Row,
    integer,
    names,
    nested,
    read_links,
    required_text,
    rows,
    text,
    time,
)
from waypost.resources.imports.source import Address, LinkPage, NotThere, SourceLink, SourceOptions, WrongToken

ORIGIN = "https://api.rebrandly.com"
ORDER: dict[str, str | int] = {"orderBy": "createdAt", "orderDir": "desc"}
PAGE = 25  # the most that Rebrandly sends
MAX_WORKSPACES = 100
_MAX_REACHED = f"Of more than {MAX_WORKSPACES} workspaces the others are left out: import each by its id"
KEYS_OWN = ""
"""The workspace of requests that name none."""


def open_source(options: SourceOptions, outbound: Outbound, wait: Wait) -> "Rebrandly":
    """The token is an API key, or a key and the id of a workspace, separated by a space."""
    key, *workspace = options.required_token().split(maxsplit=1)
    return Rebrandly(outbound, key, wait, options.url or ORIGIN, workspace)


class Rebrandly:
    name = "rebrandly"
    ignores_case = False

    def __init__(self, outbound: Outbound, key: str, wait: Wait, origin: str, workspaces: list[str]) -> None:
        """`workspaces`: ids of those to read. Empty: all that the key sees."""
        self._outbound, self._key, self._wait, self._origin = outbound, key, wait, origin
        self._workspaces = workspaces

    async def check(self) -> None:
        workspaces = await self._read_workspaces()
        await self._links(workspaces[0], "")

    async def link_page(self, cursor: str | None) -> LinkPage:
        workspaces = await self._read_workspaces()
        workspace, last = sections.place(cursor, workspaces, "workspace")
        found = await self._links(workspace, last)
        links, refused = read_links(found, "id", _link)
        next_last = required_text(found[-1], "id") if found else None
        warnings = [_MAX_REACHED] if len(workspaces) == MAX_WORKSPACES else []
        return LinkPage(links, sections.following(workspace, last, next_last, workspaces), refused, warnings)

    async def _links(self, workspace: str, last: str) -> list[Row]:
        """Return a page of a workspace. The last one is empty."""
        query = {**ORDER, "limit": PAGE} | ({"last": last} if last else {})
        return rows(await self._client(workspace).get("/v1/links", query))

    async def _read_workspaces(self) -> list[str]:
        if not self._workspaces:
            query = {**ORDER, "limit": MAX_WORKSPACES}
            try:
                found = rows(await self._client(KEYS_OWN).get("/v1/workspaces", query))
            except (NotThere, WrongToken):  # a key may be restricted to its own; if it is wrong, `check` finds out
                found = []
            self._workspaces = [required_text(workspace, "id") for workspace in found] or [KEYS_OWN]
        return self._workspaces

    def _client(self, workspace: str) -> SourceClient:
        headers = {"apikey": self._key} | ({"workspace": workspace} if workspace else {})
        return SourceClient(self._outbound, self._origin, headers=headers, wait=self._wait)


def _link(row: Row) -> SourceLink:
    return SourceLink(
        required_text(row, "id"),
        Address(text(nested(row, "domain"), "fullName"), required_text(row, "slashtag")),
        required_text(row, "destination"),
        title=text(row, "title"),
        tags=names(row, "tags", "name"),
        created_at=time(row, "createdAt"),
        is_enabled=row.get("status", "active") in ("active", "archived"),
        clicks=integer(row, "clicks"),
    )
