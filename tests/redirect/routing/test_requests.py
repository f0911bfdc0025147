"""The visitor of a request: read late, from bounded parts of its headers; variants are shared by weight."""

import asyncio
from collections import Counter
from ipaddress import ip_network
from typing import Any

import pytest

from waypost.kit.errors import SettingsError
from waypost.redirect.request import read_request
from waypost.redirect.routing import requests
from waypost.redirect.routing.compiled import compile_routing
from waypost.redirect.routing.requests import RequestVisitor, VisitorReader
from waypost.redirect.routing.rules import Routing, decide

NOW = 1_764_000_000.0
DAY = 86_400
LINK = b"0" * 32
FIREFOX = b"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
COUNTRIES = {"192.0.2.1": "DE", "192.0.2.2": "FR"}


def reader(key: bytes = b"key", trusted: str = "") -> VisitorReader:
    made = VisitorReader(lambda: COUNTRIES.__getitem__, [ip_network(trusted)] if trusted else [], key)
    made.country_of_address = lambda address: COUNTRIES.get(address, "")
    return made


def visitor(
    address: str = "192.0.2.1",
    agent: bytes = FIREFOX,
    language: bytes = b"",
    query: bytes = b"",
    forwarded_for: bytes = b"",
    link: bytes = LINK,
    of: VisitorReader | None = None,
) -> RequestVisitor:
    headers = {b"x-forwarded-for": forwarded_for, b"user-agent": agent, b"accept-language": language}
    return (of or reader()).read(link, read_request(headers, query, address.encode(), reader))


def routing(*types: str) -> Routing:
    conditions = [{"type": type_, "values": ["DE"]} for type_ in types]
    return compile_routing([{"name": "A", "conditions": conditions, "destination_url": "https://example.com"}], [])


def variants(*weights: int) -> Routing:
    return compile_routing(
        [],
        [
            {"name": f"V{index}", "weight": weight, "destination_url": f"https://example.com/{index}"}
            for index, weight in enumerate(weights)
        ],
    )


def test_reads_all_parts() -> None:
    person = visitor(language=b"de-AT, en;q=0.5", query=b"a=1&a=2")
    assert (person.agent.platform, person.country, person.language) == ("Linux", "DE", "de")
    assert person.query == {b"a": {b"1", b"2"}}


def test_reads_nothing_that_no_condition_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("parse_user_agent", "preferred_language", "parse_query"):
        monkeypatch.setattr(requests, name, lambda _: pytest.fail("was read"))
    assert decide(routing("country"), visitor(), NOW).target == "A"


def test_the_address_is_that_of_statistics() -> None:
    behind = reader(trusted="192.0.2.1")
    assert visitor(forwarded_for=b"192.0.2.2", of=behind).country == "FR"
    assert visitor(forwarded_for=b"192.0.2.2").country == "DE"
    assert visitor("::ffff:192.0.2.2").country == "FR"


@pytest.mark.parametrize(
    "fields",
    [
        {"language": b"de," * 20_000},
        {"agent": b"\xff" * 65_536},
        {"agent": b"Mozilla/5.0 (" * 5_000},
        {"query": b"%" * 65_536},
        {"query": b"a=1&" * 16_000},
        {"forwarded_for": b"1," * 30_000},
        {"address": "/run/socket"},
        {"address": ""},
    ],
)
def test_hostile_headers_are_answered(fields: dict[str, Any]) -> None:
    person = visitor(**fields, of=reader(trusted="0.0.0.0/0"))
    assert person.agent.browser
    assert len(person.language) <= 8
    assert len(person.query) <= 100
    assert 0 <= person.draw(1) < 100
    assert len(person.country) in {0, 2}


def test_a_visitor_keeps_its_variant_all_day() -> None:
    midnight = NOW // DAY * DAY
    choices = [
        {decide(variants(50), visitor(f"192.0.2.{number}"), midnight + hours * 3_600) for hours in range(24)}
        for number in range(20)
    ]
    assert all(len(choice) == 1 for choice in choices)
    assert len(set.union(*choices)) == 2


def test_the_variant_depends_on_visitor_link_day_and_key() -> None:
    def drawn(day: int = 1, key: bytes = b"key", **fields: Any) -> list[int]:
        return [visitor(f"2001:db8::{number}", of=reader(key), **fields).draw(day) for number in range(20)]

    assert drawn() == drawn()
    others = [drawn(2), drawn(key=b"other"), drawn(agent=b"curl"), drawn(link=b"1" * 32)]
    assert all(other != drawn() for other in others)


@pytest.mark.parametrize("weights", [(50, 50), (30, 60), (1, 99), (10,)])
def test_variants_are_shared_by_weight(weights: tuple[int, ...]) -> None:
    """Within two points for 10,000 visitors."""
    counts: Counter[str] = Counter()
    split, of = variants(*weights), reader()
    for number in range(10_000):
        counts[decide(split, visitor(f"10.0.{number >> 8}.{number & 255}", of=of), NOW).target] += 1
    for index, weight in enumerate(weights):
        assert abs(counts[f"V{index}"] / 100 - weight) < 2
    assert abs(counts["default"] / 100 - (100 - sum(weights))) < 2


async def test_loads_only_what_a_routing_needs() -> None:
    opened: list[str] = []

    def open_countries() -> Any:
        opened.append("countries")
        return lambda _: "DE"

    of = VisitorReader(open_countries, [], b"key")
    assert of.has_loaded(routing("language"))
    assert of.has_loaded(variants(50))
    assert not of.has_loaded(routing("platform"))
    await of.load(routing("platform"))
    assert of.has_loaded(routing("platform", "device", "browser"))
    assert not of.has_loaded(routing("platform", "country"))
    assert opened == []
    await asyncio.gather(*(of.load(routing("country")) for _ in range(3)))
    assert opened == ["countries"]
    assert of.has_loaded(routing("platform", "country"))
    assert visitor(of=of).country == "DE"


async def test_without_the_country_file_countries_are_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    def open_countries() -> Any:
        raise SettingsError("WAYPOST_GEOIP_DATABASE: /srv/country.mmdb: No such file or directory")

    of = VisitorReader(open_countries, [], b"key")
    await of.load(routing("country"))
    assert of.has_loaded(routing("country"))
    assert visitor(of=of).country == ""
    assert "/srv/country.mmdb" in capsys.readouterr().out
