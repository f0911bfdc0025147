"""spoo.me: the links of the account that an API key belongs to. Clicks are totals."""

from datetime import datetime
from typing import Any

from waypost.kit.clock import Clock, now
from waypost.outbound import Outbound
from waypost.resources.imports import routing_data
from waypost.resources.imports.client import SourceClient, Wait
from waypost.resources.imports.json_fields import (
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

    def __init__(self, outbound: Outbound, token: str, wait: Wait, origin: str = ORIGIN, clock: Clock = now) -> None:
        self._clock = clock
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
        links, refused = read_links(found, "id", lambda row: _link(row, self._clock()))
        has_next = bool(answer.get("hasNext")) and bool(found)
        return LinkPage(links, str(Offset(at.start + 1, count)) if has_next else None, refused, total=count)

    async def _list(self, page: int, size: int) -> Any:
        order = {"sortBy": "created_at", "sortOrder": "ascending"}
        return await self._client.get("/api/v1/urls", {"page": page, "pageSize": size, **order})


def _link(row: Row, at: datetime) -> SourceLink:
    expires_at, limit, clicks = time(row, "expire_after"), integer(row, "max_clicks"), integer(row, "total_clicks")
    starts_at = time(row, "starts_at")
    is_used_up = limit is not None and (clicks or 0) >= limit
    has_end = expires_at is not None or limit is not None
    fallback_url, left_out = _fallback(row, is_early=starts_at is not None and starts_at > at, has_end=has_end)
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
            starts_at=starts_at,
            click_limit=limit,
            fallback_url=fallback_url,
        ),
        left_out=[
            *left_out,
            *(["the link preview"] if row.get("meta_tags") else []),
            *(["the blocking of bots"] if row.get("block_bots") else []),
        ],
    )


def _is_enabled(status: str, *, has_expired: bool) -> bool:
    """EXPIRED means a past date, which stays, or a click limit that is used up, which would count from 0 here."""
    return status.upper() in {"ACTIVE", "SCHEDULED", *(["EXPIRED"] if has_expired else [])}


def _fallback(row: Row, *, is_early: bool, has_end: bool) -> tuple[str | None, list[str]]:
    """Return the fallback, and what is left out.

    Here one URL is for visitors before the start and after the end, so neither must get that of the other.
    """
    before, after = text(row, "pre_start_url"), text(row, "expired_redirect_url")
    if not is_early or before == after:
        return after, []
    if not has_end:
        return before, []
    left_out = {"the URL before the start": before, "the URL after the end": after}
    return None, [what for what, url in left_out.items() if url]


def _country_rules(row: Row) -> list[dict[str, Any]]:
    geo_rules = nested(row, "geo_rules")
    return routing_data.country_rules({country: required_text(geo_rules, country) for country in geo_rules})


def _variants(row: Row) -> list[dict[str, Any]]:
    return [
        routing_data.variant(chr(ord("B") + number), required_text(variant, "url"), integer(variant, "weight") or 1)
        for number, variant in enumerate(objects(row, "ab_variants"))
    ]
