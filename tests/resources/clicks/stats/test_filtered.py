"""Filters of statistics and lists of clicks: all numbers equal a plain count over all clicks."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from domains import domain
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from people import START
from resources.clicks.visited import ON_SQLITE, SHARED, Env, moment, new_click, read_page, read_statistics, spread

from waypost.kit.clock import EPOCH, parse_timestamp, timestamp
from waypost.kit.pagination import PageRequest
from waypost.resources import links
from waypost.resources.clicks import selection
from waypost.resources.clicks.backends.clickhouse import ClickHouseStore
from waypost.resources.clicks.backends.clickhouse.read import ClickHouseReader
from waypost.resources.clicks.backends.sql import count
from waypost.resources.clicks.backends.sql.read import SqlReader
from waypost.resources.clicks.filters import ACCOUNT_FILTERS, LINK_FILTERS, Clause, Filters, FilterValue
from waypost.resources.clicks.model import KINDS, Click, Subject
from waypost.resources.clicks.schemas import to_json
from waypost.resources.links import store

HOUR = timedelta(hours=1)
DAY = 24 * HOUR
CUSTOM = "x.example"
FIELDS = {
    "countries": "country",
    "referrers": "referrer",
    "devices": "device",
    "browsers": "browser",
    "platforms": "platform",
    "targets": "target",
}
LABELS = {
    "tags": "tag",
    "hostnames": "hostname",
    "utm_sources": "utm_source",
    "utm_mediums": "utm_medium",
    "utm_campaigns": "utm_campaign",
}
VALUES: Mapping[str, Sequence[str]] = {
    "country": ["DE", "FR", "US", ""],
    "device": ["mobile", "desktop", "tablet", "other"],
    "browser": ["Firefox", "Mobile Safari", ""],
    "platform": ["Android", "iOS"],
    "referrer": ["", "https://a.example/", "https://a.example/b", "http://a.example:81/", "https://ä.example/x%20y"],
    "target": ["", "Grüße", 'O\'Brien "x"', "-a", "default"],
}
WRITTEN: Mapping[str, Sequence[str]] = {
    "country": ["DE", "fr", "unknown", "T1"],
    "device": ["mobile", "desktop", "tablet"],
    "browser": ["Firefox", "Mobile Safari", "unknown"],
    "platform": ["Android", "Fuchsia"],
    "referrer": ["direct", "a.example", "A.example:81", "https://a.example/b", "https://ä.example/x%20y", "example"],
    "target": ["Grüße", 'O\'Brien "x"', r"\-a", "default"],
    "is_scan": ["true", "false"],
    "tag": ["spring", "O'Brien, \\x", "none", "absent"],
    "hostname": [CUSTOM, SHARED, "absent.example"],
    "utm_source": ["mail", "none"],
    "utm_medium": ["none", "print"],
    "utm_campaign": ["spring", "Ünïcode"],
    "utm_term": ["none", "shoes"],
    "utm_content": ["footer"],
}
"""As queries have them. Those of links follow."""


class World:
    def __init__(self, env: Env, links: list[links.Link], labels: dict[bytes, dict[str, list[str]]], made: list[Click]):
        """`labels`: by link its tags, hostname and UTM parameters."""
        self.env = env
        self.links = links
        self.labels = labels
        self.made = made


@pytest.fixture
async def world(env: Env, monkeypatch: pytest.MonkeyPatch) -> World:
    """An account with six links, of which one is deleted. A day has more clicks than one statement counts."""
    monkeypatch.setattr(count, "BATCH_SIZE", 25)
    monkeypatch.setattr(selection, "FEW_LINKS", 2)
    chance = random.Random(3)
    own = await domain(env.db, env.alice.account_id, CUSTOM)
    made_links = [
        await env.link(),
        await env.link(tags=["spring"], utm_params={"utm_source": "mail", "utm_campaign": "spring"}),
        await env.link(tags=["spring", "O'Brien, \\x"], domain_id=own, hostname=CUSTOM),
        await env.link(utm_params={"utm_medium": "print", "utm_campaign": "Ünïcode", "utm_term": "shoes"}),
        await env.link(tags=["other"], domain_id=own, hostname=CUSTOM, utm_params={"utm_content": "footer"}),
        await env.link(tags=["spring"], domain_id=own, hostname=CUSTOM, utm_params={"utm_source": "mail"}),
    ]
    foreign = await env.link(env.bob, tags=["spring"])
    made = [new_visit(link, at, chance) for link in made_links for at in spread(START - 5 * DAY, START, 60, chance)]
    await env.fill([*made, *(new_visit(foreign, at, chance) for at in spread(START - DAY, START, 9, chance))])
    async with env.db.write() as tx:
        await store.hide(tx, [made_links[-1]], START)
    labels = {link.id.bytes: labels_of(link, is_deleted=link is made_links[-1]) for link in made_links}
    return World(env, made_links, labels, made)


def labels_of(link: links.Link, *, is_deleted: bool) -> dict[str, list[str]]:
    return {
        "link_id": [str(link.id)],
        "tag": [] if is_deleted else link.tags,
        "hostname": [link.hostname or SHARED],
        **{f"utm_{name}": [] for name in ("source", "medium", "campaign", "term", "content")},
        **{name: [text] for name, text in link.utm_params.items()},
    }


def new_visit(link: links.Link, at: datetime, chance: random.Random) -> Click:
    click = new_click(link, at, kind=chance.choices(KINDS, (12, 1, 1, 1))[0], is_scan=chance.random() < 0.3)
    fields = {name: chance.choice(values) for name, values in VALUES.items()}
    if click.kind != "human":
        fields["target"] = ""
    return click._replace(visitor_id=click.day * 1000 + chance.randrange(12) - 6, **fields)


def has(world: World, click: Click, name: str, text: str) -> bool:
    """Whether the click has the value as a query writes it."""
    if name in ACCOUNT_FILTERS[len(LINK_FILTERS) :]:
        values = world.labels[click.link_id][name]
        return not values if text == "none" else text in values
    value = getattr(click, name)
    if name == "is_scan":
        return value is (text == "true")
    if text in {"unknown", "direct"}:
        return value == ""
    if name == "referrer" and "://" not in text:
        return urlsplit(value).netloc == text.lower()
    return value == (text.upper() if name == "country" else text.removeprefix("\\"))


def matches(world: World, click: Click, filters: Sequence[tuple[str, str]]) -> bool:
    included, excluded = defaultdict(list), []
    for name, text in filters:
        if name == "target" and click.kind != "human":
            continue
        if text.startswith("-"):
            excluded.append((name, text[1:]))
        else:
            included[name].append(text)
    return all(any(has(world, click, name, text) for text in texts) for name, texts in included.items()) and not any(
        has(world, click, name, text) for name, text in excluded
    )


def totals(came: Sequence[Click]) -> dict[str, int]:
    return {
        "clicks": len(came),
        "visitors": len({(click.day, click.visitor_id) for click in came}),
        "scans": sum(click.is_scan for click in came),
    }


def entries(values: Iterator[tuple[str, Click]], *, has_visitors: bool) -> list[dict[str, Any]]:
    by_value = defaultdict(list)
    for value, click in values:
        by_value[value].append(click)
    found = [{"value": value} | totals(clicks) for value, clicks in by_value.items()]
    names = ("value", "clicks", "visitors") if has_visitors else ("value", "clicks")
    ordered = sorted(found, key=lambda each: (-each["clicks"], each["value"].encode()))
    return [{name: each[name] for name in names} for each in ordered]


def check(world: World, stats: Mapping[str, Any], visits: Sequence[Click], *, has_visitors: bool) -> None:
    """`visits`: those that match, of people and bots, in the time range."""
    came, kinds = [click for click in visits if click.kind == "human"], Counter(click.kind for click in visits)
    assert totals(came).items() <= stats.items()
    assert (stats["crawlers"], stats["previews"]) == (kinds["crawler"], kinds["preview"])
    moments = [moment(click) for click in came]
    assert stats["first_clicked_at"] == (timestamp(min(moments)) if moments else None)
    assert stats["last_clicked_at"] == (timestamp(max(moments)) if moments else None)
    check_series(stats, came)
    local = Counter(
        (at.isoweekday(), at.hour) for at in (each.astimezone(ZoneInfo(stats["timezone"])) for each in moments)
    )
    assert [(each["weekday"], each["hour"], each["clicks"]) for each in stats["hours"]] == [
        (*hour, count) for hour, count in sorted(local.items())
    ]
    for shown, name in FIELDS.items():
        if shown in stats:
            values = ((getattr(click, name), click) for click in came if name != "target" or click.target)
            assert stats[shown] == entries(values, has_visitors=has_visitors), shown
    for shown, name in LABELS.items():
        if shown in stats:
            values = ((value, click) for click in came for value in world.labels[click.link_id][name])
            assert stats[shown] == entries(values, has_visitors=has_visitors), shown
    if "top_links" in stats:
        values = ((str(UUID(bytes=click.link_id)), click) for click in came)
        expected = entries(values, has_visitors=has_visitors)
        assert [
            {"value": each["link_id"]} | {name: each[name] for name in ("clicks", "visitors") if name in each}
            for each in stats["top_links"]
        ] == expected


def check_series(stats: Mapping[str, Any], came: Sequence[Click]) -> None:
    begins = [parse_timestamp(entry["at"]) for entry in stats["series"]]
    for entry, begin, end in zip(stats["series"], begins, [*begins[1:], START + 400 * DAY], strict=True):
        within = [click for click in came if begin <= moment(click) < end]
        assert entry == {"at": timestamp(begin)} | totals(within)


NAMED = st.sampled_from([(name, text) for name, texts in WRITTEN.items() for text in texts])
EDGES = st.sampled_from([START - 2 * DAY, START - 30 * HOUR, START - 12 * HOUR]) | st.integers(
    0, 5 * 86_400_000_000 - 1
).map(lambda at: START - 5 * DAY + timedelta(microseconds=at))


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    filters=st.lists(st.tuples(NAMED, st.booleans()), max_size=4),
    linked=st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=2),
    range_=st.none() | st.tuples(EDGES, EDGES).filter(lambda pair: pair[0] != pair[1]).map(sorted),
    interval=st.sampled_from(["hour", "day", "week"]),
    zone=st.sampled_from(["UTC", "America/New_York", "Asia/Kathmandu"]),
    of_link=st.booleans(),
    has_visitors=st.booleans(),
    comparison=st.sampled_from([None, None, "previous_period"]),
)
@example([(("device", "mobile"), True), (("device", "desktop"), True)], [], None, "day", "UTC", False, False, None)
async def test_statistics_and_lists_equal_a_plain_count(
    world: World,
    filters: list[tuple[tuple[str, str], bool]],
    linked: list[tuple[int, bool]],
    range_: list[datetime] | None,
    interval: str,
    zone: str,
    of_link: bool,
    has_visitors: bool,
    comparison: str | None,
) -> None:
    env = world.env
    sent = [(name, f"{'-' * is_excluded}{text}") for (name, text), is_excluded in filters]
    sent += [("link_id", f"{'-' * is_excluded}{world.links[index].id}") for index, is_excluded in linked]
    account, made = env.alice.account_id, world.made
    subject = Subject(account, world.links[2].id) if of_link else Subject(account)
    if of_link:
        made = [click for click in made if click.link_id == world.links[2].id.bytes]
        sent = [(name, text) for name, text in sent if name in LINK_FILTERS]
    start, end = range_ or (START - 5 * DAY, START)
    times = [("from", timestamp(start)), ("to", timestamp(end))]
    matching = [click for click in made if matches(world, click, sent)]
    visits = [click for click in matching if start <= moment(click) < end]
    query = [*sent, *times, ("interval", interval), ("timezone", zone)]
    query += [("visitors", "true")] if has_visitors else []
    query += [("compare", comparison)] if comparison else []
    stats = await read_statistics(env.db, env.click_store, subject, query, START)
    check(world, stats, visits, has_visitors=has_visitors)
    if comparison:
        before = parse_timestamp(stats["previous"]["from"]), parse_timestamp(stats["previous"]["to"])
        came = [click for click in matching if click.kind == "human" and before[0] <= moment(click) < before[1]]
        assert totals(came).items() <= stats["previous"].items()
        check_series(stats["previous"], came)
    for kind in ("human", "all"):
        sent_list, request = [*sent, *times, ("kind", kind)], PageRequest(1, 100)
        shown = await read_page(env.db, env.click_store, subject, sent_list, request, START)
        listed = [click for click in visits if kind in {"all", click.kind}]
        if kind == "all":  # there, bots have to have the target, too
            listed = [click for click in listed if matches_target(world, click, sent)]
        newest = sorted(listed, key=lambda click: (click.at, click.id), reverse=True)
        assert shown == {"total": len(newest), "clicks": [to_json(each) for each in newest[:100]]}


def matches_target(world: World, click: Click, sent: Sequence[tuple[str, str]]) -> bool:
    return matches(world, click._replace(kind="human"), [each for each in sent if each[0] == "target"])


AWKWARD = ["'", '"', "\\", "\\\\'", "%_", "{a}", "{a:String}", ":a", "--", "a,b", "😀", "x" * 2_000]


async def test_two_hundred_awkward_values_are_values(env: Env) -> None:
    """Nothing in them is SQL, a parameter or a pattern; and many are no problem."""
    link = await env.link()
    await env.fill([new_click(link, target=text, browser="x") for text in AWKWARD])
    many = [*AWKWARD, *(f"{number} ' \\ {'y' * 1_000}" for number in range(187))]
    excluded = Clause("target", tuple(FilterValue(text, is_excluded=True) for text in AWKWARD[:4]))
    for values, expected in ((many, len(AWKWARD)), (AWKWARD[1:2], 1), (AWKWARD[3:4], 1), ([], len(AWKWARD) - 4)):
        included = Clause("target", tuple(FilterValue(text, is_excluded=False) for text in values))
        query = [*Filters((included if values else excluded,)).to_query(), ("browser", "x")]
        stats = await read_statistics(env.db, env.click_store, Subject(env.alice.account_id), query, env.clock())
        assert stats["clicks"] == expected, values


async def test_days_whose_clicks_were_deleted(env: Env) -> None:
    one, other, third = await env.link(tags=["a", "b"]), await env.link(tags=["a"]), await env.link()
    days = [START - days * DAY for days in (9, 8, 2, 1)]
    await env.fill([new_click(link, at, visitor_id=at.day) for link in (one, other, other, third) for at in days])
    kept_since = (START - 5 * DAY - EPOCH).days
    await env.delete_clicks(kept_since)
    answer = await env.get("/stats", country="DE")
    assert answer.status_code == 422
    message = "Only clicks since 2029-12-27T00:00:00.000000Z are kept, and filters need them. Choose a later start."
    assert answer.json()["error"]["errors"] == {"from": [message]}
    assert (await env.get("/stats", country="DE", from_="2029-12-27T00:00:00.000000Z")).status_code == 200
    compared = await env.get("/stats", country="DE", from_="2029-12-27", compare="previous_period")
    assert compared.json()["error"]["errors"] == {"compare": [message]}

    of_links = (await env.shown("/stats", tag="a", from_="2029-12-23"))["data"]
    assert (of_links["clicks"], of_links["visitors"]) == (12, None)
    assert of_links["countries"] == [{"value": "DE", "clicks": 12}]
    assert [each["clicks"] for each in of_links["top_links"]] == [8, 4]
    assert of_links["tags"] == [{"value": "a", "clicks": 12}, {"value": "b", "clicks": 4}]
    assert sum(each["clicks"] for each in of_links["hours"]) == 12
    shown = {each["at"][:10]: (each["clicks"], each["visitors"]) for each in of_links["series"] if each["clicks"]}
    assert shown == {"2029-12-23": (3, None), "2029-12-24": (3, None), "2029-12-30": (3, 1), "2029-12-31": (3, 1)}
    assert of_links["first_clicked_at"] == timestamp(days[0])

    of_one = (await env.shown("/stats", tag="b", from_="2029-12-23"))["data"]
    assert (of_one["clicks"], of_one["visitors"], of_one["tags"][1]["clicks"]) == (4, 4, 4)
    with_visitors = (await env.shown("/stats", visitors="true", from_="2029-12-23"))["data"]
    assert (with_visitors["clicks"], with_visitors["visitors"]) == (16, 4)
    assert with_visitors["countries"] == [{"value": "DE", "clicks": 16, "visitors": None}]


async def test_too_many_clicks_are_an_error_that_names_a_later_start(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    link = await env.link()
    await env.fill([new_click(link, START - days * DAY) for days in range(10) for _ in range(10)])
    for reader in (SqlReader, ClickHouseReader):
        monkeypatch.setattr(reader, "max_counted", 45)
    for path in ("/stats", f"/links/{link.id}/stats"):
        errors = (await env.get(path, country="DE")).json()["error"]["errors"]
        text = "There are about 100 visits in this time range, too many to count. Start later, at "
        assert errors == {"from": [f"{text}2029-12-28T12:00:00.000000Z."]}
        counted = (await env.shown(path, country="DE", from_="2029-12-28T12:00:00Z"))["data"]
        assert counted["clicks"] == 50
        assert (await env.get(path)).status_code == 200
    compared = {"country": "DE", "from": "2029-12-29", "compare": "previous_period"}
    assert (await env.get("/stats", **compared)).status_code == 200
    monkeypatch.setattr(count, "COUNT_SECONDS", -1)
    if not isinstance(env.click_store, ClickHouseStore):
        slow = (await env.get("/stats", country="DE", from_="2029-12-29")).json()["error"]["errors"]
        assert slow["from"][0].endswith("Start later, at 2029-12-31T00:00:00.000000Z.")


async def test_filters_that_select_links_are_for_accounts(env: Env) -> None:
    own, foreign = await env.link(), await env.link(env.bob)
    async with env.db.write() as tx:
        await store.hide(tx, [deleted := await links.get(tx, own.account_id, own.id)], START)
    for link in (foreign, deleted):
        for path in ("/stats", "/clicks"):
            assert (await env.get(path, link_id=str(link.id))).status_code == 404
            assert (await env.get(path, link_id=f"-{link.id}")).status_code == 404
    other = await env.link()
    for path in (f"/links/{other.id}/stats", f"/links/{other.id}/clicks"):
        answer = await env.get(path, tag="a", link_id=str(other.id))
        assert answer.status_code == 422
        assert set(answer.json()["error"]["errors"]) == {"tag", "link_id"}
    assert (await env.shown("/stats", tag="absent"))["data"]["clicks"] == 0


@ON_SQLITE
async def test_a_renamed_tag_is_absent(env: Env) -> None:
    """A page that is open shows the filter, and nothing matches it any more."""
    link = await env.link(tags=["old"])
    await env.fill([new_click(link)])
    assert (await env.shown("/stats", tag="old"))["data"]["tags"] == [{"value": "old", "clicks": 1}]
    async with env.db.write() as tx:
        await store.save(tx, [(link, replace(link, tags=["new"]))])
    assert (await env.shown("/stats", tag="old"))["data"]["clicks"] == 0
    assert (await env.shown("/stats"))["data"]["tags"] == [{"value": "new", "clicks": 1}]
