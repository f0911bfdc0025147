"""Bitly: the links of all active groups that a token sees."""

from urllib.parse import quote, unquote

from waypost.kit import bounded_json
from waypost.outbound import Outbound, OutboundResponse
from waypost.resources.imports import sections
from waypost.resources.imports.client import MAX_VALUES, SourceClient, Wait
from waypost.resources.imports.json_fields import BadField, Row, names, read_links, required_text, rows, text, time
from waypost.resources.imports.source import Address, LinkPage, SourceLink, SourceOptions

ORIGIN = "https://api-ssl.bitly.com"
PAGE = 100
USED_UP = {"API_USAGE_LIMIT_EXCEEDED", "MONTHLY_LIMIT_EXCEEDED"}


def open_source(options: SourceOptions, outbound: Outbound, wait: Wait) -> "Bitly":
    return Bitly(outbound, options.required_token(), wait, options.url or ORIGIN)


class Bitly:
    """Clicks do not come along: Bitly has totals only, for one request each, and 1,000 requests a month are free."""

    name = "bitly"
    ignores_case = False

    def __init__(self, outbound: Outbound, token: str, wait: Wait, origin: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self._client = SourceClient(outbound, origin, headers=headers, wait=wait, is_used_up=_is_used_up)
        self._groups: list[str] | None = None
        self._inactive = 0

    async def check(self) -> None:
        await self._read_groups()

    async def link_page(self, cursor: str | None) -> LinkPage:
        groups = await self._read_groups()
        group, position = sections.place(cursor, groups, "group")
        answer = await self._client.get(
            f"/v4/groups/{quote(group, safe='')}/bitlinks",
            {"size": PAGE, "search_after": position, "archived": "both"},
        )
        links, refused = read_links(rows(answer, "links"), "id", _link)
        warnings = (
            [f"Groups that are inactive, whose links Bitly does not list: {self._inactive}"] if self._inactive else []
        )
        pagination = answer.get("pagination")
        next_position = text(pagination, "search_after") if isinstance(pagination, dict) else None
        return LinkPage(links, sections.following(group, position, next_position, groups), refused, warnings)

    async def _read_groups(self) -> list[str]:
        """Inactive groups refuse to be read."""
        if self._groups is None:
            found = rows(await self._client.get("/v4/groups"), "groups")
            self._groups = [required_text(group, "guid") for group in found if group.get("is_active", True)]
            self._inactive = len(found) - len(self._groups)
        return self._groups


def _link(row: Row) -> SourceLink:
    source_id = required_text(row, "id")
    address = _address(source_id)
    others = [_address(url.partition("://")[2]) for url in names(row, "custom_bitlinks")]
    return SourceLink(
        source_id,
        address,
        required_text(row, "long_url"),
        title=text(row, "title"),
        tags=names(row, "tags"),
        created_at=time(row, "created_at"),
        other_addresses=[other for other in dict.fromkeys(others) if other != address],
        left_out=["mobile deep links"] if row.get("deeplinks") else [],
    )


def _address(text_without_scheme: str) -> Address:
    hostname, slash, path = text_without_scheme.partition("/")
    if not hostname or not slash:
        raise BadField(f"“{text_without_scheme[:100]}” is not the address of a link.")
    return Address(hostname.lower(), unquote(path))


def _is_used_up(response: OutboundResponse) -> bool:
    """The limit of an hour has the same status, but is worth waiting for. Neither has Retry-After."""
    try:
        answer = bounded_json.loads(response.body, max_values=MAX_VALUES)
    except ValueError:
        return False
    return isinstance(answer, dict) and answer.get("message") in USED_UP
