"""Recognizes bots by their user agent: crawlers, and fetchers of link previews.

The patterns come from crawler-user-agents, copies of two other lists (bot_lists/), and our own rules. A program that
people run to follow a link is not a bot: HTTP clients, headless browsers and browsers inside apps count as people.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from waypost.resources.clicks.intake import bot_rules
from waypost.resources.clicks.model import CRAWLER, HUMAN, PREVIEW

if TYPE_CHECKING:
    import ua_parser_rs

_MAX_LENGTH = 512  # bytes of a user agent to examine: bots name themselves earlier
_MAX_NAME_LENGTH = 100
_CACHE_SIZE = 4_096
_LISTS = Path(__file__).parent / "bot_lists"

OWN_PATTERNS = {
    # bots that imitate others, or that others imitate, come first
    r"facebookexternalhit/1\.1 Facebot Twitterbot": (PREVIEW, "iMessage"),
    r"kakaotalk-scrap": (PREVIEW, "KakaoTalk"),
    r"line-poker": (PREVIEW, "LINE"),
    r"Slackbot-LinkExpanding": (PREVIEW, "Slackbot"),
    r"Slack-ImgProxy": (PREVIEW, "Slackbot"),
    r"^WhatsApp(?:/|$)": (PREVIEW, "WhatsApp"),  # inside a browser's user agent it is an app
    r"^Viber": (PREVIEW, "Viber"),
    r"Bluesky Cardyb": (PREVIEW, "Bluesky"),
    r"Google-PageRenderer|developers\.google\.com/\+/web/snippet": (PREVIEW, "Google Page Renderer"),
    r"Pinterest(?:bot)?/.*pinterest\.com/bot": (PREVIEW, "Pinterestbot"),
    r"SkypeUriPreview": (PREVIEW, "Microsoft Teams"),
    r"(Pleroma|Akkoma|Misskey|Rocket\.Chat|ZulipURLPreview|LarkUrl2Meta|Nextcloud Server Crawler)": (PREVIEW, "$1"),
    r"(Yandex[A-Za-z]+)/.*yandex\.com/bots": (CRAWLER, "$1"),
    r"Yahoo! Slurp": (CRAWLER, "Yahoo! Slurp"),
    r"Sogou [A-Za-z]+ ?[sS]pider": (CRAWLER, "Sogou Spider"),  # the package's pattern also matches the browser
}
"""Pattern: kind and name. Matched before the package's patterns."""

UNUSED_PATTERNS = frozenset(
    {
        # HTTP clients: people run them to follow the link
        *("[wW]get", "Python-urllib", "python-requests", "aiohttp", "httpx", "libwww-perl", "httpunit", "lwp-trivial"),
        *("Go-http-client", "Pcore-HTTP", "okhttp", "AHC\\/", "^Apache-HttpClient", "Jetty", "http_get", "axios"),
        *("HttpUrlConnection", "AnyEvent", "^curl", "^PHP-Curl-Class", "node-fetch", "sindresorhus\\/got"),
        *("ALittle Client", "[mM]echanize", "CustomAsyncHttpClient", "^HTTPie\\/", "Indy Library", "BTWebClient"),
        # a network that hides the visitor's user agent
        "Amazon CloudFront",
        # headless browsers, run by people's programs
        *("PhantomJS", "HeadlessChrome", "Playwright", "Puppeteer", "Selenium"),
        # browsers and apps in which people read pages, and an Android build of many phones
        *("Code\\/1\\.", "Trae\\/", "Fluid", "MetaIAB Facebook", "AP3A\\.240617\\.008", "Sogou", "WhatsApp", "Viber"),
        "BW\\/",  # device names may end like this; ^BW\/ stays
    }
)
"""Unused patterns of the package."""

REPLACED_PATTERNS = {
    # apps whose servers use the same name: inside a browser's user agent it is a person
    **{f"{app}\\/": f"^{app}/" for app in ("Notion", "Tumblr", "Bluesky", "Grammarly", "PayPal", "Instapaper")},
    **{f"{app}\\/": f"^{app}/" for app in ("Overcast", "PocketCasts", "Asana", "Retool", "Stripe", "IFTTT", "Klaviyo")},
    "Goodreads": "compatible; Goodreads",
    # words that are also names of phones and apps
    **{word: f"{word}/" for word in ("Butterfly", "Charlotte")},
    **{word: f"^{word}" for word in ("Blackboard", "Magellan", "ds9", "Fever")},
    **{f"{word}\\/": f"^{word}/" for word in ("Make", "RED", "008", "Fetch")},
    **{f"{word}\\/": f"; {word}/" for word in ("WSM", "Operator", "Uptime")},
    "Expanse": "Expanse,",
    "Synapse": "^Synapse",  # the server; a library says (compatible; Synapse)
    "linko": "linko\\.app",
    "Sonic": "Sonic(?:/|Site)",
    "mail\\.ru": "top\\.mail\\.ru",
}
"""Patterns of the package that match people, and their replacements."""

BotKind = Literal["crawler", "preview"]


@dataclass(frozen=True, slots=True)
class Bot:
    name: str
    kind: BotKind


def detect_bot(user_agent: bytes) -> Bot | None:
    """Return None for people. The first call takes some 200 ms, a new user agent 60 µs, a cached one nanoseconds."""
    return _bot_of(user_agent[:_MAX_LENGTH])


@lru_cache(_CACHE_SIZE)
def _bot_of(user_agent: bytes) -> Bot | None:
    text = user_agent.decode("latin-1")
    match = _kinds().extract(text)
    if match is None:
        return None
    kind, _, name = match.family.partition(":")
    if kind == HUMAN:
        return None
    if not _printable(name) and (name_match := _names().extract(text)):
        name = name_match.family
    return Bot(_printable(name) or "Robot", "preview" if kind == PREVIEW else "crawler")


def _printable(name: str) -> str:
    return "".join(filter(str.isprintable, name)).strip(" /;:,()[]<>\"'+-")[:_MAX_NAME_LENGTH]


@cache
def _kinds() -> "ua_parser_rs.UserAgentExtractor":
    own = [(pattern, f"{kind}:{name}") for pattern, (kind, name) in OWN_PATTERNS.items()]
    used = list(used_patterns())
    from_package = [  # one expression per kind takes a third of the memory of one per pattern
        (f"({'|'.join(pattern for pattern, pattern_kind in used if pattern_kind == kind)})", f"{kind}:$1")
        for kind in (PREVIEW, CRAWLER)
    ]
    from_lists = [(f"({'|'.join(patterns)})", f"{CRAWLER}:$1") for patterns in read_lists()]
    rules = [(f"(?i){pattern}", kind) for pattern, kind in bot_rules.RULES]
    return _extractor([*own, *from_package, *from_lists, *rules])


@cache
def _names() -> "ua_parser_rs.UserAgentExtractor":
    return _extractor([(f"(?i){pattern}", "$1") for pattern in bot_rules.NAME_PATTERNS])


def _extractor(rows: list[tuple[str, str]]) -> "ua_parser_rs.UserAgentExtractor":
    import ua_parser_rs  # noqa: PLC0415  # 1 MB, which an idle worker does without

    return ua_parser_rs.UserAgentExtractor((*row, None, None, None, None) for row in rows)


def used_patterns() -> Iterator[tuple[str, str]]:
    """Yield each used pattern of the package with its kind."""
    for pattern, tags in listed_patterns():
        if pattern not in UNUSED_PATTERNS:
            yield REPLACED_PATTERNS.get(pattern, pattern), PREVIEW if "social-preview" in tags else CRAWLER


def listed_patterns() -> list[tuple[str, list[str]]]:
    """Read (pattern, tags) from the file: importing the package would keep half a megabyte of examples in memory."""
    spec = find_spec("crawleruseragents")
    assert spec, "crawler-user-agents is not installed"  # noqa: S101  # it is a dependency
    path = Path(str(spec.origin)).parent / "crawler-user-agents.json"
    with path.open(encoding="utf-8") as file:
        listed: list[tuple[str, list[str]]] = json.load(file, object_hook=lambda row: (row["pattern"], row["tags"]))
    return listed


def read_lists() -> Iterator[list[str]]:
    for path in sorted(_LISTS.glob("*.txt")):
        yield [line for line in path.read_text().splitlines() if not line.startswith("#")]
