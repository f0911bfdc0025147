"""GET /v1/links/{id}/stats and GET /v1/stats"""

import random
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest
from domains import domain
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from people import START
from resources.clicks.visited import ON_SQLITE, SHARED, Env, moment, new_click, some_clicks, spread

from waypost.kit.clock import parse_timestamp, timestamp
from waypost.resources import links
from waypost.resources.clicks.backends.clickhouse import ClickHouseStore
from waypost.resources.clicks.model import Click
from waypost.resources.links import store
from waypost.resources.links.click_counters import set_imported_clicks

HOUR = timedelta(hours=1)
DAY = 24 * HOUR
CHANGES = [
    ("Europe/Berlin", "2029-03-25T01:00"),
    ("Europe/Berlin", "2029-10-28T01:00"),
    ("America/New_York", "2029-11-04T06:00"),
    ("Australia/Lord_Howe", "2029-03-31T15:00"),
    ("Australia/Lord_Howe", "2029-10-06T15:30"),
    ("Pacific/Chatham", "2029-09-29T14:00"),
    ("Asia/Kolkata", "2029-06-01T00:00"),
    ("Asia/Kathmandu", "2029-06-01T00:00"),
    ("UTC", "2029-06-01T00:00"),
]
"""Zones, and a moment at which clocks there change if they do."""


@pytest.fixture
async def link(env: Env) -> links.Link:
    return await env.link()


def people(made: Sequence[Click], start: datetime, end: datetime) -> list[Click]:
    return [click for click in made if click.kind == "human" and start <= moment(click) < end]


def totals(made: Sequence[Click], start: datetime, end: datetime) -> dict[str, int]:
    came = people(made, start, end)
    return {
        "clicks": len(came),
        "visitors": len({click.visitor_id for click in came}),
        "scans": sum(click.is_scan for click in came),
    }


def values(made: Sequence[Click], name: str) -> list[dict[str, Any]]:
    counts = Counter(getattr(click, name) for click in made)
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0].encode()))
    return [{"value": value, "clicks": count} for value, count in ordered[:50]]


def hours(made: Sequence[Click], zone: str) -> list[dict[str, int]]:
    local = [moment(click).astimezone(ZoneInfo(zone)) for click in made]
    counts = Counter((at.isoweekday(), at.hour) for at in local)
    return [{"weekday": day, "hour": hour, "clicks": count} for (day, hour), count in sorted(counts.items())]


def check(stats: dict[str, Any], made: Sequence[Click], start: datetime, end: datetime) -> None:
    """All statistics equal a count of the clicks themselves."""
    came = people(made, start, end)
    moments = [moment(click) for click in came]
    kinds = Counter(click.kind for click in made if start <= moment(click) < end)
    assert totals(made, start, end).items() <= stats.items()
    assert (stats["crawlers"], stats["previews"]) == (kinds["crawler"], kinds["preview"])
    assert stats["first_clicked_at"] == (timestamp(min(moments)) if moments else None)
    assert stats["last_clicked_at"] == (timestamp(max(moments)) if moments else None)
    begins = [parse_timestamp(entry["at"]) for entry in stats["series"]]
    assert begins[0] <= start
    for entry, begin, until in zip(stats["series"], begins, [*begins[1:], end], strict=True):
        assert entry == {"at": timestamp(begin)} | totals(made, max(begin, start), until)
    for shown, name in (
        ("countries", "country"),
        ("referrers", "referrer"),
        ("devices", "device"),
        ("browsers", "browser"),
        ("platforms", "platform"),
    ):
        assert stats[shown] == values(came, name), name
    assert stats["hours"] == hours(came, stats["timezone"])


async def test_shows_the_statistics_of_a_link(env: Env, link: links.Link) -> None:
    made = [
        new_click(link, START - 25 * HOUR, visitor_id=1, referrer="https://a.example/"),
        new_click(link, START - 2 * HOUR, visitor_id=2, is_scan=True, country="FR"),
        new_click(link, START - HOUR, visitor_id=2, country="FR"),
        new_click(link, START - HOUR, visitor_id=3, kind="crawler", bot="Googlebot"),
    ]
    await env.fill(made)
    stats = await env.stats(link)
    series = stats.pop("series")
    assert stats == {
        "link_id": str(link.id),
        "from": "2029-12-03T00:00:00.000000Z",
        "to": "2030-01-01T12:00:00.000000Z",
        "interval": "day",
        "timezone": "UTC",
        "clicks": 3,
        "visitors": 2,
        "scans": 1,
        "crawlers": 1,
        "previews": 0,
        "first_clicked_at": "2029-12-31T11:00:00.000000Z",
        "last_clicked_at": "2030-01-01T11:00:00.000000Z",
        "countries": [{"value": "FR", "clicks": 2}, {"value": "DE", "clicks": 1}],
        "referrers": [{"value": "", "clicks": 2}, {"value": "https://a.example/", "clicks": 1}],
        "devices": [{"value": "mobile", "clicks": 3}],
        "browsers": [{"value": "Firefox", "clicks": 3}],
        "platforms": [{"value": "Android", "clicks": 3}],
        "hours": [
            {"weekday": 1, "hour": 11, "clicks": 1},
            {"weekday": 2, "hour": 10, "clicks": 1},
            {"weekday": 2, "hour": 11, "clicks": 1},
        ],
        "imported_clicks": 0,
        "targets": [],
    }
    assert len(series) == 30
    assert series[0] == {"at": "2029-12-03T00:00:00.000000Z", "clicks": 0, "visitors": 0, "scans": 0}
    assert series[-2:] == [
        {"at": "2029-12-31T00:00:00.000000Z", "clicks": 1, "visitors": 1, "scans": 0},
        {"at": "2030-01-01T00:00:00.000000Z", "clicks": 2, "visitors": 1, "scans": 1},
    ]


async def test_shows_targets_and_imported_clicks_of_a_link(env: Env) -> None:
    link = await env.link()
    yesterday = START - 26 * HOUR
    await env.fill(
        [
            *(new_click(link, at, target=name) for at in (yesterday, START) for name in ("", "A", "A", "Grüße")),
            new_click(link, yesterday, target="default"),
            new_click(link, yesterday, target="default", kind="crawler", bot="Googlebot"),
        ]
    )
    async with env.db.write() as tx:
        await set_imported_clicks(tx, env.alice.account_id, {link.id: 77})
    stats = await env.stats(link)
    counts = {"A": 4, "Grüße": 2, "default": 1}
    assert stats["targets"] == [{"value": name, "clicks": count} for name, count in counts.items()]
    assert (stats["clicks"], stats["imported_clicks"]) == (9, 77)
    in_part_of_a_day = await env.stats(link, from_=timestamp(START - HOUR))
    assert in_part_of_a_day["targets"] == [{"value": "A", "clicks": 2}, {"value": "Grüße", "clicks": 1}]
    assert not {"targets", "imported_clicks"} & (await env.shown("/stats"))["data"].keys()


async def test_shows_the_statistics_of_an_account(env: Env, link: links.Link) -> None:
    own = await domain(env.db, env.alice.account_id, "x.example")
    other, gone = await env.link(domain_id=own, slug="b"), await env.link()
    foreign = await env.link(env.bob)
    made = [new_click(one, visitor_id=1) for one in (link, other, other, gone, gone, gone)]
    await env.fill([*made, new_click(foreign)])
    async with env.db.write() as tx:
        await store.hide(tx, [gone], START)
    stats = (await env.shown("/stats"))["data"]
    assert (stats["clicks"], stats["visitors"], "link_id" in stats) == (6, 1, False)
    assert list(stats)[-6] == "top_links"
    assert stats["top_links"] == [
        {"link_id": str(gone.id), "short_url": None, "title": None, "clicks": 3},
        {"link_id": str(other.id), "short_url": "x.example/b", "title": "A title", "clicks": 2},
        {"link_id": str(link.id), "short_url": f"{SHARED}/{link.slug}", "title": "A title", "clicks": 1},
    ]


@pytest.mark.parametrize(("zone", "change"), CHANGES)
async def test_statistics_equal_a_count_of_clicks(env: Env, zone: str, change: str) -> None:
    """Whatever the zone, the interval and the period's edges; of the link and, with another link, of the account."""
    chance = random.Random(f"{zone} {change}")
    middle = parse_timestamp(f"{change}Z")
    link, other = await env.link(), await env.link()
    around = [
        *spread(middle - 4 * HOUR, middle + 4 * HOUR, 120, chance),
        *spread(middle - 3 * DAY, middle + 40 * DAY, 180, chance),
    ]
    made, others = some_clicks(link, around, chance), some_clicks(other, around[::3], chance)
    await env.fill(made + others)
    exact = [middle - DAY, middle - 90 * timedelta(minutes=1), middle, middle + 3 * HOUR, middle + 36 * DAY]
    for _ in range(3 if isinstance(env.click_store, ClickHouseStore) else 5):  # there a query takes longer
        ragged = spread(middle - 2 * DAY, middle + 2 * DAY, 2, chance)
        start, end = sorted(chance.sample([*exact, *ragged, *around[:3]], 2))
        interval = chance.choice(["hour", "hour", "day", "week", "month"])
        query = {"from_": timestamp(start), "to": timestamp(end), "interval": interval, "timezone": zone}
        check(await env.stats(link, **query), made, start, end)
        stats = (await env.shown("/stats", **query))["data"]
        check(stats, made + others, start, end)
        tops = Counter(str(UUID(bytes=click.link_id)) for click in people(made + others, start, end))
        assert {top["link_id"]: top["clicks"] for top in stats["top_links"]} == tops


WITHIN = st.integers(-30 * 3600, 30 * 3600).map(lambda seconds: timedelta(seconds=seconds))


@settings(
    max_examples=settings().max_examples // 2,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    visits=st.lists(st.tuples(WITHIN, st.integers(0, 3), st.sampled_from(["human", "human", "preview"])), max_size=30),
    edges=st.tuples(WITHIN, WITHIN).filter(lambda pair: pair[0] != pair[1]).map(sorted),
    around=st.sampled_from(CHANGES),
    interval=st.sampled_from(["hour", "day", "week", "month"]),
)
async def test_any_visits_in_any_time_range(
    env: Env,
    visits: list[tuple[timedelta, int, Any]],
    edges: list[timedelta],
    around: tuple[str, str],
    interval: str,
) -> None:
    zone, middle = around[0], parse_timestamp(f"{around[1]}Z")
    link = await env.link()
    made = [new_click(link, middle + at, kind=kind) for at, _, kind in visits]
    made = [
        click._replace(visitor_id=click.day * 10 + visitor) for click, (_, visitor, _) in zip(made, visits, strict=True)
    ]
    await env.fill(made, ["link_id"])
    start, end = (middle + edge for edge in edges)
    query = {"from_": timestamp(start), "to": timestamp(end), "interval": interval, "timezone": zone}
    check(await env.stats(link, **query), made, start, end)


@ON_SQLITE
async def test_series_begin_at_local_midnights(env: Env, link: links.Link) -> None:
    for zone, change in CHANGES[:4]:
        end = parse_timestamp(f"{change}Z") + 3 * DAY
        stats = await env.stats(link, to=timestamp(end), timezone=zone)
        local = [parse_timestamp(entry["at"]).astimezone(ZoneInfo(zone)) for entry in stats["series"]]
        assert len(local) == 30
        assert {(at.hour, at.minute) for at in local} == {(0, 0)}
        assert stats["from"] == stats["series"][0]["at"]


async def test_all_time_equals_the_link_counter(env: Env, link: links.Link) -> None:
    """Also of clicks that a clock ahead of ours wrote, and of those from before the link as our clock has it."""
    chance = random.Random(5)
    moments = [START + timedelta(seconds=2), START + 13 * HOUR, *spread(START - 900 * DAY, START, 100, chance)]
    await env.fill(some_clicks(link, moments, chance))
    for interval in ("day", "week", "month"):
        stats = await env.stats(link, from_="1970-01-01", interval=interval, timezone="Europe/Berlin")
        async with env.db.read() as tx:
            counter = (await links.get(tx, env.alice.account_id, link.id)).clicks
        assert stats["clicks"] == sum(entry["clicks"] for entry in stats["series"]) == counter > 50


@pytest.mark.parametrize("ahead", [5 * DAY, 40 * 365 * DAY], ids=str)
async def test_clicks_of_clocks_that_are_ahead_are_included(env: Env, link: links.Link, ahead: timedelta) -> None:
    """It is counted up to now, but not up to a moment that is over."""
    made = [new_click(link, START + ahead), new_click(link, START - HOUR), new_click(link, START - 90 * DAY)]
    await env.fill(made)
    for query, count in (({}, 3), ({"to": timestamp(START + HOUR)}, 3), ({"to": timestamp(START - HOUR / 2)}, 2)):
        stats = await env.stats(link, from_="1970-01-01", interval="month", **query)
        assert stats["clicks"] == sum(entry["clicks"] for entry in stats["series"]) == count
        assert stats["countries"] == [{"value": "DE", "clicks": count}]
    async with env.db.read() as tx:
        assert (await links.get(tx, env.alice.account_id, link.id)).clicks == 3
    assert (await env.stats(link))["last_clicked_at"] == timestamp(START + ahead)


async def test_lists_have_the_fifty_largest_values(env: Env, link: links.Link) -> None:
    made = [new_click(link, country=f"{chr(65 + i % 26)}{chr(65 + i // 26)}", visitor_id=i) for i in range(60)]
    made += [new_click(link, START - HOUR, country=country) for country in ("ZZ", "aa")]
    await env.fill(made)
    stats = await env.stats(link, from_=timestamp(START - HOUR))
    assert stats["countries"] == values(made, "country")
    assert len(stats["countries"]) == 50


async def test_statistics_stay_without_click_rows(env: Env, link: links.Link) -> None:
    """A period that begins within a quarter of an hour, without click rows, is read as if it began with the quarter."""
    chance = random.Random(6)
    start = START - 10 * DAY
    made = some_clicks(link, [start, *spread(start, START, 200, chance)], chance)
    await env.fill(made)
    wide, narrow = timestamp(start), timestamp(start + timedelta(minutes=3))
    before = await env.stats(link, from_=wide, interval="hour")
    await env.delete_clicks(new_click(link).day)
    for begin in (wide, narrow):
        stats = await env.stats(link, from_=begin, interval="hour")
        assert {**stats, "from": wide} | {name: before[name] for name in ("countries", "referrers", "devices")} == {
            **before,
            "browsers": stats["browsers"],
            "platforms": stats["platforms"],
        }
        assert stats["countries"] == values(people(made, start - 12 * HOUR, START + DAY), "country")


async def test_a_time_range_without_clicks(env: Env, link: links.Link) -> None:
    stats = await env.stats(link, from_="2029-01-01", to="2029-01-03", interval="month")
    assert stats["series"] == [{"at": "2029-01-01T00:00:00.000000Z", "clicks": 0, "visitors": 0, "scans": 0}]
    assert (stats["clicks"], stats["first_clicked_at"], stats["countries"]) == (0, None, [])
    assert (await env.shown("/stats"))["data"]["top_links"] == []


@ON_SQLITE
async def test_a_missing_link(env: Env, link: links.Link) -> None:
    gone = await env.link()
    async with env.db.write() as tx:
        await store.hide(tx, [gone], START)
    answers = [
        await env.get(f"/links/{link.id}/stats", env.bob),
        *[await env.get(f"/links/{id_}/stats") for id_ in (gone.id, uuid4(), "1")],
    ]
    assert {answer.status_code for answer in answers} == {404}


@ON_SQLITE
async def test_all_problems_are_reported_together(env: Env, link: links.Link) -> None:
    wrong = {"from": "x", "to": "9999-01-01", "interval": "year", "timezone": "Mars/Phobos", "page": "1"}
    for path in ("/stats", f"/links/{link.id}/stats"):
        answer = await env.get(path, **wrong)
        assert answer.status_code == 422
        errors = answer.json()["error"]["errors"]
        assert set(errors) == set(wrong)
        assert errors["page"][0].startswith("Unknown parameter. Use one of: from, to, interval, timezone, compare, ")


@ON_SQLITE
async def test_invalid_parameters(env: Env) -> None:
    for query, name in (
        ("from=2029-01-02&to=2029-01-01", "from"),
        ("from=2029-01-01&to=2029-01-01", "from"),
        ("from=2030-01-02", "from"),
        ("from=1969-12-31", "from"),
        ("from=1970-01-01&interval=hour", "interval"),
        ("timezone=europe/berlin", "timezone"),
        ("timezone=../UTC", "timezone"),
        ("interval=day&interval=week", "interval"),
        ("compare=last_year", "compare"),
        ("compare=previous_period&from=1971-01-01", "compare"),
        ("visitors=yes", "visitors"),
        ("device=phone", "device"),
        ("link_id=1", "link_id"),
        ("link_id=", "link_id"),
        ("link_id=,", "link_id"),
    ):
        answer = await env.get(f"/stats?{query}")
        assert (answer.status_code, list(answer.json()["error"]["errors"])) == (422, [name]), query
