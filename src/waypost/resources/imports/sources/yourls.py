"""YOURLS: all links of an installation, by its API, or from a dump of its database, which has the clicks too."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, tzinfo
from pathlib import Path
from sys import getsizeof
from typing import NamedTuple
from urllib.parse import urlsplit

from waypost.outbound import Outbound
from waypost.resources.imports import batches
from waypost.resources.imports.client import SourceClient, Wait
from waypost.resources.imports.json_fields import (
    Row,
    integer,
    local_time,
    read_clicks,
    read_links,
    required_text,
    rows,
    text,
)
from waypost.resources.imports.offset import Offset, total
from waypost.resources.imports.short_urls import address_of
from waypost.resources.imports.source import (
    Address,
    ClickPage,
    LinkPage,
    NotThere,
    SourceClick,
    SourceError,
    SourceLink,
    SourceOptions,
    UnexpectedAnswer,
    WrongToken,
)
from waypost.resources.imports.sql_dump import Dump, DumpRow, DumpTable, Position
from waypost.resources.imports.tables.dates import ZeroDate

PAGE, CLICK_PAGE = 500, 2_000
LINK_COLUMNS = frozenset({"keyword", "url", "timestamp"})
CLICK_COLUMNS = frozenset({"shorturl", "click_time", "referrer"})
ASSUMED_UTC = "YOURLS does not name its time zone: times are read as UTC. If that is wrong, import again with the zone."


def open_source(options: SourceOptions, outbound: Outbound, wait: Wait) -> "Yourls | YourlsDump":
    if options.file:
        return YourlsDump(options.file, options)
    return Yourls(outbound, options.required_token(), wait, options.required_url(), options.timezone)


class Yourls:
    """The cursor is an offset into the list, newest first."""

    name = "yourls"
    ignores_case = False

    def __init__(self, outbound: Outbound, token: str, wait: Wait, origin: str, timezone: tzinfo | None) -> None:
        """`token`: the signature token of an account, or `username:password`."""
        username, has_password, password = token.partition(":")
        self._login = {"username": username, "password": password} if has_password else {"signature": token}
        self._client = SourceClient(outbound, origin, headers={}, wait=wait)
        self._base = urlsplit(origin).path.strip("/")
        self._timezone = timezone

    async def check(self) -> None:
        await self._list(0, 1)

    async def link_page(self, cursor: str | None) -> LinkPage:
        at = Offset.parse(cursor)
        found, count = await self._list(at.start, PAGE)
        if deleted := at.deleted_since(count):
            at = Offset(max(0, at.start - deleted), count)
            found, count = await self._list(at.start, PAGE)
        links, refused = read_links(found, "shorturl", self._link)
        following = Offset(at.start + min(len(found), PAGE), count)
        is_last = not found or (count is not None and following.start >= count)
        return LinkPage(links, None if is_last else str(following), refused, _warnings(self._timezone), count)

    async def _list(self, start: int, limit: int) -> tuple[list[Row], int | None]:
        """Return the rows and how many there are in total."""
        page: dict[str, str | int] = {"limit": limit, "start": start}
        query = {"action": "stats", "filter": "last", "format": "json"}
        answer = await self._client.get("/yourls-api.php", page | query | self._login)
        if not isinstance(answer, dict):
            raise UnexpectedAnswer("YOURLS did not send an object.")
        if (code := answer.get("errorCode")) is not None:  # some versions send it with status 200
            message = f"YOURLS refuses the request: {str(answer.get('message'))[:200]}"
            raise (WrongToken if str(code) in {"401", "403"} else UnexpectedAnswer)(message)
        links = answer.get("links") or {}  # PHP writes no links as [] or not at all
        found = rows([*links.values()] if isinstance(links, dict) else links)
        return found, total(answer.get("stats"), "total_links")

    def _link(self, row: Row) -> SourceLink:
        address = address_of(required_text(row, "shorturl"))
        keyword = address.path.removeprefix(f"{self._base}/")
        return _link(row, address, f"{address.hostname}/{keyword}", self._timezone)


class YourlsDump:
    """The cursor is the position of the last row that was read, as JSON."""

    name = "yourls"
    ignores_case = False

    def __init__(self, file: Path, options: SourceOptions) -> None:
        self._file = file
        self._site = options.site
        self._timezone = options.timezone
        self._encoding = options.encoding
        self._dump: Dump | None = None

    async def check(self) -> None:
        await asyncio.to_thread(self._page, LINK_COLUMNS, 1, None)

    async def link_page(self, cursor: str | None) -> LinkPage:
        page = await asyncio.to_thread(self._page, LINK_COLUMNS, PAGE, cursor)
        zone = page.zone_of("timestamp", self._timezone)
        places = (f"Row {position.number:,} of {position.table}" for _, position in page.found)
        links, refused = read_links(page.rows, "keyword", lambda row: self._link(row, zone), places)
        warnings = [*page.notes, *_warnings(zone)]
        return LinkPage(links, page.next_cursor, refused, warnings, is_of_file=True)

    async def click_page(self, cursor: str | None) -> ClickPage:
        try:
            page = await asyncio.to_thread(self._page, CLICK_COLUMNS, CLICK_PAGE, cursor)
        except NotThere:
            raise SourceError(f"{self._file.name} has no clicks: dump yourls_log too, or leave them out.") from None
        zone = page.zone_of("click_time", self._timezone)
        clicks = read_clicks(page.rows, lambda row: self._click(row, zone), page.next_cursor)
        return replace(clicks, warnings=_warnings(zone))

    def _page(self, columns: frozenset[str], size: int, cursor: str | None) -> "_DumpPage":
        if self._dump is None:
            self._dump = Dump(self._file, (LINK_COLUMNS, CLICK_COLUMNS), self._encoding)
        table = self._dump.table(columns)
        start = Position(*json.loads(cursor)) if cursor else None
        found, is_last = batches.take(self._dump.rows(table, start), size, _size_of)
        return _DumpPage(table, found, None if is_last else json.dumps(found[-1][1]), self._dump.notes)

    def _link(self, row: Row, zone: tzinfo | None) -> SourceLink:
        keyword = required_text(row, "keyword")
        return _link(row, Address(self._site, keyword), self._id(keyword), zone)

    def _click(self, row: Row, zone: tzinfo | None) -> SourceClick | None:
        """None without a time. Raises BadField, ZeroDate."""
        at = local_time(row, "click_time", zone or UTC)
        if at is None:
            return None
        referrer = text(row, "referrer")
        return SourceClick(
            self._id(required_text(row, "shorturl")),
            at,
            source_id=text(row, "click_id"),
            referrer=None if referrer == "direct" else referrer,
            user_agent=text(row, "user_agent"),
            country=text(row, "country_code"),
            ip=text(row, "ip_address"),
        )

    def _id(self, keyword: str) -> str:
        return f"{self._site}/{keyword}" if self._site else keyword


class _DumpPage(NamedTuple):
    table: DumpTable
    found: Sequence[tuple[DumpRow, Position]]
    next_cursor: str | None
    notes: Sequence[str]

    @property
    def rows(self) -> list[Row]:
        return [row for row, _ in self.found]

    def zone_of(self, column: str, default: tzinfo | None) -> tzinfo | None:
        return (self.table.timezone if column in self.table.timestamps else None) or default


def _link(row: Row, address: Address, source_id: str, timezone: tzinfo | None) -> SourceLink:
    created_at, left_out = None, tuple[str, ...]()
    try:
        created_at = local_time(row, "timestamp", timezone or UTC)
    except ZeroDate as zero:
        left_out = (f"the creation date “{zero}”, which is no date",)
    return SourceLink(
        source_id,
        address,
        required_text(row, "url"),
        title=text(row, "title"),
        created_at=created_at,
        clicks=integer(row, "clicks"),
        left_out=left_out,
    )


def _size_of(row: tuple[DumpRow, Position]) -> int:
    return sum(map(getsizeof, row[0].values()))


def _warnings(timezone: tzinfo | None) -> list[str]:
    return [] if timezone else [ASSUMED_UTC]
