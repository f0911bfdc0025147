from datetime import UTC, datetime

import pytest
from resources.imports.servers.scripted import HTML
from resources.imports.servers.short_io import ShortIo, short_io_link
from resources.imports.sources.reading import read_links, read_pages, source_of

from waypost.resources.imports.source import Address, SourceLink, UnexpectedAnswer, WrongToken
from waypost.resources.imports.sources.short_io import NO_COUNTRIES


async def test_reads_all_fields() -> None:
    short_io = ShortIo(
        short_io_link(
            1,
            path="Sale",
            originalURL="https://www.example.com/sale?utm_source=own#top",
            title="Sale",
            tags=["spring"],
            createdAt=1651820889000,
            archived=True,
            expiresAt="2022-12-31T23:00:00.000Z",
            expiredURL="https://www.example.com/over",
            clicksLimit="100",
            password="open sesame",
            hasPassword=True,
            iphoneURL="https://apps.example.com/ios",
            androidURL="https://apps.example.com/android",
            splitURL="https://www.example.com/b",
            splitPercent=30,
            utmSource="mail",
            utmCampaign="spring & summer",
            integrationFB="123",
            cloaking=True,
        )
    )
    short_io.countries = {
        "lnk_1": [
            {"id": number, "country": country, "originalURL": f"https://www.example.com/{page}"}
            for number, (country, page) in enumerate([("DE", "eu"), ("US", "us"), ("FR", "eu"), (None, "none")])
        ]
    }
    with source_of("short-io", short_io) as source:
        assert await read_links(source) == [
            SourceLink(
                "lnk_1",
                Address("go.example.com", "Sale"),
                "https://www.example.com/sale?utm_source=own&utm_campaign=spring+%26+summer#top",
                title="Sale",
                tags=["spring"],
                created_at=datetime(2022, 5, 6, 7, 8, 9, tzinfo=UTC),
                expires_at=datetime(2022, 12, 31, 23, tzinfo=UTC),
                other_addresses=[],
                forwards_query=True,
                routing={
                    "rules": [
                        {
                            "name": "iOS",
                            "conditions": [{"type": "platform", "operator": "in", "values": ["iOS"]}],
                            "destination_url": "https://apps.example.com/ios",
                        },
                        {
                            "name": "Android",
                            "conditions": [{"type": "platform", "operator": "in", "values": ["Android"]}],
                            "destination_url": "https://apps.example.com/android",
                        },
                        {
                            "name": "DE, FR",
                            "conditions": [{"type": "country", "operator": "in", "values": ["DE", "FR"]}],
                            "destination_url": "https://www.example.com/eu",
                        },
                        {
                            "name": "US",
                            "conditions": [{"type": "country", "operator": "in", "values": ["US"]}],
                            "destination_url": "https://www.example.com/us",
                        },
                    ],
                    "variants": [{"name": "Split", "destination_url": "https://www.example.com/b", "weight": 30}],
                    "password": "open sesame",
                    "click_limit": 100,
                    "fallback_url": "https://www.example.com/over",
                },
                lost_rules=["a destination by country"],
                left_out=["retargeting pixels", "cloaking"],
            )
        ]


async def test_stops_asking_for_countries_that_the_plan_does_not_have() -> None:
    short_io = ShortIo(*map(short_io_link, range(160)))
    short_io.countries = None
    with source_of("short-io", short_io) as source:
        pages = await read_pages(source)
    assert [len(page.links) for page in pages] == [150, 10]
    assert [page.warnings for page in pages] == [[NO_COUNTRIES]] * 2
    assert sum(request.path.startswith("/link_country/") for request in short_io.requests) <= 150


async def test_reads_all_pages_of_all_domains() -> None:
    short_io = ShortIo(*map(short_io_link, range(310)))
    short_io.domains |= {7: [short_io_link(400)], 8: []}
    short_io.hostnames |= {7: "x.example.com", 8: "y.example.com"}
    short_io.overlap = 1
    with source_of("short-io", short_io) as source:
        found = await read_links(source)
    assert {link.source_id for link in found} == {f"lnk_{number}" for number in (*range(310), 400)}
    assert {link.address.hostname for link in found} == {"go.example.com", "x.example.com"}


async def test_says_how_many_there_are() -> None:
    with source_of("short-io", ShortIo(*map(short_io_link, range(160)))) as source:
        assert (await source.link_page(None)).total == 160


async def test_a_password_that_is_not_shown_is_unreadable() -> None:
    with source_of("short-io", ShortIo(short_io_link(1, hasPassword=True), short_io_link(2))) as source:
        assert [link.has_unreadable_password for link in await read_links(source)] == [True, False]


async def test_the_root_of_a_domain_has_an_empty_path() -> None:
    with source_of("short-io", ShortIo(short_io_link(1, path=""))) as source:
        assert [link.address.path for link in await read_links(source)] == [""]


@pytest.mark.parametrize(
    ("case_sensitive", "others"), [(False, [[Address("go.example.com", "sale")], []]), (True, [[], []])]
)
async def test_domains_that_ignore_case_keep_the_lower_case_address(
    case_sensitive: bool, others: list[list[Address]]
) -> None:
    short_io = ShortIo(short_io_link(1, path="Sale"), short_io_link(2, path="sale2"))
    short_io.case_sensitive = case_sensitive
    with source_of("short-io", short_io) as source:
        assert [link.other_addresses for link in await read_links(source)] == others


async def test_a_wrong_value_stops_no_other_link() -> None:
    links = short_io_link(1, originalURL="https://[x", utmSource="a"), short_io_link(2, idString="\ud800")
    with source_of("short-io", ShortIo(*links, short_io_link(3))) as source:
        page = await source.link_page(None)
    assert [link.destination_url for link in page.links] == ["https://[x?utm_source=a", "https://www.example.com/3"]
    assert [row.reason for row in page.refused] == [
        "idString has characters that are not text, or of another encoding."
    ]


async def test_refuses_a_wrong_key() -> None:
    with pytest.raises(WrongToken), source_of("short-io", ShortIo(), token="wrong") as source:
        await source.check()


async def test_refuses_the_key_of_another_account() -> None:
    with source_of("short-io", ShortIo()) as source, pytest.raises(WrongToken, match="same account"):
        await source.link_page("99:token150")


async def test_refuses_html_and_an_endless_list() -> None:
    short_io = ShortIo(*map(short_io_link, range(200)))
    short_io.faults.append(HTML)
    with source_of("short-io", short_io) as source:
        with pytest.raises(UnexpectedAnswer, match="something else than JSON"):
            await source.check()
        short_io.is_endless = True
        with pytest.raises(UnexpectedAnswer, match="again and again"):
            await read_pages(source)
