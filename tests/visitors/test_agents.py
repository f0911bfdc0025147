"""What a visitor used."""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ua_parser_builtins.lazy import MATCHERS
from visitors.labelled import read_labelled

from bench.user_agents import Agent as Labelled
from bench.user_agents import agents
from waypost.visitors.agents import BROWSERS, PLATFORMS, Agent, parse_user_agent

FIELDS = ("device", "browser", "platform")
IPHONE = b"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"


def test_recognizes_browser_platform_and_device() -> None:
    assert parse_user_agent(IPHONE + b" Version/18.5 Mobile/15E148 Safari/604.1") == Agent("Safari", "iOS", "mobile")


def test_classifies_the_sample_mix() -> None:
    people: list[Labelled] = [agent for agent in agents() if agent.kind == "human"]
    reported = {agent.raw: parse_user_agent(agent.raw) for agent in people}
    expected = {agent.raw: Agent(agent.browser, agent.platform, agent.device) for agent in people}  # type: ignore[arg-type]
    assert {raw: (reported[raw], expected[raw]) for raw in reported if reported[raw] != expected[raw]} == {}


def what_people_send() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a user agent, and for each field the value that is right, or several."""
    cases = Path(__file__).parent / "cases"
    for line in (cases / "user_agents.jsonl").read_text().splitlines():
        case = json.loads(line)
        yield case["user_agent"], {name: case[name] for name in FIELDS if case[name]}
    with (cases / "more_user_agents.tsv").open(newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield row["user_agent"], {name: row[name] for name in FIELDS}


@pytest.mark.parametrize(("user_agent", "right"), list(what_people_send()))
def test_what_people_send(user_agent: str, right: dict[str, Any]) -> None:
    agent = parse_user_agent(user_agent.encode())
    for name, values in right.items():
        assert getattr(agent, name) in ([values] if isinstance(values, str) else values)


def test_devices_on_lists_of_others() -> None:
    """`make models` reports the same for all of the lists that this is a part of."""
    rows = read_labelled()
    wrong = Counter(row.device for row in rows if parse_user_agent(row.user_agent.encode()).device != row.device)
    phones = sum(row.device == "mobile" for row in rows)
    assert wrong.total() / len(rows) < 0.03
    assert wrong["mobile"] / phones < 0.01
    assert len(rows) > 1_000


@pytest.mark.parametrize(
    "user_agent",
    [b"", b"-", b"\0\xff\xfe", b"Mozilla/5.0", b"Mozilla/5.0 " + b"x" * 8_192, b"\xf0\x9f\x98\x80" * 2_000],
)
def test_the_unknown(user_agent: bytes) -> None:
    assert parse_user_agent(user_agent) == Agent("Other", "Other", "other")


@pytest.mark.parametrize(
    ("user_agent", "device"),
    [
        (b"Mozilla/5.0 (Linux; Android 13; SM-X700) AppleWebKit/537.36 Chrome/142.0 Safari/537.36", "tablet"),
        (b"Mozilla/5.0 (Linux; Android 13; SM-X700) AppleWebKit/537.36 Chrome/142.0 Mobile Safari/537.36", "tablet"),
        (b"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/142.0 Safari/537.36", "tablet"),
        (b"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/142.0 Mobile Safari/537.36", "mobile"),
        (b"Mozilla/5.0 (Linux; Android 12; BRAVIA 4K VH2) AppleWebKit/537.36 Chrome/142.0 Safari/537.36", "other"),
        (b"Mozilla/5.0 (Linux; Android 12; Quest 3) AppleWebKit/537.36 OculusBrowser/35.2 VR Safari/537.36", "other"),
        (b"Mozilla/5.0 (X11; Linux x86_64; Quest 3) OculusBrowser/35.2 SamsungBrowser/4.0 VR Safari/537.36", "other"),
        (b"Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/130.0 Safari/537.36 SamsungBrowser/28.0", "desktop"),
        (b"Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1.22621.4249", "other"),
        (b"Mozilla/5.0 (Windows Phone 10.0; Android 6.0.1; Microsoft; Lumia 950) Chrome/52 Mobile Edge/15", "mobile"),
        (b"Mozilla/5.0 (Mobile; LYF/F90M; rv:48.0) Gecko/48.0 Firefox/48.0 KAIOS/2.5", "mobile"),
        (b"MyApp/1 CFNetwork/1496.0.7 Darwin/23.5.0", "other"),
    ],
)
def test_devices(user_agent: bytes, device: str) -> None:
    assert parse_user_agent(user_agent).device == device


def test_tablets_of_samsung_that_ask_for_the_page_of_computers() -> None:
    user_agent = b"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 SamsungBrowser/28.0 Chrome/130.0 Safari/537.36"
    assert parse_user_agent(user_agent) == Agent("Samsung Internet", "Android", "tablet")


@given(st.binary(max_size=9_000), st.sampled_from([b"", b"/1 CFNetwork/1496.0.7 Darwin/23.5.0", b"-iPad4,1/1.0"]))
@example(b"A\0\x01\x85" + b"p" * 900, b"/1 CFNetwork/1496.0.7 Darwin/23.5.0")
def test_accepts_any_bytes(begin: bytes, end: bytes) -> None:
    agent = parse_user_agent(begin + end)
    assert 0 < len(agent.browser) <= 40
    assert 0 < len(agent.platform) <= 40
    assert (agent.browser + agent.platform).isprintable()


WORDS = st.text("ABCdefg 0123-_", min_size=12, max_size=40)
"""Longer than any word of theirs."""

OF_ANY_NAME = (
    "{}/1.2 CFNetwork/12 Darwin/19",
    "{}-iPad/1.2 CFNetwork/12 Darwin/19",
    "{}-iPhone/1.2 CFNetwork/12 Darwin/19",
    "x/{}Spider 1.0",
    "{}: BotName/$BotVersion/2.1",
    "{} Indexer/1.0",
    "{} Mybot 3",
    "{} the crawler",
    "HbbTV/1.4.1 (x; {};x 2014 x)",
    "Mozilla/5.0 ({}; {} NT 10.0) {}/3.1 Safari/{}",
)


@given(WORDS, st.sampled_from(OF_ANY_NAME))
def test_a_visitor_cannot_make_up_names(word: str, pattern: str) -> None:
    found = parse_user_agent(pattern.format(*[word] * 4).encode())
    assert not any(part in found.browser + found.platform for part in word.split() if len(part) > 5)
    assert found.browser in {"Other", "HbbTV", "Safari", "Spider", "BotName/$BotVersion"}
    assert found.platform in {"Other", "iOS"}


def test_known_apps_keep_their_names() -> None:
    for name in ("Instagram", "Spotify", "Facebook", "Chrome"):
        assert parse_user_agent(f"{name}/1.2 CFNetwork/12 Darwin/19".encode()).browser == name


@pytest.mark.parametrize(("names", "rows"), [(BROWSERS, MATCHERS[0]), (PLATFORMS, MATCHERS[1])])
def test_the_families_exist_in_ua_parser(names: dict[str, tuple[str, ...]], rows: list[Any]) -> None:
    """Each has one name, and an update that calls one otherwise shows here."""
    families = [family for listed in names.values() for family in listed]
    assert len(families) == len(set(families))
    assert not set(families) & set(names)
    given = {row.family for row in rows}
    assert [family for family in families if family not in given and not any(family in row.regex for row in rows)] == []
