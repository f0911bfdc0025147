"""Browser, platform and device of a user agent.

ua-parser's patterns find families. Families of the same product share one name here. Names that a visitor invents
become "Other", because statistics keep a row for each name.
"""

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from waypost.visitors.devices import OTHER_DEVICE, Device, device_of

if TYPE_CHECKING:
    import ua_parser_rs

OTHER = "Other"

_MAX_LENGTH = 512  # bytes of a user agent to examine: the relevant parts come earlier
_CACHE_SIZE = 4_096

ANDROID_BROWSER = "Android Browser"
BROWSERS = {
    "Chrome": ("Chrome Mobile", "Chrome Mobile iOS", "Chrome Mobile WebView"),
    "Headless Chrome": ("HeadlessChrome",),
    "Safari": ("Mobile Safari", "Mobile Safari UI/WKWebView"),
    "Firefox": ("Firefox Mobile", "Firefox iOS", "Firefox Alpha", "Firefox Beta"),
    "Edge": ("Edge Mobile",),
    "Opera": ("Opera Mobile", "Opera Mini", "Opera Touch", "Opera Neon", "Opera Coast", "Opera Tablet"),
    "Internet Explorer": ("IE", "IE Mobile"),
    ANDROID_BROWSER: ("Android",),
    "DuckDuckGo": ("DuckDuckGo Mobile",),
    "Facebook": ("Facebook Messenger",),
    "WeChat": ("WeChat Browser",),
    "QQ Browser": ("QQ Browser Mobile", "QQ Browser Mini"),
}
"""Our name, and the families of ua-parser that it includes. Other families keep their name."""

PLATFORMS = {
    "webOS": ("Web0S",),
    "macOS": ("Mac OS X", "Mac OS"),
    "tvOS": ("ATV OS X",),
    "watchOS": ("WatchOS",),
    "Windows": ("Windows Phone", "Windows Mobile"),
    "ChromeOS": ("Chrome OS",),
    "Android": ("Chromecast Android", "GoogleTV"),
    "Fuchsia": ("Chromecast Fuchsia",),
    "Symbian": ("Symbian OS", "Symbian^3", "Symbian^3 Anna", "Symbian^3 Belle"),
    "Linux": (
        *("Ubuntu", "Debian", "Fedora", "Red Hat", "SUSE", "Gentoo", "Mandriva", "Arch Linux", "Linux Mint", "CentOS"),
        *("Kubuntu", "Lubuntu", "openSUSE", "PCLinuxOS", "Puppy", "BackTrack", "Slackware", "Mageia"),
        # what TVs say that run it
        *("Chromecast Linux", "Chromecast SmartSpeaker", "LG", "Philips", "Samsung"),
    ),
}

OWN_BROWSERS = {
    r"LinkedInApp": "LinkedIn",
    r"MicroMessenger/": "WeChat",
    r"KAKAOTALK": "KakaoTalk",
    r"Telegram-Android/": "Telegram",
    r"Barcelona \d": "Threads",  # its name before it had one
    r"MetaIAB Facebook": "Facebook",
    r"NAVER\(inapp": "Naver",
    r"GSA/": "Google",  # the search app, on iPhones and Android alike
    r"YaBrowser/|YaApp_|YaSearchBrowser/|YandexSearch": "Yandex Browser",
    r"\bReddit/[0-9A-Z]": "Reddit",
    r"\bTeams(?:Mobile-[A-Za-z]+)?/": "Microsoft Teams",
    r"\bQQ/[0-9]": "QQ",  # the chat, whose browser is built on QQ Browser
    r"\bZalo[ /]": "Zalo",
    r"BingSapphire/": "Bing",
    r"__weibo__": "Weibo",
    r"DingTalk": "DingTalk",
    r"AlipayClient": "Alipay",
    r"YJApp-": "Yahoo! Japan",
    r"\bViber/[0-9]": "Viber",
    r"Snapchat": "Snapchat",
    r"GoogleApp/": "Google",
    r"Quark/": "Quark",
    r"MZBrowser/": "Meizu Browser",
    r"OppoBrowser/": "HeyTap Browser",
    r"Sogou(?:Mobile|Search)": "Sogou",
    r"ACHEETAHI/": "CM Browser",
    r"Mobile VR;.* Firefox/": "Firefox",
    r"PicoBrowser/": "Pico Browser",
    r"^(?:Kodi|XBMC)/": "Kodi",
    r"MiuiBrowser/": "MIUI Browser",
    r"VivoBrowser/": "Vivo Browser",
    r"HeyTapBrowser/": "HeyTap Browser",
    r"PlayStation": "PlayStation",
    r"NintendoBrowser|Nintendo Switch": "Nintendo",
    r"Tizen.* TV Safari": "Samsung Internet",
    r"^Dalvik/": "Dalvik",
}
OWN_PLATFORMS = {
    r"PlayStation": "PlayStation",
    r"Nintendo": "Nintendo",
    r"Xbox": "Xbox",
    r"HarmonyOS|OpenHarmony": "HarmonyOS",
    # what Samsung's tablets say, which ask for the page of computers; headsets name themselves after the system
    r"X11; Linux [a-z0-9_]+\).* SamsungBrowser/": "Android",
    # iPads that ask for the page of computers
    r"Macintosh;.*(?:(?:Cr|Fx|Edg|OP)iOS|GSA|Mobile)/": "iOS",
    r"(FreeBSD|OpenBSD|NetBSD)": "$1",
}
"""Pattern: name. Matched before ua-parser's patterns, which miss these or report what they are built on."""

_BROWSER_NAMES = {family: name for name, families in BROWSERS.items() for family in families}
_PLATFORM_NAMES = {family: name for name, families in PLATFORMS.items() for family in families}

_BOTS_BY_NAME = re.compile(r"\^\.\{0,200\}\?.*\[Ss\]\[?p", re.IGNORECASE)
"""The patterns that take "Spider 8", a tablet, for a browser."""

_CASES = {
    word.lower(): word
    for word in (
        *("Mozilla", "AppleWebKit", "KHTML", "Gecko", "Version", "Mobile", "Safari", "Chrome", "Chromium", "Firefox"),
        *("Linux", "Android", "Windows", "NT", "Macintosh", "Intel", "Mac", "OS", "X", "X11", "CrOS", "iPhone", "iPad"),
        *("CPU", "HarmonyOS", "OpenHarmony", "Tizen", "Trident", "MSIE", "Edg", "EdgA", "EdgiOS", "CriOS", "FxiOS"),
        *("OPR", "Opera", "SamsungBrowser", "HuaweiBrowser", "MiuiBrowser", "YaBrowser", "YandexSearch", "GSA"),
        *("Instagram", "FBAN", "FBAV", "Snapchat", "Pinterest", "LinkedInApp", "BytedanceWebview", "MicroMessenger"),
    )
}
"""Words of user agents, for programs that send them in lower case."""
_LOWER_WORD = re.compile("[a-z0-9]+")

_BETWEEN_WORDS = re.compile(r"(?<!\\)[()|]")  # of a pattern


@dataclass(frozen=True, slots=True)
class Agent:
    browser: str
    platform: str
    device: Device


def parse_user_agent(user_agent: bytes) -> Agent:
    """Parse any bytes. Unknown parts are "Other". The first call takes some 100 ms."""
    return _parse_user_agent(user_agent[:_MAX_LENGTH])


@lru_cache(_CACHE_SIZE)
def _parse_user_agent(user_agent: bytes) -> Agent:
    text = user_agent.decode("latin-1")
    if text.islower():
        text = _LOWER_WORD.sub(lambda word: _CASES.get(word[0], word[0]), text)
    patterns = _patterns()
    browser, platform = patterns.browsers.extract(text), patterns.platforms.extract(text)
    browser_name = _name(browser.family, _BROWSER_NAMES, patterns.words) if browser else OTHER
    platform_name = _name(platform.family, _PLATFORM_NAMES, patterns.words) if platform else OTHER
    if browser_name == ANDROID_BROWSER and "AppleWebKit" not in text:  # a program, which only names the system
        browser_name = OTHER
    return Agent(browser_name, platform_name, device_of(text.lower(), platform_name))


def parse_names(browser: str, platform: str, device: str) -> Agent:
    """Return the agent that another service named. What it invents is "Other"."""
    words = _patterns().words
    kind: Device = next((known for known in ("desktop", "mobile", "tablet") if known == device.lower()), OTHER_DEVICE)
    return Agent(_name(browser, _BROWSER_NAMES, words), _name(platform, _PLATFORM_NAMES, words), kind)


def _name(family: str, names: dict[str, str], words: frozenset[str]) -> str:
    """Some patterns find any word. Only those that a pattern names are kept."""
    return names.get(family, family if family in words or family in names.values() else "") or OTHER


@dataclass(frozen=True, slots=True)
class _Patterns:
    browsers: "ua_parser_rs.UserAgentExtractor"
    platforms: "ua_parser_rs.OSExtractor"
    words: frozenset[str]
    """Families, and the words between parentheses and bars of patterns: all names are among these."""


@cache
def _patterns() -> _Patterns:
    """Leave out ua-parser's device patterns, which would take three times the memory of the others."""
    import ua_parser_rs  # noqa: PLC0415  # 1 MB, which an idle worker does without
    from ua_parser_builtins.lazy import MATCHERS  # noqa: PLC0415  # 6 MB that only workers need

    browsers, platforms = (
        [*own.items(), *((row.regex, row.family) for row in listed if not _BOTS_BY_NAME.match(row.regex))]
        for own, listed in ((OWN_BROWSERS, MATCHERS[0]), (OWN_PLATFORMS, MATCHERS[1]))
    )
    words = (
        family.replace("$1", word.replace("\\", ""))
        for pattern, family in (*browsers, *platforms)
        for word in _BETWEEN_WORDS.split(pattern)
    )
    return _Patterns(
        ua_parser_rs.UserAgentExtractor((*row, None, None, None, None) for row in browsers),
        ua_parser_rs.OSExtractor((*row, None, None, None, None) for row in platforms),
        frozenset(words),
    )
