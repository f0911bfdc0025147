"""spoo.me: the links of the account that an API key belongs to. Clicks are totals."""

from typing import Any

from waypost.outbound import Outbound
from waypost.resources.imports import routing_data
from waypost.resources.imports.client import SourceClient, Wait
from waypost.resources.imports.json_fields import (
    BadField,
    Row,
    integer,
    names,
    nested,
    objects,
    read_links,
    required_text,
    rows,
    text,
    time,
)
from waypost.resources.imports.offset import Offset, total
from waypost.resources.imports.source import Address, LinkPage, SourceLink, SourceOptions

HOSTNAME = "spoo.me"
"""Of links without a custom domain, also where `domain` is null."""
ORIGIN = f"https://{HOSTNAME}"
PAGE = 100  # the most that spoo.me sends


def open_source(options: SourceOptions, outbound: Outbound, wait: Wait) -> "SpooMe":
    return SpooMe(outbound, options.required_token(), wait, options.url or ORIGIN)


class SpooMe:
    """The cursor is a page number; the oldest links come first, so that new ones do not move the others."""

    name = "spoo-me"
    ignores_case = False

    def __init__(self, outbound: Outbound, token: str, wait: Wait, origin: str = ORIGIN) -> None:
        self._client = SourceClient(outbound, origin, headers={"Authorization": f"Bearer {token}"}, wait=wait)

    async def check(self) -> None:
        rows(await self._list(1, 1), "items")

    async def link_page(self, cursor: str | None) -> LinkPage:
        at = Offset.parse(cursor, first=1)
        answer = await self._list(at.start, PAGE)
        count = total(answer, "total")
        if deleted := at.deleted_since(count):
            at = Offset(max(1, at.start - -(-deleted // PAGE)), count)
            answer = await self._list(at.start, PAGE)
        found = rows(answer, "items")
        links, refused = read_links(found, "id", _link)
        has_next = bool(answer.get("hasNext")) and bool(found)
        return LinkPage(links, str(Offset(at.start + 1, count)) if has_next else None, refused, total=count)

    async def _list(self, page: int, size: int) -> Any:
        order = {"sortBy": "created_at", "sortOrder": "ascending"}
        return await self._client.get("/api/v1/urls", {"page": page, "pageSize": size, **order})


def _link(row: Row) -> SourceLink:
    expires_at, limit, clicks = time(row, "expire_after"), integer(row, "max_clicks"), integer(row, "total_clicks")
    fallback_url, url_before_start = text(row, "expired_redirect_url"), text(row, "pre_start_url")
    is_used_up = limit is not None and (clicks or 0) >= limit
    return SourceLink(
        required_text(row, "id"),
        Address((text(row, "domain") or HOSTNAME).lower(), required_text(row, "alias")),
        required_text(row, "long_url"),
        tags=names(row, "tags", "name"),
        created_at=time(row, "created_at"),
        is_enabled=_is_enabled(
            (text(row, "status") or "ACTIVE").upper(), has_expired=expires_at is not None and not is_used_up
        ),
        expires_at=expires_at,
        clicks=clicks,
        has_unreadable_password=bool(row.get("password_set")),
        routing=routing_data.routing(
            rules=_country_rules(row),
            variants=_variants(row),
            starts_at=time(row, "starts_at"),
            click_limit=limit,
            fallback_url=fallback_url,
        ),
        left_out=[
            what
            for what, is_there in (
                ("the URL before the start", url_before_start not in {None, fallback_url}),
                ("the link preview", row.get("meta_tags")),
                ("the blocking of bots", row.get("block_bots")),
            )
            if is_there
        ],
    )


def _is_enabled(status: str, *, has_expired: bool) -> bool:
    """EXPIRED means a past date, which stays, or a click limit that is used up, which would count from 0 here."""
    return status.upper() in {"ACTIVE", "SCHEDULED", *(["EXPIRED"] if has_expired else [])}


def _country_rules(row: Row) -> list[dict[str, Any]]:
    """One rule for each destination, in the order of its first country."""
    countries: dict[str, list[str]] = {}
    for country, url in nested(row, "geo_rules").items():
        if not isinstance(url, str):
            raise BadField("geo_rules has a destination that is not a text.")
        countries.setdefault(url, []).append(country.upper())
    return [routing_data.rule("country", values, url) for url, values in countries.items()]


def _variants(row: Row) -> list[dict[str, Any]]:
    return [
        routing_data.variant(chr(ord("B") + number), required_text(variant, "url"), integer(variant, "weight") or 1)
        for number, variant in enumerate(objects(row, "ab_variants"))
    ]
