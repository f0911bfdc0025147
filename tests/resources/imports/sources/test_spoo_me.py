from datetime import UTC, datetime
from typing import Any

import pytest
from resources.imports.servers.spoo_me import SpooMe, spoo_me_link
from resources.imports.sources.reading import read_links, source_of

from waypost.resources.imports.source import Address, SourceLink, WrongToken

FUTURE = 4102444800


async def test_reads_all_fields() -> None:
    spoo_me = SpooMe(
        spoo_me_link(
            1,
            alias="🚀🔥",
            domain="go.example.com",
            expire_after=1735689599,
            starts_at=1704067200,
            pre_start_url="https://www.example.com/soon",
            max_clicks=100,
            password_set=True,
            block_bots=True,
            total_clicks=42,
            geo_rules={
                "IN": "https://example.in/",
                "DE": "https://www.example.com/eu",
                "FR": "https://www.example.com/eu",
            },
            expired_redirect_url="https://www.example.com/over",
            tags=[{"id": "1", "name": "spring", "color": "red"}],
            ab_variants=[{"url": "https://www.example.com/b", "weight": 40}],
            meta_tags={"title": "A card"},
        )
    )
    with source_of("spoo-me", spoo_me) as source:
        assert await read_links(source) == [
            SourceLink(
                f"{1:024x}",
                Address("go.example.com", "🚀🔥"),
                "https://www.example.com/1",
                tags=["spring"],
                created_at=datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC),
                expires_at=datetime(2024, 12, 31, 23, 59, 59, tzinfo=UTC),
                clicks=42,
                has_unreadable_password=True,
                routing={
                    "rules": [
                        _rule("IN", url="https://example.in/"),
                        _rule("DE", "FR", url="https://www.example.com/eu"),
                    ],
                    "variants": [{"name": "B", "destination_url": "https://www.example.com/b", "weight": 40}],
                    "starts_at": "2024-01-01T00:00:00.000000Z",
                    "click_limit": 100,
                    "fallback_url": "https://www.example.com/over",
                },
                left_out=["the link preview", "the blocking of bots"],
            )
        ]


def _rule(*countries: str, url: str) -> dict[str, Any]:
    return {
        "name": ", ".join(countries),
        "conditions": [{"type": "country", "operator": "in", "values": [*countries]}],
        "destination_url": url,
    }


@pytest.mark.parametrize(
    ("fields", "fallback", "left_out"),
    [
        ({"expire_after": FUTURE}, None, ["the URL before the start", "the URL after the end"]),
        ({"max_clicks": 10, "pre_start_url": None}, None, ["the URL after the end"]),
        ({"max_clicks": 10, "expired_redirect_url": "https://example.com/soon"}, "https://example.com/soon", []),
        ({}, "https://example.com/soon", []),
        ({"expire_after": FUTURE, "starts_at": 1}, "https://example.com/over", []),
    ],
)
async def test_one_fallback_is_not_used_for_both_ends(
    fields: dict[str, Any], fallback: str | None, left_out: list[str]
) -> None:
    early = {
        "starts_at": FUTURE,
        "pre_start_url": "https://example.com/soon",
        "expired_redirect_url": "https://example.com/over",
    }
    with source_of("spoo-me", SpooMe(spoo_me_link(1, **early | fields))) as source:
        (link,) = await read_links(source)
    assert link.routing is not None
    assert (link.routing.get("fallback_url"), link.left_out) == (fallback, left_out)


async def test_links_without_a_domain_are_on_spoo_me() -> None:
    with source_of("spoo-me", SpooMe(spoo_me_link(1, domain=None))) as source:
        assert [link.address.hostname for link in await read_links(source) if link.address] == ["spoo.me"]


@pytest.mark.parametrize(
    ("fields", "is_enabled"),
    [
        ({"status": "ACTIVE"}, True),
        ({"status": "SCHEDULED", "starts_at": 4102444800}, True),
        ({"status": "INACTIVE"}, False),
        ({"status": "BLOCKED"}, False),
        ({"status": "EXPIRED", "expire_after": 1735689599}, True),
        ({"status": "EXPIRED", "expire_after": 4102444800, "max_clicks": 5, "total_clicks": 5}, False),
        ({"status": "EXPIRED"}, False),
    ],
)
async def test_disables_what_does_not_resolve_for_another_reason_than_its_date(
    fields: dict[str, Any], is_enabled: bool
) -> None:
    with source_of("spoo-me", SpooMe(spoo_me_link(1, **fields))) as source:
        assert [link.is_enabled for link in await read_links(source)] == [is_enabled]


async def test_reads_all_pages_although_links_are_created_and_deleted_meanwhile() -> None:
    spoo_me = SpooMe(*map(spoo_me_link, range(350)))
    spoo_me.overlap = 2

    def change(_: object) -> None:
        if len(spoo_me.requests) == 1:
            spoo_me.links.append(spoo_me_link(1000))
        if len(spoo_me.requests) == 2:
            del spoo_me.links[:20]

    spoo_me.before = change
    with source_of("spoo-me", spoo_me) as source:
        found = {link.source_id for link in await read_links(source)}
    assert found >= {link["id"] for link in spoo_me.links}


async def test_refuses_rows_that_are_no_links() -> None:
    spoo_me = SpooMe(spoo_me_link(1, geo_rules=["DE"]), spoo_me_link(2, ab_variants=[3]), spoo_me_link(3, alias=None))
    with source_of("spoo-me", spoo_me) as source:
        page = await source.link_page(None)
    assert [row.reason for row in page.refused] == [
        "geo_rules is not an object.",
        "ab_variants is not a list of objects.",
        "alias is missing.",
    ]


async def test_refuses_a_wrong_key_before_the_first_link() -> None:
    with source_of("spoo-me", SpooMe(), token="wrong") as source, pytest.raises(WrongToken):
        await source.check()
