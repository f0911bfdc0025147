"""Browser, platform and device of a user agent.

ua-parser's patterns find families. Families of the same product share one name here. Names that a visitor invents
become "Other", because statistics keep a row for each name.
"""

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import ua_parser_rs

Device = Literal["desktop", "mobile", "tablet", "other"]
OTHER = "Other"
OTHER_DEVICE: Device = "other"

_MAX_LENGTH = 512  # bytes of a user agent to examine: the relevant parts come earlier
_CACHE_SIZE = 4_096

BROWSERS = {
    "Chrome": ("Chrome Mobile", "Chrome Mobile iOS", "Chrome Mobile WebView"),
    "Headless Chrome": ("HeadlessChrome",),
    "Safari": ("Mobile Safari", "Mobile Safari UI/WKWebView"),
    "Firefox": ("Firefox Mobile", "Firefox iOS", "Firefox Alpha", "Firefox Beta"),
    "Edge": ("Edge Mobile",),
    "Opera": ("Opera Mobile", "Opera Mini", "Opera Touch", "Opera Neon", "Opera Coast", "Opera Tablet"),
    "Internet Explorer": ("IE", "IE Mobile"),
    "Android Browser": ("Android",),
    "DuckDuckGo": ("DuckDuckGo Mobile",),
    "Facebook": ("Facebook Messenger",),
    "WeChat": ("WeChat Browser",),
    "QQ Browser": ("QQ Browser Mobile", "QQ Browser Mini"),
}
"""Our name, and the families of ua-parser that it includes. Other families keep their name."""

PLATFORMS = {
    "webOS": ("Web0S",),
    "macOS": ("Mac OS X", "Mac OS"),
    "Windows": ("Windows Phone", "Windows Mobile"),
    "ChromeOS": ("Chrome OS",),
    "Linux": ("Ubuntu", "Debian", "Fedora", "Red Hat", "SUSE", "Gentoo", "Mandriva", "Arch Linux", "Linux Mint"),
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
    r"YaBrowser/|YaApp_": "Yandex Browser",
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
    r"(FreeBSD|OpenBSD|NetBSD)": "$1",
}
"""Pattern: name. Matched before ua-parser's patterns, which miss these or report what they are built on."""

_BROWSER_NAMES = {family: name for name, families in BROWSERS.items() for family in families}
_PLATFORM_NAMES = {family: name for name, families in PLATFORMS.items() for family in families}

_DESKTOPS = frozenset({"Windows", "macOS", "Linux", "ChromeOS", "FreeBSD", "OpenBSD", "NetBSD"})
_OTHERS = re.compile(  # TVs, consoles, headsets, and programs
    r"TV\b|\bTV|Web0S|NetCast|BRAVIA|\bAFT[A-Z]|CrKey|Roku|PlayStation|Xbox|Nintendo|Oculus|Quest \d|PowerShell"
)
_TABLETS = re.compile(r"iPad|Tablet|PlayBook|Kindle|\bKF[A-Z]{2,5}\b|\bSM-[TPX]\d|Nexus (?:7|9|10)\b")
_PHONES = re.compile(r"Mobi|iPhone|iPod|Windows Phone|BlackBerry|Opera Mini|Symbian|MIDP|KAIOS")
_BROWSER_STARTS = ("Mozilla/", "Opera/")  # programs start with their own name

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
    patterns = _patterns()
    browser, platform = patterns.browsers.extract(text), patterns.platforms.extract(text)
    browser_name = _name(browser.family, _BROWSER_NAMES, patterns.words) if browser else OTHER
    platform_name = _name(platform.family, _PLATFORM_NAMES, patterns.words) if platform else OTHER
    return Agent(browser_name, platform_name, _device(text, platform_name))


def parse_names(browser: str, platform: str, device: str) -> Agent:
    """Return the agent that another service named. What it invents is "Other"."""
    words = _patterns().words
    kind: Device = next((known for known in ("desktop", "mobile", "tablet") if known == device.lower()), OTHER_DEVICE)
    return Agent(_name(browser, _BROWSER_NAMES, words), _name(platform, _PLATFORM_NAMES, words), kind)


def _name(family: str, names: dict[str, str], words: frozenset[str]) -> str:
    """Some patterns find any word. Only those that a pattern names are kept."""
    return names.get(family, family if family in words or family in names.values() else "") or OTHER


def _device(text: str, platform: str) -> Device:
    if _OTHERS.search(text):
        return "other"
    if _TABLETS.search(text):
        return "tablet"
    if _PHONES.search(text):
        return "mobile"
    if not text.startswith(_BROWSER_STARTS):
        return "other"
    if platform == "Android":  # Chrome and Firefox on tablets omit "Mobile"
        return "tablet"
    return "desktop" if platform in _DESKTOPS else "other"


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
        [*own.items(), *((row.regex, row.family) for row in listed)]
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
