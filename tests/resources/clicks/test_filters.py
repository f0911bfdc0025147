"""Filters as they are written in queries and in JSON."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import QueryParams

from waypost.kit.errors import Errors, Problems
from waypost.resources.clicks.filters import (
    ACCOUNT_FILTERS,
    CHOICES,
    EMPTY_WORDS,
    LINK_FILTERS,
    MAX_VALUES,
    SEPARATED,
    Clause,
    Filters,
    FilterValue,
)

ID = "01a1fbb2-2855-72ee-8e77-c161c4205e89"


def read(query: str) -> dict[str, list[str]]:
    """Return the values of each name, those that are excluded with an exclamation mark."""
    problems = Problems()
    filters = Filters.read(QueryParams(query).multi_items(), ACCOUNT_FILTERS, problems)
    assert not problems.errors
    return {each.name: [f"{'!' * value.is_excluded}{value.text}" for value in each.values] for each in filters.clauses}


def problems_of(query: str) -> Errors:
    problems = Problems()
    Filters.read(QueryParams(query).multi_items(), ACCOUNT_FILTERS, problems)
    return problems.errors


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", {}),
        ("page=1&country=", {}),
        ("country=de,AT&country=-ch", {"country": ["DE", "AT", "!CH"]}),
        ("country=DE, ,at,", {"country": ["DE", "AT"]}),
        ("country=DE&country=DE", {"country": ["DE"]}),
        ("country=unknown,-unknown", {"country": ["", "!"]}),
        ("device=mobile,-tablet&is_scan=true", {"device": ["mobile", "!tablet"], "is_scan": ["true"]}),
        ("browser=Mobile Safari,unknown", {"browser": ["Mobile Safari", ""]}),
        ("referrer=direct&referrer=-News.Example", {"referrer": ["", "!news.example"]}),
        ("referrer=https://news.example/A,b", {"referrer": ["https://news.example/A,b"]}),
        ("tag=a,b&tag=-c&tag=none", {"tag": ["a,b", "!c", ""]}),
        (r"tag=\-x&tag=\none&tag=\\-x&tag=\x&tag=--x", {"tag": ["-x", "none", r"\-x", r"\x", "!-x"]}),
        ("tag=-none&utm_term=none", {"tag": ["!"], "utm_term": [""]}),
        ("target=none&target=Gr%C3%BC%C3%9Fe", {"target": ["none", "Grüße"]}),
        ("hostname=GO.example.com,-münchen.example", {"hostname": ["go.example.com", "!xn--mnchen-3ya.example"]}),
        (f"link_id={ID.upper()}", {"link_id": [ID]}),
        ('utm_source=O\'Brien "x"', {"utm_source": ['O\'Brien "x"']}),
    ],
)
def test_reads_queries(query: str, expected: dict[str, list[str]]) -> None:
    assert read(query) == expected


@pytest.mark.parametrize(
    ("query", "name", "message"),
    [
        ("country=Germany", "country", "This must be a two-letter country code, such as DE, or unknown."),
        ("country=DE,ß", "country", "This must be a two-letter country code, such as DE, or unknown."),
        ("device=phone", "device", "This must be one of: desktop, mobile, tablet, other."),
        ("is_scan=yes", "is_scan", "This must be one of: true, false."),
        ("link_id=x", "link_id", "This must be a UUID."),
        ("tag=-", "tag", "Name the value to exclude after the minus sign."),
        ("target=%00", "target", "This must not contain control characters."),
        (f"tag={'x' * 10_240}", "tag", "This must have at most 2048 characters."),
    ],
)
def test_reports_wrong_values_by_name(query: str, name: str, message: str) -> None:
    assert problems_of(f"{query}&browser=Firefox") == {name: [message]}


def test_limits_the_number_of_values() -> None:
    assert not problems_of("&".join(f"tag={number}" for number in range(MAX_VALUES)))
    too_many = f"country=DE&{'&'.join(f'tag={number}' for number in range(10_000))}"
    assert problems_of(too_many) == {"tag": ["All filters together can have at most 200 values."]}


def test_reads_json() -> None:
    problems = Problems()
    content = {"country": ["DE,AT", "-CH"], "tag": "a,b", "device": "", "referrer": []}
    filters = Filters.from_json(content, ACCOUNT_FILTERS, problems)
    assert not problems.errors
    assert filters.to_json() == {"country": ["DE", "AT", "-CH"], "tag": ["a,b"]}
    assert filters == Filters.read(
        [("country", "DE,AT"), ("country", "-CH"), ("tag", "a,b")], ACCOUNT_FILTERS, problems
    )


@pytest.mark.parametrize(
    ("content", "errors"),
    [
        ([], {"filters": ['This must be an object, such as {"country": ["DE", "AT"]}.']}),
        ({"tag": 5}, {"filters.tag": ["This must be a text or a list of texts."]}),
        ({"tag": ["a", None]}, {"filters.tag": ["This must be a text or a list of texts."]}),
        ({"device": ["x"]}, {"filters.device": ["This must be one of: desktop, mobile, tablet, other."]}),
        *(({"link_id": blank}, {"filters.link_id": ["This must be a UUID."]}) for blank in ("", [], [",", " "])),
        ({"tags": "a"}, {"filters.tags": [f"Unknown filter. Use: {', '.join(ACCOUNT_FILTERS)}."]}),
    ],
)
def test_reports_wrong_json_by_name(content: Any, errors: Errors) -> None:
    problems = Problems()
    assert not Filters.from_json(content, ACCOUNT_FILTERS, problems)
    assert problems.errors == errors


def test_ignores_names_of_others() -> None:
    assert Filters.read([("tag", "a"), ("country", "DE")], LINK_FILTERS, Problems()).to_query() == [("country", "DE")]


def test_both_filters_apply() -> None:
    tag = Clause("tag", (FilterValue("a", is_excluded=False),))
    other = Clause("tag", (FilterValue("b", is_excluded=False),))
    assert (Filters((tag,)) & Filters((other,))).clauses == (tag, other)


PLAIN = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=8)
TRICKY = st.text("-\\,nodirectukw ", min_size=1, max_size=8)


@st.composite
def clauses(draw: st.DrawFn) -> Clause:
    name = draw(st.sampled_from([name for name in ACCOUNT_FILTERS if name not in {"link_id", "hostname"}]))
    if name in CHOICES:
        texts = st.sampled_from(CHOICES[name])
    elif name == "country":
        texts = st.sampled_from(["DE", "AT", "T1"])
    else:
        texts = PLAIN | TRICKY
        if name in SEPARATED:
            texts = texts.map(lambda text: text.replace(",", "").strip()).filter(bool)
        if name == "referrer":
            texts = texts.map(str.lower)
    if name in EMPTY_WORDS:
        texts |= st.just("") if name == "country" else st.sampled_from(["", EMPTY_WORDS[name]])
    values = draw(st.lists(st.builds(FilterValue, texts, st.booleans()), min_size=1, unique=True))
    return Clause(name, tuple(values))


@given(st.lists(clauses(), unique_by=lambda clause: clause.name))
def test_what_is_written_is_read_again(expected: list[Clause]) -> None:
    filters, problems = Filters(tuple(expected)), Problems()
    assert Filters.read(filters.to_query(), ACCOUNT_FILTERS, problems) == filters
    assert Filters.from_json(filters.to_json(), ACCOUNT_FILTERS, problems) == filters
    assert not problems.errors
