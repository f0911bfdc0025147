"""What a link gets of the routing that its source has, and what the report says of the rest."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from resources.imports.importing import link

from waypost.kit.fields import parse
from waypost.kit.urls import canonical
from waypost.resources.imports.fitting import DISABLED, NO_PASSWORD, PLAIN, TO_OWN, Fitted, fit, urls_of
from waypost.resources.imports.routing_data import country_rules, rule, variant
from waypost.resources.imports.source import SourceLink
from waypost.resources.links.routing.schemas import RoutingFields, parse_routing

URL = "https://example.com/x"
REFUSED = "https://refused.example/"
NOT_PUBLIC = "This is not public."


def fitted(has_rows: bool = False, **fields: Any) -> Fitted:
    """`fields`: those of a SourceLink, or of a routing."""
    own = {name: fields.pop(name) for name in [*fields] if name in SourceLink.__dataclass_fields__}
    source = link("a", routing=fields or None, **own)
    urls = {url: NOT_PUBLIC if url == REFUSED else canonical(url) for url in urls_of(source)}
    return fit(source, urls, has_rows=has_rows)


def ios(number: int = 1, url: str = URL, **rest: Any) -> dict[str, Any]:
    return rule("platform", ["iOS"], url) | {"name": f"Rule {number}"} | rest


def test_a_link_without_routing_gets_none() -> None:
    assert fitted() is PLAIN
    assert fitted(clicks=12, left_out=["pixels"]) is PLAIN


def test_takes_over_what_fits() -> None:
    got = fitted(
        rules=[ios(url="https://EXAMPLE.com/é")],
        variants=[variant("B", URL, 40)],
        password="open sesame",
        starts_at="2030-01-01T00:00:00.000000Z",
        fallback_url=URL,
    )
    assert [each["destination_url"] for each in got.rules] == ["https://example.com/%C3%A9"]
    assert got.variants == [{"name": "B", "destination_url": URL, "weight": 40}]
    assert (got.password, got.fallback_url, got.starts_at.year if got.starts_at else 0) == ("open sesame", URL, 2030)
    assert (got.is_disabled, got.notes) == (False, [])


@pytest.mark.parametrize(
    ("fields", "kept", "note"),
    [
        ({"lost_rules": ["a rule by city"]}, 0, f"Left out: a rule by city. {DISABLED}"),
        ({"rules": [ios(), ios(2, REFUSED)]}, 1, f"Left out: a rule. This is not public. {DISABLED}"),
        (
            {"rules": [rule("country", ["XX"], URL), ios()]},
            1,
            "Left out: a rule. This must be an ISO 3166-1 country code of two letters, such as DE. " + DISABLED,
        ),
        ({"rules": [ios(number) for number in range(21)]}, 20, f"Left out: rules after the first 20. {DISABLED}"),
        (
            {"rules": [ios(conditions=ios()["conditions"] * 6)]},
            0,
            f"Left out: a rule. This must have at most 5 entries. {DISABLED}",
        ),
    ],
)
def test_a_link_that_loses_a_rule_is_disabled(fields: dict[str, Any], kept: int, note: str) -> None:
    got = fitted(**fields)
    assert (len(got.rules), got.is_disabled, got.notes) == (kept, True, [note])


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"password": "abc"}, "The password cannot be used. The password must have 4 to 128 characters"),
        ({"password": "$2b$10$N9qo8uLOickgx2ZMRZoMye"}, "The password cannot be read"),
        ({"has_unreadable_password": True}, "The password cannot be read"),
    ],
)
def test_a_link_without_its_password_is_disabled(fields: dict[str, Any], note: str) -> None:
    got = fitted(**fields)
    assert (got.password, got.lacks_password, got.is_disabled) == (None, True, True)
    assert got.notes == [f"{note}. {NO_PASSWORD}"]


def test_loses_variants_and_fallback_without_disabling_the_link() -> None:
    got = fitted(variants=[variant("B", REFUSED, 10), variant("C", URL, 0)], fallback_url=REFUSED)
    assert (got.variants, got.fallback_url, got.is_disabled) == ([], None, False)
    assert got.notes == [
        f"Left out: a variant. This is not public. {TO_OWN}",
        "Left out: the URL after the end. This is not public. Its visitors get the not-found page",
    ]


@pytest.mark.parametrize(
    ("sent", "weights"),
    [([60, 40], [60, 40]), ([150, 50], [75, 25]), ([1000, *[1] * 9], [91, *[1] * 9]), ([10] * 11, [10] * 10)],
)
def test_scales_weights_of_more_than_100(sent: list[int], weights: list[int]) -> None:
    got = fitted(variants=[variant(f"V{number}", URL, weight) for number, weight in enumerate(sent)])
    assert [each["weight"] for each in got.variants] == weights
    assert len(got.notes) == (sent != weights)


def test_only_urls_that_a_link_may_have_are_checked() -> None:
    rules = [ios(number, f"{URL}/rule/{number}") for number in range(1000)]
    variants = [variant(f"V{number}", f"{URL}/variant/{number}", number % 2) for number in range(1000)]
    urls = [*urls_of(link("a", routing={"rules": rules, "variants": variants, "fallback_url": URL}))]
    assert urls == [
        *(f"{URL}/rule/{number}" for number in range(20)),
        *(f"{URL}/variant/{number}" for number in range(1, 21, 2)),
        URL,
    ]
    got = fitted(rules=rules, variants=variants)
    assert (len(got.rules), len(got.variants), len(got.notes)) == (20, 10, 2)


def test_gives_each_rule_a_name_of_its_own() -> None:
    rules = [ios(name=name) for name in ("default", "B", "iOS", "iOS", "iOS", "", "a\x00", "x" * 300)]
    got = fitted(rules=rules, variants=[variant("B", URL, 1)])
    names = [each["name"] for each in got.rules]
    assert names == ["default (2)", "B (2)", "iOS", "iOS (2)", "iOS (3)", "Rule 6", "Rule 7", "x" * 235]
    assert got.notes == []


def test_countries_of_one_destination_are_one_rule() -> None:
    every = [f"{one}{two}" for one in "ABCDEFGHIJ" for two in "ABCDEFGHIJ"]
    assert len(country_rules(dict.fromkeys(every, URL))) == 1


@pytest.mark.parametrize(
    ("clicks", "bots", "has_rows", "limit"),
    [
        (0, 0, False, 100),
        (40, 5, False, 60),
        (40, 5, True, 95),
        (40, 200, True, 1),
        (100, 5, False, None),
        (100, 5, True, None),
    ],
)
def test_a_limit_is_what_is_left_unless_clicks_come_along(
    clicks: int, bots: int, has_rows: bool, limit: int | None
) -> None:
    got = fitted(has_rows, clicks=clicks, bot_clicks=bots, click_limit=100)
    assert (got.click_limit, got.is_disabled) == (limit, limit is None)


def test_says_that_a_limit_counts_from_0() -> None:
    got = fitted(click_limit=2**40)
    assert (got.click_limit, len(got.notes)) == (2**31 - 1, 1)


ODD = st.text(max_size=300) | st.sampled_from(["iOS", "DE", "default", "B", ""])
RULES = st.lists(
    st.builds(
        rule,
        st.sampled_from(["platform", "device", "country", "language", "query", "schedule", "other"]),
        st.lists(ODD, max_size=6),
        st.sampled_from([URL, REFUSED]),
    ),
    max_size=25,
)
VARIANTS = st.lists(
    st.builds(variant, st.sampled_from([*"BCDEFGHIJKLMN"]), st.sampled_from([URL, REFUSED]), st.integers(-5, 10_000)),
    max_size=13,
    unique_by=lambda each: each["name"],
)


@given(RULES, VARIANTS, st.none() | st.text(max_size=140), st.integers(-5, 10**12))
def test_what_is_taken_over_is_valid(rules: list[Any], variants: list[Any], password: str | None, limit: int) -> None:
    got = fitted(rules=rules, variants=variants, password=password, click_limit=limit, clicks=3)
    sent = {"rules": [*got.rules], "variants": [*got.variants], "password": got.password}
    fields, problems = parse(RoutingFields, sent | {"click_limit": got.click_limit})
    parse_routing(fields, problems)
    assert problems.errors == {}
    assert got.is_disabled or len(got.rules) == len(rules)
    assert got.is_disabled or got.password == (password or None)
    assert bool(got.notes) or not got.is_disabled
