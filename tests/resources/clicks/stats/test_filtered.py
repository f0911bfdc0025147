"""Filters of statistics and lists of clicks: all numbers equal a plain count over all clicks."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from domains import domain
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from people import START
from resources.clicks.visited import SHARED, Env, moment, new_click, read_page, read_statistics, spread

from waypost.kit.clock import parse_timestamp, timestamp
from waypost.kit.pagination import PageRequest
from waypost.resources import links
from waypost.resources.clicks.filters import ACCOUNT_FILTERS, LINK_FILTERS
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
async def world(env: Env) -> World:
    """The account of eight links, of which one is deleted, and more clicks than one statement counts at a time."""
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
