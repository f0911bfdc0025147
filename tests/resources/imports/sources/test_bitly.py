from datetime import UTC, datetime

import pytest
from resources.imports.servers.bitly import GROUP, TOO_FAST, USED_UP, Bitly, bitlink
from resources.imports.servers.scripted import (
    HTML,
    SERVER_ERROR,
    TOO_MANY,
    Fault,
    always,
    cut_off,
    truncated,
)
from resources.imports.sources.reading import Waits, read_links, read_pages, source_of

from waypost.resources.imports.client import MAX_FAILURES
from waypost.resources.imports.source import (
    Address,
    QuotaUsedUp,
    SourceError,
    SourceLink,
    UnexpectedAnswer,
    WrongToken,
)

PAGINATED_BY_LIST = always(200, b'{"links": [], "pagination": {"search_after": []}}')


async def test_reads_all_fields() -> None:
    bitly = Bitly(
        bitlink(
            1,
            id="bit.ly/3kAbC",
            long_url="https://www.example.com/sale?a=1#top",
            title="Sale",
            tags=["spring", "shop"],
            custom_bitlinks=[
                "https://go.example.com/sale",
                "https://Go.Example.com/%F0%9F%94%A5",
                "https://bit.ly/3kAbC",
            ],
            deeplinks=[{"app_guid": "x"}],
        )
    )
    with source_of("bitly", bitly) as source:
        assert await read_links(source) == [
            SourceLink(
                "bit.ly/3kAbC",
                Address("bit.ly", "3kAbC"),
                "https://www.example.com/sale?a=1#top",
                title="Sale",
                tags=["spring", "shop"],
                created_at=datetime(2020, 10, 26, 17, 20, 40, tzinfo=UTC),
                other_addresses=[Address("go.example.com", "sale"), Address("go.example.com", "🔥")],
                left_out=["mobile deep links"],
            )
        ]


async def test_reads_all_pages_of_all_active_groups_with_archived_links() -> None:
    bitly = Bitly(*(bitlink(number, archived=number % 2 == 0) for number in range(250)))
    bitly.groups |= {"Ba": [bitlink(300)], "Bz": [bitlink(301)], "Bx": [bitlink(302)]}
    bitly.inactive = {"Bx"}
    with source_of("bitly", bitly) as source:
        pages = await read_pages(source)
    found = [link for page in pages for link in page.links]
    assert {warning for page in pages for warning in page.warnings} == {
        "Groups that are inactive, whose links Bitly does not list: 1"
    }
    assert {link.destination_url for link in found} == {
        f"https://www.example.com/{number}" for number in (*range(250), 300, 301)
    }
    assert len(found) == 252
    assert len(bitly.requests) == 1 + 3 + 1 + 1, "the groups, and each page once"


async def test_continues_at_a_cursor_in_another_process() -> None:
    bitly = Bitly(*map(bitlink, range(150)))
    bitly.groups["Ca"] = [bitlink(200)]
    with source_of("bitly", bitly) as source:
        first = await source.link_page(None)
    with source_of("bitly", bitly) as source:
        pages = await read_pages(source, first.next_cursor)
    assert [link.source_id for page in [first, *pages] for link in page.links] == [
        f"bit.ly/3k{number:05}" for number in (*range(150), 200)
    ]


async def test_reads_what_is_added_meanwhile_and_overlapping_pages() -> None:
    bitly = Bitly(*map(bitlink, range(150)))
    bitly.overlap = 2
    bitly.before = lambda _: bitly.groups[GROUP].append(bitlink(len(bitly.groups[GROUP])))
    with source_of("bitly", bitly) as source:
        found = await read_links(source)
    assert {link.source_id for link in found} >= {f"bit.ly/3k{number:05}" for number in range(152)}


async def test_refuses_rows_that_are_no_links() -> None:
    bitly = Bitly(
        bitlink(1),
        bitlink(2, id="bit.ly"),
        bitlink(3, long_url=None),
        bitlink(4, created_at="yesterday"),
        bitlink(5, tags=7),
        bitlink(6, tags=["\ud83d"]),
        bitlink(7, id="bit.ly/\0\ud83d"),
    )
    with source_of("bitly", bitly) as source:
        page = await source.link_page(None)
    assert [link.source_id for link in page.links] == ["bit.ly/3k00001"]
    assert [row.reason for row in page.refused] == [
        "“bit.ly” is not the address of a link.",
        "long_url is missing.",
        "created_at is not a time: “yesterday”.",
        "tags is not a list of texts.",
        "tags is not a list of texts.",
        "id has characters that are not text, or of another encoding.",
    ]
    assert page.refused[-1].source_id == "bit.ly/\ufffd\ufffd"


@pytest.mark.parametrize("token", ["wrong", "two\nlines", "\N{FIRE}"])
async def test_refuses_a_wrong_token_before_the_first_link(token: str) -> None:
    with pytest.raises(WrongToken), source_of("bitly", Bitly(bitlink(1)), token=token) as source:
        await source.check()


def test_needs_a_token() -> None:
    with pytest.raises(SourceError, match="--token-file"), source_of("bitly", Bitly(), token=" \n"):
        pass


async def test_refuses_to_continue_with_the_token_of_another_account() -> None:
    with source_of("bitly", Bitly(bitlink(1))) as source, pytest.raises(WrongToken, match="same account"):
        await source.link_page("BkOther:after_100")


async def test_a_token_without_groups_is_refused() -> None:
    bitly = Bitly()
    bitly.inactive = {GROUP}
    with source_of("bitly", bitly) as source, pytest.raises(WrongToken, match="no group"):
        await source.link_page(None)


@pytest.mark.parametrize(
    ("faults", "seconds"),
    [
        ([TOO_FAST] * 6, [5, 10, 20, 40, 60, 60]),
        ([TOO_MANY, always(429, retry_after="7"), SERVER_ERROR], [5, 7, 20]),
        ([always(503, retry_after="1"), cut_off], [1, 10]),
        ([always(403, x_ratelimit_reason="minute")], [5]),
        ([always(502, retry_after="Fri, 01 Jan 2027 00:00:00 GMT")], [5]),
    ],
)
async def test_waits_and_repeats(faults: list[Fault], seconds: list[float]) -> None:
    bitly, waits = Bitly(*map(bitlink, range(120))), Waits()
    with source_of("bitly", bitly, waits=waits) as source:
        first = await source.link_page(None)
        bitly.faults.extend(faults)
        pages = await read_pages(source, first.next_cursor)
    assert sum(len(page.links) for page in pages) == 20
    assert waits.seconds == seconds


async def test_gives_up_a_source_that_is_down() -> None:
    bitly, waits = Bitly(bitlink(1)), Waits()
    bitly.faults.extend([SERVER_ERROR] * MAX_FAILURES)
    message = r"answered 500, 8 times in a row\. Start the import again to continue\."
    with source_of("bitly", bitly, waits=waits) as source, pytest.raises(SourceError, match=message):
        await source.check()
    assert len(waits.seconds) == MAX_FAILURES - 1


@pytest.mark.parametrize("fault", [USED_UP, always(429, retry_after="86400")])
async def test_stops_when_the_quota_is_used_up(fault: Fault) -> None:
    bitly, waits = Bitly(bitlink(1)), Waits()
    with source_of("bitly", bitly, waits=waits) as source:
        bitly.faults.append(fault)
        with pytest.raises(QuotaUsedUp, match="it continues"):
            await source.link_page(None)
    assert not waits.seconds


@pytest.mark.parametrize(
    "fault", [HTML, truncated, always(200, b"[" * 100_000), always(200, b'{"links": 7}'), PAGINATED_BY_LIST]
)
async def test_refuses_what_is_not_its_protocol(fault: Fault) -> None:
    bitly = Bitly(*map(bitlink, range(10)))
    with source_of("bitly", bitly) as source:
        await source.check()
        bitly.faults.append(fault)
        with pytest.raises(UnexpectedAnswer):
            await source.link_page(None)


async def test_asks_for_no_name_that_is_longer_than_a_url() -> None:
    bitly = Bitly(bitlink(1))
    bitly.groups = {"x" * 100_000: bitly.groups[next(iter(bitly.groups))]}
    with source_of("bitly", bitly) as source, pytest.raises(UnexpectedAnswer, match="more than 16,384 characters"):
        await read_pages(source)


async def test_stops_an_endless_list() -> None:
    bitly = Bitly(*map(bitlink, range(150)))
    bitly.is_endless = True
    with source_of("bitly", bitly) as source, pytest.raises(UnexpectedAnswer, match="again and again"):
        await read_pages(source)
