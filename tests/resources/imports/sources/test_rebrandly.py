from datetime import UTC, datetime

import pytest
from resources.imports.servers.rebrandly import Rebrandly, rebrandly_link
from resources.imports.servers.scripted import TOKEN, Answer, always
from resources.imports.sources.reading import read_links, read_pages, source_of

from waypost.resources.imports.source import Address, SourceLink, UnexpectedAnswer, WrongToken


async def test_reads_all_fields() -> None:
    rebrandly = Rebrandly(rebrandly_link(1, clicks=42, tags=[{"id": "t1", "name": "spring", "color": "fff"}]))
    with source_of("rebrandly", rebrandly) as source:
        assert await read_links(source) == [
            SourceLink(
                f"{1:032x}",
                Address("go.example.com", "page1"),
                "https://www.example.com/1",
                title="Page 1",
                tags=["spring"],
                created_at=datetime(2021, 3, 4, 5, 6, 7, tzinfo=UTC),
                clicks=42,
            )
        ]


async def test_disabled_links_are_disabled() -> None:
    statuses = ["active", "inactive", "trashed", "blocked", []]
    rebrandly = Rebrandly(*(rebrandly_link(number, status=status) for number, status in enumerate(statuses)))
    with source_of("rebrandly", rebrandly) as source:
        assert [link.is_enabled for link in await read_links(source)] == [False] * 4 + [True]


async def test_reads_all_workspaces_to_the_empty_page() -> None:
    rebrandly = Rebrandly(*map(rebrandly_link, range(60)))
    rebrandly.workspaces |= {"f0": [rebrandly_link(number) for number in range(100, 125)], "00": []}
    rebrandly.overlap = 3
    with source_of("rebrandly", rebrandly) as source:
        found = await read_links(source)
    assert {link.destination_url for link in found} == {
        f"https://www.example.com/{number}" for number in (*range(60), *range(100, 125))
    }


async def test_reads_one_workspace() -> None:
    rebrandly = Rebrandly(rebrandly_link(1))
    rebrandly.workspaces["f0"] = [rebrandly_link(2)]
    with source_of("rebrandly", rebrandly, token=f"{TOKEN} f0") as source:
        await source.check()
        assert [link.destination_url for link in await read_links(source)] == ["https://www.example.com/2"]
    with pytest.raises(WrongToken), source_of("rebrandly", rebrandly, token=f"{TOKEN} f1") as source:
        await source.check()


async def test_links_made_meanwhile_do_not_move_the_pages() -> None:
    rebrandly = Rebrandly(*map(rebrandly_link, range(60)))
    (links,) = rebrandly.workspaces.values()
    rebrandly.before = lambda request: request.path == "/v1/links" and links.append(rebrandly_link(len(links)))
    with source_of("rebrandly", rebrandly) as source:
        found = [link.source_id for link in await read_links(source)]
    assert len(found) == len(set(found)) == 61


async def test_reads_the_keys_own_workspace_where_it_may_not_list_them() -> None:
    rebrandly = Rebrandly(*map(rebrandly_link, range(30)))
    for refusal in (always(404), always(403)):
        rebrandly.faults.append(refusal)
        with source_of("rebrandly", rebrandly) as source:
            await source.check()
            assert len(await read_links(source)) == 30


@pytest.mark.parametrize("status", [401, 200])
async def test_refuses_a_wrong_key(status: int) -> None:
    rebrandly = Rebrandly(rebrandly_link(1))
    rebrandly.faults.extend([lambda _: Answer(status, b"Unauthorized")] * 2)
    with pytest.raises(WrongToken), source_of("rebrandly", rebrandly, token="wrong") as source:
        await source.check()


async def test_refuses_the_key_of_another_workspace() -> None:
    with source_of("rebrandly", Rebrandly()) as source, pytest.raises(WrongToken, match="workspace"):
        await source.link_page("another:1")


async def test_stops_an_endless_list() -> None:
    rebrandly = Rebrandly(*map(rebrandly_link, range(30)))
    rebrandly.is_endless = True
    with source_of("rebrandly", rebrandly) as source, pytest.raises(UnexpectedAnswer, match="again and again"):
        await read_pages(source)
