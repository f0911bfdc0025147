"""GET /v1/clicks and GET /v1/links/{id}/clicks"""

import itertools
import random
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from people import BASE_URL, START
from resources.clicks.visited import ON_SQLITE, Env, moment, new_click, some_clicks, spread
from sqlalchemy import insert

from waypost.kit.clock import DAY, microseconds, timestamp
from waypost.resources import links
from waypost.resources.clicks.days import DaySlice
from waypost.resources.clicks.listing import list_latest, slices
from waypost.resources.clicks.model import Click, Subject, click_retention
from waypost.resources.clicks.schemas import to_json
from waypost.resources.clicks.selection import ClickSelection
from waypost.resources.links import store

HOUR = timedelta(hours=1)


@pytest.fixture
async def link(env: Env) -> links.Link:
    return await env.link()


async def ids(env: Env, path: str, **query: Any) -> list[str]:
    """Of all pages, which have to fit together."""
    first = await env.shown(path, **query)
    found = [each["id"] for each in first["data"]]
    for page in range(2, first["meta"]["last_page"] + 1):
        found += [each["id"] for each in (await env.shown(path, **query, page=page))["data"]]
    assert first["meta"]["total"] == len(found)
    return found


def newest(made: list[Click]) -> list[str]:
    return [to_json(click)["id"] for click in sorted(made, key=lambda click: (click.at, click.id), reverse=True)]


async def test_lists_clicks_of_a_link_and_of_an_account(env: Env, link: links.Link) -> None:
    older = new_click(link, START - HOUR * 48)
    click = new_click(
        link, START, ip="192.0.2.1", country="DE", visitor_id=-2, referrer="https://news.example/a", is_scan=True
    )
    await env.fill([older, click])
    reported = {
        "id": to_json(click)["id"],
        "link_id": str(link.id),
        "ip": "192.0.2.1",
        "country": "DE",
        "visitor_id": "fffffffffffffffe",
        "referrer": "https://news.example/a",
        "device": "mobile",
        "browser": "Firefox",
        "platform": "Android",
        "created_at": "2030-01-01T12:00:00.000000Z",
        "is_scan": True,
        "kind": "human",
        "bot": None,
    }
    path = f"{BASE_URL}/api/v1/links/{link.id}/clicks"
    answer = await env.shown(f"/links/{link.id}/clicks", per_page=1)
    assert list(answer["data"][0]) == list(reported)
    assert answer == {
        "data": [reported],
        "links": {
            "first": f"{path}?per_page=1&page=1",
            "last": f"{path}?per_page=1&page=2",
            "prev": None,
            "next": f"{path}?per_page=1&page=2",
        },
        "meta": {"current_page": 1, "from": 1, "last_page": 2, "path": path, "per_page": 1, "to": 1, "total": 2},
    }
    assert (await env.shown("/clicks"))["data"] == [reported, to_json(older)]
    assert (await env.shown("/clicks", who=env.bob))["data"] == []


async def test_pages_over_busy_and_empty_days(env: Env, link: links.Link) -> None:
    chance = random.Random(1)
    moments = spread(START - 60 * 24 * HOUR, START - 40 * 24 * HOUR, 30, chance) + spread(
        START - HOUR, START, 30, chance
    )
    made = some_clicks(link, moments, chance)
    # of one moment, the later id is the newer
    made[:2] = [click._replace(at=microseconds(START), day=made[-1].day) for click in made[:2]]
    await env.fill(made)
    people = [click for click in made if click.kind == "human"]
    for per_page in (7, 15, 100):
        assert await ids(env, "/clicks", per_page=per_page) == newest(people)
        assert await ids(env, f"/links/{link.id}/clicks", per_page=per_page, kind="all") == newest(made)


FILTERS = [
    {"kind": "crawler"},
    {"kind": "prefetch"},
    {"country": "fr"},
    {"country": "unknown"},
    {"referrer": "https://ä.example/"},
    {"referrer": "direct"},
    {"device": "desktop", "country": "DE"},
    {"device": "desktop", "browser": "Firefox"},
    {"device": "desktop", "browser": "Firefox", "platform": "Android"},
    {"browser": "fox"},
    {"platform": "roid"},
    {"device": "mobile", "kind": "preview"},
    {"country": "DE", "kind": "all"},
    {"browser": "firefox"},
    {"platform": "Android"},
]


async def test_filters_by_every_field(env: Env, link: links.Link) -> None:
    chance = random.Random(2)
    made = some_clicks(link, spread(START - 72 * HOUR, START, 150, chance), chance)
    other = await env.link()
    await env.fill(made + some_clicks(other, [START], chance))
    for query in FILTERS:
        env.clock.move(timedelta(minutes=1))  # with a new budget of requests
        kind = query.get("kind", "human")
        expected = {"kind": kind} | query | ({"country": query["country"].upper()} if "country" in query else {})
        expected |= {name: "" for name, text in query.items() if text in {"unknown", "direct"}}
        found = [
            each for each in made if all(value in {"all", getattr(each, name)} for name, value in expected.items())
        ]
        assert (len(found) > 0) == (not {"firefox", "fox", "roid"} & set(query.values())), query
        assert await ids(env, "/clicks", link_id=link.id, per_page=100, **query) == newest(found), query
        assert await ids(env, f"/links/{link.id}/clicks", per_page=100, **query) == newest(found), query


async def test_filters_by_time(env: Env, link: links.Link) -> None:
    chance = random.Random(3)
    starts = [None, START - 50 * HOUR, START - 60 * HOUR, START - 2 * HOUR]
    ends = [None, START - HOUR, START - timedelta(microseconds=1), START + 999 * HOUR]
    partial_days = [at for at in (*starts, *ends) if at and at <= START]
    made = some_clicks(link, [*spread(START - 72 * HOUR, START, 100, chance), *partial_days], chance)
    await env.fill(made)
    for start, end, more in itertools.product(starts, ends, ({}, {"country": "DE"})):
        env.clock.move(timedelta(minutes=1))  # with a new budget of requests
        found = [
            click
            for click in made
            if (start is None or start <= moment(click)) and (end is None or moment(click) < end)
            if click.kind == "human" and (not more or click.country == "DE")
        ]
        query = more | {name: timestamp(at) for name, at in (("from", start), ("to", end)) if at}
        assert await ids(env, "/clicks", per_page=30, **query) == newest(found), query


async def test_clicks_of_a_deleted_link_stay_in_the_account(env: Env, link: links.Link) -> None:
    await env.fill([new_click(link)])
    async with env.db.write() as tx:
        await store.hide(tx, [link], START)
    assert (await env.shown("/clicks"))["meta"]["total"] == 1
    assert (await env.get("/clicks", link_id=link.id)).status_code == 404
    assert (await env.get(f"/links/{link.id}/clicks")).status_code == 404


@ON_SQLITE
async def test_another_account_s_link_is_missing(env: Env, link: links.Link) -> None:
    await env.fill([new_click(link)])
    answers = [
        await env.get(path, env.bob, **query)
        for path, query in (
            (f"/links/{link.id}/clicks", {}),
            (f"/links/{uuid4()}/clicks", {}),
            ("/clicks", {"link_id": link.id}),
            ("/clicks", {"link_id": uuid4()}),
        )
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1


async def test_leaves_out_clicks_past_retention(env: Env, link: links.Link) -> None:
    gone, kept = new_click(link, START - 24 * HOUR), new_click(link)
    await env.fill([gone, kept])
    async with env.db.write() as tx:
        await tx.execute(insert(click_retention), {"id": 1, "kept_since": kept.day})
    assert await ids(env, "/clicks") == [to_json(kept)["id"]]
    assert await ids(env, "/clicks", from_="2029-01-01", kind="all") == [to_json(kept)["id"]]


@ON_SQLITE
async def test_reports_all_problems_at_once(env: Env, link: links.Link) -> None:
    wrong = {
        "page": "0",
        "per_page": "x",
        "link_id": link.id.hex,
        "from": "yesterday",
        "to": "tomorrow",
        "country": "Germany",
        "device": "watch",
        "browser": "a\0b",
        "platform": "x" * 2049,
        "referrer": "\n",
        "kind": "robot",
        "colour": "blue",
    }
    answer = await env.get("/clicks", **wrong)
    assert answer.status_code == 422
    errors = answer.json()["error"]["errors"]
    assert set(errors) == set(wrong)
    assert errors["kind"] == ["This must be one of: human, crawler, preview, prefetch, all."]
    assert "Use one of: page, per_page, from, to, kind, country," in errors["colour"][0]
    del wrong["link_id"]
    answer = await env.get(f"/links/{link.id}/clicks", **wrong)
    assert set(answer.json()["error"]["errors"]) == set(wrong)


@ON_SQLITE
async def test_rejects_invalid_values(env: Env) -> None:
    for query, name in (
        ("from=2030-01-02&to=2030-01-01", "from"),
        ("from=2030-01-01&to=2030-01-01", "from"),
        ("kind=human&kind=all", "kind"),
        ("from=9998-01-01&to=9999-12-31", "from"),
        ("from=2029-01-02+0100+0100", "from"),
        ("link_id=", "link_id"),
        ("link_id=,&link_id=%20", "link_id"),
    ):
        answer = await env.get(f"/clicks?{query}")
        assert (answer.status_code, list(answer.json()["error"]["errors"])) == (422, [name]), query


async def test_accepts_times_far_away(env: Env, link: links.Link) -> None:
    await env.fill([new_click(link)])
    for start, end, total in (
        ("0001-01-01", "9999-12-31", 1),
        ("0001-01-01", "0001-01-02", 0),
        (None, "0001-01-01", 0),
        ("0001-01-01", None, 1),
        (None, "9999-12-31", 1),
    ):
        query = {name: at for name, at in (("from_", start), ("to", end)) if at}
        for path in ("/clicks", f"/links/{link.id}/clicks"):
            assert (await env.shown(path, **query))["meta"]["total"] == total, query


@ON_SQLITE
async def test_rejects_a_period_in_the_future(env: Env, link: links.Link) -> None:
    for path in ("/clicks", f"/links/{link.id}/clicks", "/stats", f"/links/{link.id}/stats"):
        for start in (START, START + HOUR):
            reported = await env.get(path, from_=timestamp(start))
            assert reported.status_code == 422, path
            message = "This must be a time in the past. Send an earlier one, or leave it out."
            assert reported.json()["error"]["errors"] == {"from": [message]}
        assert (await env.get(path, from_=timestamp(START - HOUR))).status_code == 200


@ON_SQLITE
async def test_accepts_an_unencoded_plus_in_an_offset(env: Env, link: links.Link) -> None:
    await env.fill([new_click(link, START - HOUR * 2)])
    for offset in ("+01:00", "+0100", "%2B01:00"):
        for start, total in (("2030-01-01T10:59:59.5", 1), ("2030-01-01T11:00:01", 0)):
            answer = await env.client.get(f"/api/v1/clicks?from={start}{offset}", headers=env.alice.headers)
            assert (answer.status_code, answer.json()["meta"]["total"]) == (200, total)


async def test_lists_no_clicks(env: Env, link: links.Link) -> None:
    for path in ("/clicks", f"/links/{link.id}/clicks"):
        assert (await env.shown(path, page=7))["meta"]["total"] == 0


def test_finds_the_slices_of_a_page() -> None:
    def day(number: int) -> DaySlice:
        return DaySlice(0, number, number * DAY, (number + 1) * DAY)

    counted = [(day(9), 5), (day(8), 2), (day(7), 1), (day(6), 50)]
    found = [([part.day for part in each.days], each.skip, each.take) for each in slices(counted, 3, 10)]
    assert found == [([9], 3, 2), ([8, 7], 0, 3), ([6], 0, 5)]
    assert slices(counted, 58, 10) == []
    found = [([part.day for part in each.days], each.skip, each.take) for each in slices(counted, 3, 10, joins=False)]
    assert found == [([9], 3, 2), ([8], 0, 2), ([7], 0, 1), ([6], 0, 5)]


async def test_finds_the_latest_clicks_of_long_ago(env: Env, link: links.Link) -> None:
    ago = [0, 0, 1, 40, 90, 90, 300, 1000]
    people = [new_click(link, START - timedelta(days=days, minutes=place)) for place, days in enumerate(ago)]
    robots = [new_click(link, START, kind="crawler"), new_click(link, START - timedelta(days=90), kind="preview")]
    await env.fill([*people, *robots])
    async with env.click_store.reader(env.db) as reader:
        for subject in (Subject(link.account_id, link.id), Subject(link.account_id)):
            for most in range(1, len(people) + 2):
                found = await list_latest(reader, ClickSelection(subject), most)
                assert [to_json(click)["id"] for click in found] == newest(people)[:most]
        assert await list_latest(reader, ClickSelection(Subject(uuid4())), 3) == []
