from datetime import UTC, datetime
from uuid import UUID

import pytest
from resources.imports.servers.kutt import Kutt, kutt_link
from resources.imports.sources.reading import read_links, read_pages, source_of

from waypost.outbound import Outbound
from waypost.resources.imports.source import (
    Address,
    SourceError,
    SourceLink,
    SourceOptions,
    WrongToken,
)
from waypost.resources.imports.sources import open_source


async def test_reads_all_fields() -> None:
    kutt = Kutt(
        kutt_link(
            1,
            address="Sale",
            domain="Go.Example.com",
            description="Spring sale",
            password=True,
            banned=True,
            expire_in="2022-01-01T00:00:00.000Z",
            visit_count=42,
        )
    )
    with source_of("kutt", kutt) as source:
        assert await read_links(source) == [
            SourceLink(
                str(UUID(int=1)),
                Address("go.example.com", "Sale"),
                "https://www.example.com/1",
                title="Spring sale",
                created_at=datetime(2021, 2, 3, 4, 5, 6, tzinfo=UTC),
                is_enabled=False,
                expires_at=datetime(2022, 1, 1, tzinfo=UTC),
                clicks=42,
                has_unreadable_password=True,
            )
        ]


@pytest.mark.parametrize("link", ["https://kutt.example.com/page1", {"url": "https://kutt.example.com/page1"}])
async def test_links_of_the_default_domain_have_its_host(link: object) -> None:
    with source_of("kutt", Kutt(kutt_link(1, link=link))) as source:
        assert [found.address for found in await read_links(source)] == [Address("kutt.example.com", "page1")]


async def test_reads_all_pages_although_they_overlap() -> None:
    kutt = Kutt(*map(kutt_link, range(120)))
    kutt.overlap = 2
    with source_of("kutt", kutt) as source:
        pages = await read_pages(source)
    assert {link.source_id for page in pages for link in page.links} == {str(UUID(int=number)) for number in range(120)}
    assert [page.total for page in pages] == [120] * 3


async def test_misses_no_link_when_others_are_created_and_deleted_meanwhile() -> None:
    kutt = Kutt(*map(kutt_link, range(160)))

    def change(_: object) -> None:
        if len(kutt.requests) % 2:
            kutt.links.append(kutt_link(1000 + len(kutt.requests)))
        else:
            del kutt.links[-12:]

    kutt.before = change
    with source_of("kutt", kutt) as source:
        found = {link.source_id for link in await read_links(source)}
    assert found >= {link["id"] for link in kutt.links if UUID(link["id"]).int < 1000}


async def test_continues_at_a_cursor_in_another_process() -> None:
    kutt = Kutt(*map(kutt_link, range(120)))
    with source_of("kutt", kutt) as source:
        first = await source.link_page(None)
    with source_of("kutt", kutt) as source:
        others = await read_pages(source, first.next_cursor)
    assert [len(page.links) for page in [first, *others]] == [50, 50, 20]


async def test_refuses_rows_that_are_no_links() -> None:
    kutt = Kutt(kutt_link(1), kutt_link(2, target=None), kutt_link(3, expire_in="soon"), kutt_link(4, link="https://["))
    with source_of("kutt", kutt) as source:
        page = await source.link_page(None)
    assert len(page.links) == 1
    assert [row.reason for row in page.refused] == [
        "“https://[” is not a short URL.",
        "expire_in is not a time: “soon”.",
        "target is missing.",
    ]


async def test_refuses_a_wrong_key_before_the_first_link() -> None:
    with source_of("kutt", Kutt(), token="wrong") as source, pytest.raises(WrongToken):
        await source.check()


@pytest.mark.parametrize("options", [SourceOptions(token="token"), SourceOptions(url="https://kutt.example.com")])
def test_needs_a_url_and_a_token(options: SourceOptions) -> None:
    with pytest.raises(SourceError, match=r"--url|--token-file"):
        open_source("kutt", options, Outbound(), lambda *_: None)  # type: ignore[arg-type,return-value]
