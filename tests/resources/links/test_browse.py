"""GET /v1/links"""

from datetime import timedelta
from urllib.parse import quote

import pytest
from people import BASE_URL
from resources.links.env import SHARED, Env, faults


async def titles(env: Env, query: str) -> list[str]:
    answer = await env.browse(query)
    assert answer.status_code == 200, answer.text
    assert answer.json()["meta"]["total"] == len(answer.json()["data"])
    return [link["title"] for link in answer.json()["data"]]


async def test_lists_links_newest_first_in_pages(env: Env) -> None:
    made = []
    for _ in range(3):
        made.append(await env.make())
        env.clock.move(timedelta(seconds=1))
    await env.make(env.bob)
    answer = await env.browse("?per_page=2")
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
    assert (await env.browse("?per_page=2&page=2")).json()["data"] == [made[0]]


async def test_links_of_the_same_time_are_sorted_by_id(env: Env) -> None:
    made = [await env.make() for _ in range(5)]
    assert (await env.browse()).json()["data"] == made[::-1]


async def test_a_page_past_the_end_is_empty(env: Env) -> None:
    await env.make()
    body = (await env.browse("?page=99999999999999999999")).json()
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
async def test_search_matches_title_slug_and_destination(env: Env, search: str, found: list[str]) -> None:
    await env.make(title="Signs [?*] of patterns", slug="signs")
    await env.make(title="Frühling 100% Ö", slug="abc")
    await env.make(title="Other", slug="Sommer", utm_params={"utm_source": "Brief"})
    assert await titles(env, f"?search={quote(search)}") == found


async def test_refuses_a_search_of_more_than_255_characters(env: Env) -> None:
    answer = await env.browse(f"?search={'_' * 256}")
    assert faults(answer) == {"search": ["This must have at most 255 characters."]}


async def test_search_finds_the_changed_title(env: Env) -> None:
    link = await env.make(title="Before")
    await env.changed(link, title="After")
    assert (await titles(env, "?search=before"), await titles(env, "?search=after")) == ([], ["After"])


async def test_filters_by_tag(env: Env) -> None:
    link = await env.make(title="Both", tags=["a", "b"])
    await env.make(title="One", tags=["a"])
    await env.make(env.bob, tags=["a"])
    assert await titles(env, "?tag=a") == ["One", "Both"]
    assert await titles(env, "?tag=b") == ["Both"]
    assert await titles(env, "?tag=A") == []
    await env.changed(link, tags=["b", "c"])
    assert await titles(env, "?tag=a") == ["One"]
    assert await titles(env, "?tag=c") == ["Both"]


async def test_filters_by_hostname(env: Env) -> None:
    await env.make(title="T")
    assert await titles(env, f"?hostname={SHARED.upper()}") == ["T"]
    assert await titles(env, "?hostname=links.example.com") == []


async def test_filters_by_status(env: Env) -> None:
    await env.make(title="on")
    await env.make(title="expiring", expires_at="2030-01-01T12:00:01Z")
    await env.changed(await env.make(title="off"), status="inactive")
    assert await titles(env, "?status=active") == ["expiring", "on"]
    env.clock.move(timedelta(seconds=1))
    assert await titles(env, "?status=active") == ["on"]
    assert await titles(env, "?status=inactive") == ["off", "expiring"]


async def test_combines_filters(env: Env) -> None:
    await env.make(title="x one", tags=["a"], slug="1")
    await env.make(title="x two", tags=["b"], slug="2")
    await env.make(title="y three", tags=["a"], slug="3")
    assert await titles(env, f"?search=x&tag=a&status=active&hostname={SHARED}") == ["x one"]


async def test_reports_every_problem_at_once(env: Env) -> None:
    answer = await env.browse("?page=0&per_page=x&status=paused&search=a%0Ab&tag=a%00&hostname=%00")
    assert faults(answer).keys() == {"page", "per_page", "status", "search", "tag", "hostname"}


@pytest.mark.parametrize("query", ["?sort=name", "?status=&search=&tag=&hostname=", "?per_page=5000"])
async def test_ignores_blank_and_unknown_parameters(env: Env, query: str) -> None:
    await env.make(title="T")
    assert await titles(env, query) == ["T"]
