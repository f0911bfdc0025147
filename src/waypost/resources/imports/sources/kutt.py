"""Kutt: the links of the account that an API key belongs to. Visits are totals."""

from typing import Any

from waypost.outbound import Outbound
from waypost.resources.imports.client import SourceClient, Wait
from waypost.resources.imports.json_fields import Row, integer, read_links, required_text, rows, text, time
from waypost.resources.imports.offset import Offset, total
from waypost.resources.imports.short_urls import address_of, hostname_of
from waypost.resources.imports.source import Address, LinkPage, SourceLink, SourceOptions

PAGE = 50  # the most that Kutt sends


def open_source(options: SourceOptions, outbound: Outbound, wait: Wait) -> "Kutt":
    return Kutt(outbound, options.required_token(), wait, options.required_url())


class Kutt:
    """The cursor is an offset into the list, newest first."""

    name = "kutt"
    ignores_case = False

    def __init__(self, outbound: Outbound, token: str, wait: Wait, origin: str) -> None:
        self._client = SourceClient(outbound, origin, headers={"X-API-KEY": token}, wait=wait)
        self._hostname = hostname_of(origin)

    async def check(self) -> None:
        rows(await self._list(0, 1), "data")

    async def link_page(self, cursor: str | None) -> LinkPage:
        at = Offset.parse(cursor)
        answer = await self._list(at.start, PAGE)
        count = total(answer, "total")
        if deleted := at.deleted_since(count):
            at = Offset(max(0, at.start - deleted), count)
            answer = await self._list(at.start, PAGE)
        found = rows(answer, "data")
        links, refused = read_links(found, "id", self._link)
        following = Offset(at.start + min(len(found), PAGE), count)
        is_last = not found or (count is not None and following.start >= count)
        return LinkPage(links, None if is_last else str(following), refused, total=count)

    async def _list(self, skip: int, limit: int) -> Any:
        return await self._client.get("/api/v2/links", {"limit": limit, "skip": skip})

    def _link(self, row: Row) -> SourceLink:
        return SourceLink(
            required_text(row, "id"),
            self._address(row),
            required_text(row, "target"),
            title=text(row, "description"),
            created_at=time(row, "created_at"),
            expires_at=time(row, "expire_in"),
            is_enabled=not row.get("banned"),
            clicks=integer(row, "visit_count"),
            has_unreadable_password=bool(row.get("password")),
        )

    def _address(self, row: Row) -> Address:
        """Links of the default domain have `domain: null`; their host is in `link`, a text or `{link, url}`."""
        path = required_text(row, "address")
        if hostname := text(row, "domain"):
            return Address(hostname.lower(), path)
        link = row.get("link")
        url = link.get("url") if isinstance(link, dict) else link
        return Address(address_of(url).hostname if isinstance(url, str) else self._hostname, path)
