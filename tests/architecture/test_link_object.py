"""The link object and the page around it, to the letter and in the documented order."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from architecture.facts import ENDPOINTS, LINK, LINK_STATUSES, PAGE, PAGE_LINKS, PAGE_META, SCOPES, UNTITLED
from architecture.running import BASE_URL, RunningApp

LIST, GET, UPDATE = (ENDPOINTS[f"links_{verb}"] for verb in ("list", "get", "update"))
FULL = {
    "title": "A title",
    "og_title": "Shown",
    "og_description": "Told\nin two lines",
    "og_image": "https://example.com/image.png",
    "utm_params": {"utm_source": "mail"},
    "tags": ["one", "two"],
    "expires_at": "2999-12-31T23:59:59+01:00",
}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


KINDS: dict[str, Callable[[Any], bool]] = {
    "uuid": lambda value: bool(UUID.fullmatch(value)),
    "string": lambda value: isinstance(value, str),
    "timestamp": lambda value: bool(TIMESTAMP.fullmatch(value)),
    "integer": lambda value: type(value) is int,
    "strings": lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
    "uuids": lambda value: isinstance(value, list) and all(UUID.fullmatch(each) for each in value),
    "utm object": lambda value: isinstance(value, dict) and all(key.startswith("utm_") for key in value),
    "status": lambda value: value in LINK_STATUSES,
}


def is_a(kind: str, value: Any) -> bool:
    may_be_null = kind.endswith(" or null")
    return (may_be_null and value is None) or KINDS[kind.removesuffix(" or null")](value)


def assert_link(shown: dict[str, Any]) -> None:
    assert list(shown) == list(LINK)
    assert [name for name, kind in LINK.items() if not is_a(kind, shown[name])] == []


@pytest.fixture
async def key(running: RunningApp) -> str:
    return await running.key(await running.account(), SCOPES)


async def test_has_exactly_the_fields_of_the_specification(running: RunningApp, key: str) -> None:
    link = await running.link(key)
    assert_link(link)
    assert link["short_url"] == f"{link['hostname']}/{link['slug']}"
    assert f"http://{link['hostname']}" == BASE_URL


@pytest.mark.parametrize("fields", [{}, FULL], ids=["bare", "full"])
async def test_it_looks_the_same_wherever_it_is_shown(running: RunningApp, key: str, fields: dict[str, Any]) -> None:
    made = await running.link(key, **fields)
    found = (await running.ask(key, GET, made["id"])).json()
    listed = (await running.ask(key, LIST)).json()
    changed = (await running.ask(key, UPDATE, made["id"], json={})).json()
    for shown in (made, found["data"], listed["data"][0], changed["data"]):
        assert_link(shown)
        assert shown == made
    assert [list(found), list(changed)] == [["data"], ["data"]]


async def test_answers_with_every_field_that_was_sent(running: RunningApp, key: str) -> None:
    link = await running.link(key, **FULL)
    assert {name: link[name] for name in FULL} == FULL | {"expires_at": "2999-12-31T22:59:59.000000Z"}
    assert link["destination_url"] == f"{running.website.url}/?utm_source=mail"


async def test_what_a_page_is(running: RunningApp, key: str) -> None:
    page = (await running.ask(key, LIST)).json()
    assert (tuple(page), tuple(page["links"]), tuple(page["meta"])) == (PAGE, PAGE_LINKS, PAGE_META)


async def test_a_page_that_cannot_be_read_leaves_it_untitled(running: RunningApp, key: str) -> None:
    running.website.html = b""
    assert (await running.link(key))["title"] == UNTITLED
