"""Recognizes bots by their user agent: crawlers, and fetchers of link previews.

The patterns come from crawler-user-agents, copies of two other lists (bot_lists/), and our own rules. A program that
people run to follow a link is not a bot: HTTP clients, headless browsers and browsers inside apps count as people.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from waypost.resources.clicks.model import CRAWLER, HUMAN, PREVIEW

if TYPE_CHECKING:
    import ua_parser_rs

_MAX_LENGTH = 512  # bytes of a user agent to examine: bots name themselves earlier
_MAX_NAME_LENGTH = 100
_CACHE_SIZE = 4_096
_LISTS = Path(__file__).parent / "bot_lists"

OWN_PATTERNS = {
    # programs for computers with a browser inside, such as chats whose servers fetch previews by the same name
    r"^Mozilla/5\.0 \([^()]+\) AppleWebKit/[^()]+ \(KHTML, like Gecko\)[^()]* Electron/[0-9.]+ Safari/[0-9.]+$": (
        HUMAN,
        "",
    ),
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

FETCHER = "Microsoft Office"
_FETCHERS = re.compile(rb"ms-office|MSOffice|Microsoft Office")
HINT_OF_FETCHER = b"ffice"
"""In each user agent of a fetcher: a fast test for lines of the spool."""

BotKind = Literal["crawler", "preview"]


@dataclass(frozen=True, slots=True)
class Bot:
    name: str
    kind: BotKind


def is_fetcher(user_agent: bytes) -> bool:
    """Return whether it is a program that requests a link before it opens a browser with it.

    Word, Excel and Outlook do so, but not always: a visit of theirs alone is one of a person.
    """
    return _FETCHERS.search(user_agent[:_MAX_LENGTH]) is not None


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
    rules = [(f"(?i){pattern}", kind) for pattern, kind in RULES]
    return _extractor([*own, *from_package, *from_lists, *rules])


@cache
def _names() -> "ua_parser_rs.UserAgentExtractor":
    return _extractor([(f"(?i){pattern}", "$1") for pattern in NAME_PATTERNS])


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


# Rules for user agents that no list has: bots that declare themselves, and people whose user agent looks similar.
# Patterns in Rust's syntax, case-insensitive; the first match decides. They take linear time for any text, because the
# engine supports neither look-around nor backreferences.

BOT = "bot"

_STARTS_LIKE_BROWSER = r"""^["'= ]*(?:user-agent:? ?)*["']?mozilla"""

_HTTP_CLIENTS = (
    # command lines and desktop tools
    *("curl", "wget2?", "httpie", "xh", "aria2", "axel", "lftp", "postmanruntime", "insomnia", "paw", "bruno"),
    *("rapidapi", "powershell", "windowspowershell", "w3m", "lynx", "links", "elinks", "dillo", "netsurf", "emacs"),
    # Python, Perl, Ruby, PHP
    *("python", "cpython", "pypy", "aiohttp", "httpx", "pycurl", "python-[a-z0-9]+", "urllib3?", "grequests"),
    *("libwww[a-z-]*", "lwp[a-z-]*", "lwp::[a-z]+", "perl", "www-mechanize", "www::mechanize", "mojolicious", "furl"),
    *("anyevent(?:-http)?", "gt::www", "ruby", "faraday", "typhoeus", "httparty", "rest-client", "excon"),
    *("mechanize", "curb", "eventmachine", "twisted", "php", "php-[a-z]+", "guzzle(?:http)?", "symfony", "pecl"),
    *("pear", "buzz", "snoopy", "cakephp", "coldfusion", "lucee"),
    # Go, Rust, C, C++, .NET, PowerShell, Swift
    *("go", "go-[a-z-]+", "fasthttp", "go-resty", "resty", "reqwest", "hyper", "ureq", "isahc", "attohttpc"),
    *("libcurl", r"boost\.beast", r"c\+\+ rest sdk", "gsoap", "libsoup", "neon", "serf", "qtnetwork"),
    *(r"winhttp[a-z0-9.]*", "wininet", "nghttp2", "synapse", "restsharp", "flurl", "anglesharp", "dotnet", r"\.net"),
    *("indy", "embarcadero", "alamofire", "afnetworking", "cfnetwork"),
    # Java, Kotlin, Scala, Erlang, Dart, JavaScript
    *("java", "java[0-9-][a-z0-9.-]*", "jdk", "apache-http[a-z]*", "jakarta", "jersey", "jetty", "okhttp3?", "jaunt"),
    *("dispatch", "ktor", "ktor-client", r"vert\.x[a-z.-]*", "reactornetty", "spring", "spray-can", "feign"),
    *("unirest-java", "ahc", "sttp", "http4s", "hackney", "gun", "mint", "finch", "dalvik", "dart", "axios", "node"),
    *("node-[a-z.-]+", r"node\.js", "undici", "got", "needle", "superagent", "bun", "deno", "electron-fetch"),
    r"requests?(?:\.js)?",
    # other languages, packages and copies of files
    *("r", "r-curl", "httr2?", "julia", "lua", "haskell", "cohttp", "wolfram", "matlab"),
    # any other name of an HTTP client
    *(r"[a-z0-9:_.-]*https?[ _-]?(?:requests?|requester|lite|lib2?|components?|get|kit|tiny|unit|c)?", "amphp"),
    *("ipworks", r"[a-z0-9:_.-]* ?http[a-z_ -]*client", r"[a-z0-9:_.-]*http(?:::|\.)[a-z0-9:_.-]*", "git"),
    *("git-[a-z-]+", "docker", "containerd", "pip", "npm", "pnpm", "yarn", "cargo", "composer", "maven", "gradle"),
    *("twine", "apache-maven", "homebrew", "conda", "microsoft-webdav-miniredir", "davclnt", "gvfs", "boto3?"),
    "aws-sdk-[a-z]+",
)
"""People run them to follow a link. Each is the first word of a user agent."""

_APPS = (
    # browsers, players, mail
    *("icab", "sleipnir", "hotjava", "ncsa[ _]mosaic", "konqueror", "iceweasel", "icecat", "gnu", "shiira"),
    *("ibrowse", "lunascape", "internet explorer", "dreampassport", "iceape", "chrome", "opera", "firefox", "safari"),
    *("vlc", "libvlc", "lavf", "mpv", "gstreamer", "nsplayer", "windows-media-player", "applecoremedia"),
    *("stagefright", "itunes", "quicktime", "winamp", "foobar2000", "media player", "realplayer", "shareaza"),
    *("audacious", "music player", "polycom[a-z_-]*", "microsoft (?:office|outlook|excel|word|powerpoint|onenote)"),
    *("outlook-[a-z]+", "macoutlook", "thunderbird", "mail", "airmail", "postbox", "foxmail", "amazon cloudfront"),
    *("apple-[a-z]+", "adobe"),
)
"""Programs for people that do not start like a browser. Each is the first word of a user agent."""

_DEVICE_WORDS = (
    *("cfnetwork/", "dalvik/", r"\bandroid", "iphone", r"\bipad", r"\bipod", r"\bios\b", r"\bdarwin\b", "blackberry"),
    *("midp", "cldc", "ucweb", "ucbrowser", r"up\.(?:browser|link)", r"\bwap[0-9]?\b", "j2me", "symbian"),
    *("series ?60", "netfront", "obigo", "teleca", "openwave", r"\bmaui\b", r"\bbrew\b", "nokia", "sonyericsson"),
    *("samsung", "docomo", "kddi", "vodafone", "softbank", "j-phone", "emobile", "portalmmm", "hiptop"),
    *("^(?:lg|zte|htc|huawei|lenovo)[-/_]", "playstation", r"\bps vita", "nintendo", "dreamcast", "sega", r"\bxbox"),
    *("smart-?tv", "hbbtv", r"\bweb ?[o0]s\b", r"\b(?:tv|watch)os\b", r"\bwatch[0-9]", "apple ?tv", "vizio"),
    *(r"\baft[a-z]", "netflix", "hybridcast", "sonos", "airplay", "palm", "libvlc", r"\bup/[0-9]", r"\bopr/[0-9]"),
    *("^amazon;", "^echo/", "^sie-", r"\bscale/[0-9]", "roku", "crkey", "tizen", "kindle", "kobo", "khtml", "gecko"),
    *("trident", "msie", "webkit", "presto", "netscape", "browser", "firefox/", "chrome/", "safari/", "opera"),
)
"""Words of phones, televisions and consoles, and of browser engines."""

_OPERATING_SYSTEMS = (
    *("windows", r"\bwin(?:xp|nt|[0-9]{1,2})\b", "macintosh", "mac ?os", r"\bos ?x\b", "mac_powerpc", r"\bx11\b"),
    *("linux", "ubuntu", "sunos", "openvms", "[a-z]bsd", "beos", "amiga", "risc os", "palmos", "cros"),
)

_BROWSERS_WITH_ADDRESS = (
    *(r"bsalsa\.com", "qtweb", "(?:avant|orca|advanced) ?browser", "googleweblight", "google wireless transcoder"),
    *("maui_browser", "thefreedictionary", "^(?:xbmc|kodi)/"),
)

_DEVICE_NAMES = (
    r"cu_?bot",
    r"andr[o0]id[^;()]*;[^()]*(?:bot|spider|crawl)[^;()/]* build/",
    r"andr[o0]id[^;()]*; ?(?:[a-z-]{2,5}; ?)?[^;()/]*(?:bot|spider|crawl)[^;()/]*\)",
    "htc_botdugls",
    "hbbtv/",
)
"""Phones and televisions with names like bots."""

_BOT_PURPOSES = (
    *("fetch(?:er|or|ing)?", "monitor(?:ing)?", "check(?:er|s|ing)?", "validat(?:or|ion|e)", "scan(?:ner|ning)?"),
    *("archiv(?:er|e|ing)", "uptime", "extract(?:or|ion)", "scrap(?:er|e|ing|y)", "grab(?:ber)?"),
    *("screen-?shots?(?:er)?", "harvest(?:er)?", "detect(?:or|ion)", "pars(?:er|ing)", "probe", "synthetics?"),
    *("survey", "research", "sitemap", "seo", "slurp", "index(?:er|ing)", "verif(?:y|ier|ication)", "analy[sz]er"),
    *("analytics", "audit(?:or)?", "resolver", "diagnostics?", "observatory", "prospect(?:or|ing)", "benchmark"),
    *("pagespeed", "collector", "pentest", "vuln", "thumbnail(?:s|er)?", "thumb(?:shots?|s)?", "crawl", "feeds?"),
    *("rss", "preview(?:er)?", "inspect(?:or|ion)"),
)
"""Purposes of bots."""


def _first_word(words: tuple[str, ...]) -> str:
    return rf"^(?:{'|'.join(words)})(?:[/ ,;_(]|$)"


def _any(words: tuple[str, ...]) -> str:
    return "|".join(words)


RULES = (
    (_first_word(_HTTP_CLIENTS), HUMAN),
    (_any(_BROWSERS_WITH_ADDRESS), HUMAN),
    # a URL or email address for contact
    (r"https?:|\bwww\.|mailto:", BOT),
    (r"[a-z0-9_.+-]+ ?@ ?[a-z][a-z0-9.-]*\.[a-z]{2,}", BOT),
    (r"[a-z](?: at |\[at\]|\(at\)| \(?at\)? )[a-z0-9-]+(?: dot |\.|\[dot\]|\(dot\))[a-z]", BOT),
    # not a name but an injection attempt
    (r"\$\{|\{\{|\(\) ?\{|<(?:script|img|input|iframe|video|svg)|/bin/", BOT),
    # its name
    (_any(_DEVICE_NAMES), HUMAN),
    (r"bots?(?:[^a-z]|$)|(?:^|[^a-z])bot|robot|b0t\b|crawl|spider|spyder|heritrix|nutch", BOT),
    # a comment where browsers have none
    (r"\(khtml, like gecko; [a-z]|(?:\)|safari/[0-9.]+|firefox/[0-9.]+) \(compatible; [a-ln-su-z]", BOT),
    (r"\(compatible; ?konqueror", HUMAN),
    (r"^mozilla/5\.0 ?\(compatible; ?\+?[a-z][a-z0-9._-]*/v?[0-9]", BOT),
    # its purpose; on phones these words are names of models and apps
    (r"\bandroid [0-9]|\((?:iphone|ipad|ipod)|cfnetwork/|^microsoft ", HUMAN),
    (rf"(?:{_any(_BOT_PURPOSES)})(?:[^a-z]|$)", BOT),
    # no sign of a browser, a phone or a system
    (rf"{_any(_DEVICE_WORDS)}|{_any(_OPERATING_SYSTEMS)}", HUMAN),
    (_first_word(_APPS), HUMAN),
    (r"^mozilla/5\.0 \(compatible[; a-z-]{0,8}\)$", HUMAN),
    (r"^mozilla/5\.0[ ;(+].*(?-i:[a-z]{4})", BOT),
    (r"^yandex[a-z]*/", BOT),
    (_STARTS_LIKE_BROWSER, HUMAN),
    (r"^(?-i:[a-z0-9]+|[A-Z0-9]+|[A-Z][a-z]+|.{0,3})$", HUMAN),
    (r"^[a-z]", BOT),
)

NAME_PATTERNS = (
    # "...bot", without the preceding part of a URL or path
    r"(?:^|[ ;(,/])([a-z0-9][a-z0-9_.!-]{0,60}(?:bot|crawler|spider)[a-z0-9_-]{0,30})",
    r"compatible[;,] ?\+?([a-z0-9][^;/(),]{0,60})",
    r"like gecko; ?([a-z][^;/(),]{0,60})",
    rf"^mozilla.*[ ;(]([a-z0-9_-]{{0,60}}(?:{_any(_BOT_PURPOSES)})[a-z0-9_-]{{0,30}})",
    r"^(?:mozilla.*|[^a-z]*)(?:[a-z]+://|@)(?:www\.)?([a-z0-9][a-z0-9.-]{0,60})",
    r"^mozilla/5\.0 ([a-z][^;/(),]{0,60})",
    r"^([a-ln-z0-9][^/;(,]{0,60}|m[a-np-z0-9][^/;(,]{0,60}|mo[^z][^/;(,]{0,60})",
)
"""The first match is the name of the bot."""
