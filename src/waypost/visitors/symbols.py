"""Pictures beside names in lists: ids in the files in `static/symbols`, which `scripts/draw-symbols` makes."""

from typing import Final, Literal, NamedTuple

from waypost.visitors.countries import COUNTRIES
from waypost.visitors.places import PLACES


class Icon(NamedTuple):
    kind: Literal["flags", "brands", "device", "letter"]
    id: str
    """In the file of this kind; or strokes, or a letter."""


BROWSERS: Final = {
    "Chrome": "googlechrome",
    "Headless Chrome": "googlechrome",
    "Safari": "safari",
    "Firefox": "firefoxbrowser",
    "Edge": "microsoftedge",
    "Opera": "opera",
    "Samsung Internet": "samsung",
    "Vivaldi": "vivaldi",
    "Brave": "brave",
    "Android Browser": "android",
    "DuckDuckGo": "duckduckgo",
    "Facebook": "facebook",
    "Instagram": "instagram",
    "WeChat": "wechat",
    "LinkedIn": "linkedin",
    "KakaoTalk": "kakaotalk",
    "Telegram": "telegram",
    "Threads": "threads",
    "TikTok": "tiktok",
    "Snapchat": "snapchat",
    "Pinterest": "pinterest",
    "Naver": "naver",
    "Google": "google",
    "QQ Browser": "tencentqq",
    "Internet Explorer": "internetexplorer",
}
PLATFORMS: Final = {
    "Windows": "windows",
    "macOS": "apple",
    "iOS": "apple",
    "Android": "android",
    "Linux": "linux",
    "ChromeOS": "googlechrome",
    "FreeBSD": "freebsd",
    "PlayStation": "playstation",
    "Xbox": "xbox",
}
DEVICES: Final = {
    "desktop": "M3 4h18v12H3zM9 20h6M12 16v4",
    "mobile": "M7 2h10v20H7zM11 18.5h2",
    "tablet": "M4 3h16v18H4zM11 17.5h2",
}
"""Strokes in a box of 24 by 24, as the dashboard's icons are."""

BRANDS: Final = {*BROWSERS.values(), *PLATFORMS.values(), *(place.icon for place in PLACES.values() if place.icon)}
FLAGS: Final = COUNTRIES


def find_icon(kind: str, value: str) -> Icon | None:
    """Return the icon of a country, device, browser or platform; `kind`: one of these."""
    icons = {"device": DEVICES, "browser": BROWSERS, "platform": PLATFORMS}.get(kind, {})
    if kind == "country" and value in FLAGS:
        return Icon("flags", value)
    if value in icons:
        return Icon("device" if kind == "device" else "brands", icons[value])
    return Icon("letter", value[0]) if value and kind in {"browser", "platform"} else None
