"""The kind of device of a user agent.

The model that an Android device names is looked up in a table (models/, by scripts/make-models), because many browsers
on tablets and TVs call themselves mobile. Words decide the rest.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import ua_parser_rs

Device = Literal["desktop", "mobile", "tablet", "other"]
OTHER_DEVICE: Device = "other"

DEVICES: dict[str, Device] = {"d": "desktop", "m": "mobile", "t": "tablet", "o": "other"}
"""By their letter in the table."""
PHONE = "p"
"""The letter of phones whose browsers may omit "Mobile", as those of tablets do."""
TABLE = Path(__file__).parent / "models" / "models.txt"
SHORTEST_START = 4  # characters of a model that stand for all models that start with them

_PLATFORMS = frozenset({"Windows", "macOS", "Linux", "ChromeOS", "FreeBSD", "OpenBSD", "NetBSD"})
_COMMENT = re.compile(r"(?:andr[o0]id|adr)[^;()]*[;)] ?(.*?)(?:\) *(?:applewebkit|gecko)|\)?$|applewebkit)")
"""What follows the version of Android: language, model, build and more, separated by semicolons."""
_BUILD = re.compile(r" build\b| miui/|/")
_MAKER = re.compile(r"^(?:huawei|honor|samsung|lenovo|xiaomi)[ _-]+")
"""In front of models that are known without it."""
_HEADSET = "oculusbrowser"  # "Quest" is also the model of a phone
_NO_KEY = re.compile(r"[^a-z0-9+]+")

_BROWSER = "browser"
_WORDS: tuple[tuple[str, str], ...] = (
    # computers whose system is one of phones
    (r"\(pc;|2in1;|chromebook|pixelbook", "desktop"),
    # TVs and what is connected to them
    (r"(?:^|[^q])tv\b|\btv(?:_|set|box)|hbbtv|inettv|web0s|netcast|nettv|bravia|viera|\baft[a-z]|crkey", "other"),
    (r"roku|andr0id|\bvstvb|\bomi/|, ?(?:wired|wireless)\)|(?:gw|mr|tivo)-device|\bstb\b|ce-html", "other"),
    (r"smart ?box|media ?stick|[ _]shell[ _]|^(?:kodi|xbmc)/.*android", "other"),
    # consoles, headsets, cars, watches, and programs
    (r"playstation|xbox|nintendo|steamdeck|retroid|gamepad", "other"),
    (r"oculus|\bquest [0-9]|quest\)|picobrowser|wolvic|\bvr\b", "other"),
    (r"tesla/|qtcarbrowser|\bwatch\b|smartwatch|powershell", "other"),
    (r"\bipad|macintosh;.*(?:ios|gsa|mobile)/|tablet(?:[^ ]| [^p]|$)|playbook|kindle|silk-acc|\bipd[0-9]", "tablet"),
    (r"x11; linux [a-z0-9_]+\).* samsungbrowser/", "tablet"),
    (r"touchpad|andr[o0]id[^()]*(?:\bkf[a-z]{2,5}\b|pad(?:[^a-z]|$)|[^a-z]tab(?:[^a-z]|$))", "tablet"),
    (r"mobi|\(phone|iphone|ipod|\biph[0-9]|windows phone|wpdesktop|lumia|windows ce|palm ?(?:os|source)", "mobile"),
    (r"blackberry|bb10|opera mini|symbian|series ?[346]0|midp|kaios|\bup\.(?:browser|link)|\bwap\b", "mobile"),
    (r"obigo|\bmaui\b|netfront|nf-browser|brew|docomo/|^kddi", "mobile"),
    # browsers on tablets omit "Mobile", and so do apps on phones
    (r"(?:android|harmonyos).* safari/", "tablet"),
    (r"android|harmonyos", "mobile"),
    (r"^(?:mozilla|opera)/.*x11;", "desktop"),
    (r"^(?:mozilla|opera)/", _BROWSER),
    # programs start with their own name
    (r"mac ?os|\((?:mac(?:book|mini|pro)|imac)|macintosh|windows nt|windows/[0-9]", "desktop"),
    (r"darwin/.*\((?:x86_64|i386)\)", "desktop"),
)
"""Patterns, of which the first that matches decides. Of a browser, the system decides."""


def device_of(text: str, platform: str) -> Device:
    """`text`: the user agent in lower case."""
    letter = None if _HEADSET in text else _letter_of_model(text)
    if letter == PHONE:
        return device_by_words(f"{text} mobile", platform)
    return DEVICES[letter] if letter else device_by_words(text, platform)


def device_by_words(text: str, platform: str) -> Device:
    word = _words().extract(text)
    if word is None:
        return OTHER_DEVICE
    if word.family == _BROWSER:
        return "desktop" if platform in _PLATFORMS else OTHER_DEVICE
    return DEVICES[word.family[0]]


@cache
def _words() -> "ua_parser_rs.OSExtractor":
    import ua_parser_rs  # noqa: PLC0415  # as in `agents`

    return ua_parser_rs.OSExtractor((*row, None, None, None, None) for row in _WORDS)


def model_key(name: str) -> str:
    """Return a name, in lower case, as models are called in the table."""
    return _NO_KEY.sub("", name)


def _letter_of_model(text: str) -> str | None:
    start = text.find("andr")
    comment = _COMMENT.match(text, start if start >= 0 else text.find(" adr ") + 1)
    if comment is None:
        return None
    table = _table()
    for part in comment[1].split(";"):
        name = _BUILD.split(part, maxsplit=1)[0].strip()
        letter = table.find(model_key(name)) or table.find(model_key(_MAKER.sub("", name)))
        if letter:
            return letter
    return None


@dataclass(frozen=True, slots=True)
class _Table:
    models: Mapping[str, str]
    starts: Mapping[str, str]
    """Of models. The longest one counts."""
    longest: int

    def find(self, key: str) -> str | None:
        letter = self.models.get(key)
        if letter is None:
            starts = (key[:length] for length in range(min(len(key), self.longest), SHORTEST_START - 1, -1))
            letter = next((self.starts[start] for start in starts if start in self.starts), None)
        return letter


@cache
def _table() -> _Table:
    models: dict[str, str] = {}
    starts: dict[str, str] = {}
    for line in TABLE.read_text().splitlines():
        letter, _, key = line.partition(" ")
        if key.endswith("*"):
            starts[key[:-1]] = letter
        elif letter != "#":
            models[key] = letter
    return _Table(models, starts, max(map(len, starts)))
