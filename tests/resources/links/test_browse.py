"""GET /v1/links"""

from datetime import timedelta
from urllib.parse import quote

import pytest
from people import BASE_URL
from resources.links.room import SHARED, Room, faults


async def titles(room: Room, query: str) -> list[str]:
    answer = await room.browse(query)
    assert answer.status_code == 200, answer.text
    assert answer.json()["meta"]["total"] == len(answer.json()["data"])
    return [link["title"] for link in answer.json()["data"]]


async def test_it_works(room: Room) -> None:
    made = []
    for _ in range(3):
        made.append(await room.make())
        room.clock.move(timedelta(seconds=1))
    await room.make(room.bob)
    answer = await room.browse("?per_page=2")
    path = f"{BASE_URL}/api/v1/links"
    assert answer.json() == {
        "data": [made[2], made[1]],
        "links": {
            "first": f"{path}?per_page=2&page=1",
            "last": f"{path}?per_page=2&page=2",
            "prev": None,
            "next": f"{path}?per_page=2&page=2",
        },
        "meta": {"current_page": 1, "from": 1, "last_page": 2, "path": path, "per_page": 2, "to": 2, "total": 3},
    }
    assert (await room.browse("?per_page=2&page=2")).json()["data"] == [made[0]]


async def test_of_one_moment_the_later_id_is_newer(room: Room) -> None:
    made = [await room.make() for _ in range(5)]
    assert (await room.browse()).json()["data"] == made[::-1]


async def test_a_page_past_the_end(room: Room) -> None:
    await room.make()
    body = (await room.browse("?page=99999999999999999999")).json()
    assert (body["data"], body["meta"]["from"], body["meta"]["to"], body["meta"]["total"]) == ([], None, None, 1)


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("FRÜHLING", ["Frühling 100% Ö"]),
        ("0% ö", ["Frühling 100% Ö"]),
        ("%", ["Frühling 100% Ö"]),
        ("BC", ["Frühling 100% Ö"]),
        ("sommer", ["Other"]),
        ("SOURCE=brief", ["Other"]),
        ("_", ["Other"]),
        ("page", ["Other", "Frühling 100% Ö", "Signs [?*] of patterns"]),
        ("ling 100%", ["Frühling 100% Ö"]),
        ("lin_ 100", []),
        ("früh%", []),
        ("://", ["Other", "Frühling 100% Ö", "Signs [?*] of patterns"]),
        ("/page", ["Other", "Frühling 100% Ö", "Signs [?*] of patterns"]),
        ("page\\", []),
        ("Ö%abc", []),
        ("nowhere", []),
        ("\\", []),
        ("*", ["Signs [?*] of patterns"]),
        ("[?*]", ["Signs [?*] of patterns"]),
        ("S [?", ["Signs [?*] of patterns"]),
        ("[a-z]", []),
        ("?????", []),
        ("_" * 255, []),
    ],
)
async def test_search_looks_at_title_slug_and_destination(room: Room, search: str, found: list[str]) -> None:
    await room.make(title="Signs [?*] of patterns", slug="signs")
    await room.make(title="Frühling 100% Ö", slug="abc")
    await room.make(title="Other", slug="Sommer", utm_params={"utm_source": "Brief"})
    assert await titles(room, f"?search={quote(search)}") == found


async def test_a_search_of_more_than_255_characters(room: Room) -> None:
    answer = await room.browse(f"?search={'_' * 256}")
    assert faults(answer) == {"search": ["This may have at most 255 characters."]}


async def test_search_follows_a_change(room: Room) -> None:
    link = await room.make(title="Before")
    await room.changed(link, title="After")
    assert (await titles(room, "?search=before"), await titles(room, "?search=after")) == ([], ["After"])


async def test_tag(room: Room) -> None:
    link = await room.make(title="Both", tags=["a", "b"])
    await room.make(title="One", tags=["a"])
    await room.make(room.bob, tags=["a"])
    assert await titles(room, "?tag=a") == ["One", "Both"]
    assert await titles(room, "?tag=b") == ["Both"]
    assert await titles(room, "?tag=A") == []
    await room.changed(link, tags=["b", "c"])
    assert await titles(room, "?tag=a") == ["One"]
    assert await titles(room, "?tag=c") == ["Both"]


async def test_hostname(room: Room) -> None:
    await room.make(title="T")
    assert await titles(room, f"?hostname={SHARED.upper()}") == ["T"]
    assert await titles(room, "?hostname=links.example.com") == []


async def test_status(room: Room) -> None:
    await room.make(title="on")
    await room.make(title="expiring", expires_at="2030-01-01T12:00:01Z")
    await room.changed(await room.make(title="off"), status="inactive")
    assert await titles(room, "?status=active") == ["expiring", "on"]
    room.clock.move(timedelta(seconds=1))
    assert await titles(room, "?status=active") == ["on"]
    assert await titles(room, "?status=inactive") == ["off", "expiring"]


async def test_filters_narrow_together(room: Room) -> None:
    await room.make(title="x one", tags=["a"], slug="1")
    await room.make(title="x two", tags=["b"], slug="2")
    await room.make(title="y three", tags=["a"], slug="3")
    assert await titles(room, f"?search=x&tag=a&status=active&hostname={SHARED}") == ["x one"]


async def test_every_fault_is_told_at_once(room: Room) -> None:
    answer = await room.browse("?page=0&per_page=x&status=paused&search=a%0Ab&tag=a%00&hostname=%00")
    assert faults(answer).keys() == {"page", "per_page", "status", "search", "tag", "hostname"}


@pytest.mark.parametrize("query", ["?sort=name", "?status=&search=&tag=&hostname=", "?per_page=5000"])
async def test_what_narrows_nothing(room: Room, query: str) -> None:
    await room.make(title="T")
    assert await titles(room, query) == ["T"]
