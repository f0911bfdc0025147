"""Visits of the demo's links: weekdays and hours, campaigns, returning visitors, bots. Pure, and the same for a seed.

IP addresses are from networks for benchmarks and documentation, so they belong to nobody. Each country has its part of
them, which `country_of_address` knows instead of a country database.
"""

import math
from bisect import bisect
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import accumulate
from random import Random
from typing import Generic, TypeVar
from uuid import UUID

from waypost.demo.content import DAYS, Channel, Curve, PlannedLink
from waypost.kit.clock import DAY, QUARTER, microseconds
from waypost.redirect.spool import Visit

T = TypeVar("T")

_HOUR = 4 * QUARTER
_RETURNING = 0.3
"""Share of visits by somebody who has visited the link before."""
_BOTS = 0.07
_PREFETCHES = 0.015
_MAX_KNOWN = 40
"""Visitors of a country that may return: the last ones, so that many return on the same day."""


class Choice(Generic[T]):
    """Draws values by weight, in a quarter of the time of `Random.choices`."""

    def __init__(self, weights: Mapping[T, float]) -> None:
        self._values = list(weights)
        self._sums = list(accumulate(weights.values()))

    def draw(self, random: Random) -> T:
        return self._values[bisect(self._sums, random.random() * self._sums[-1])]


_COUNTRIES = {"DE": 1, "US": -6, "GB": 0, "CH": 1, "AT": 1, "NL": 1, "FR": 1, "SE": 1, "CA": -5, "IT": 1, "PL": 1,
              "ES": 1, "DK": 1, "NO": 1, "BE": 1, "CZ": 1, "AU": 10, "JP": 9, "IN": 5, "BR": -3}  # fmt: skip
"""Offset of the country's hours from UTC."""
_NUMBERS = {code: number for number, code in enumerate(_COUNTRIES)}
_IPV4_START, _IPV4_SIZE = int(IPv4Address("198.18.0.0")), 1 << 12  # of the /15 for benchmarks
_IPV6_START, _IPV6_SIZE = int(IPv6Address("2001:db8::")), 1 << 80  # of the /32 for documentation
_IPV6_SHARE = 0.35

_WORLD = Choice({"DE": 30, "US": 21, "GB": 9, "CH": 8, "AT": 6, "NL": 5, "FR": 4, "SE": 3, "CA": 3, "IT": 2,
                 "PL": 2, "ES": 2, "DK": 1.5, "NO": 1.5, "BE": 1, "CZ": 1, "AU": 1, "JP": 0.7, "IN": 0.7, "BR": 0.6,
                 })  # fmt: skip
_NEARBY = Choice({"DE": 55, "CH": 18, "AT": 9, "US": 12, "NL": 3, "FR": 2, "GB": 1})

_CHROME = "Mozilla/5.0 ({}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 {}Safari/537.36"
_IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
_MOBILE = Choice({
    f"{_IPHONE}Version/18.6 Mobile/15E148 Safari/604.1": 44,
    _CHROME.format("Linux; Android 10; K", "Mobile "): 38,
    f"{_IPHONE}CriOS/142.0.7444.77 Mobile/15E148 Safari/604.1": 5,
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0"
    " Chrome/130.0.0.0 Mobile Safari/537.36": 7,
    "Mozilla/5.0 (Android 15; Mobile; rv:144.0) Gecko/144.0 Firefox/144.0": 3,
    "Mozilla/5.0 (iPad; CPU OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148"
    " Safari/604.1": 4,
})  # fmt: skip
_IN_APP = Choice({
    f"{_IPHONE}Mobile/15E148 Instagram 402.0.0.28.80 (iPhone15,3; iOS 18_6; en_US; en; scale=3.00; 1290x2796)": 7,
    f"{_IPHONE}Mobile/15E148 [FBAN/FBIOS;FBAV/535.0.0.38.75;FBDV/iPhone14,5;FBSV/18.6]": 3,
})  # fmt: skip
_DESKTOP = Choice({
    _CHROME.format("Windows NT 10.0; Win64; x64", ""): 42,
    _CHROME.format("Macintosh; Intel Mac OS X 10_15_7", ""): 14,
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6"
    " Safari/605.1.15": 15,
    _CHROME.format("Windows NT 10.0; Win64; x64", "") + " Edg/142.0.0.0": 14,
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0": 9,
    "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0": 5,
})  # fmt: skip
_BOT_AGENTS = Choice({
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)": 30,
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)": 16,
    "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)": 12,
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)": 12,
    "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)": 8,
    "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)": 16,
    "WhatsApp/2.23.20.0": 14,
    "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)": 10,
    "TelegramBot (like TwitterBot)": 7,
    "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)": 5,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChannelProfile:
    mobile: float
    """Share of phones and tablets."""
    in_app: float
    """Share of browsers in apps."""
    weekend: float
    """Visits of a Saturday or Sunday, where a weekday has 1."""
    hours: Sequence[float]
    """Weight of each local hour."""
    referrers: Choice[str]
    countries: Choice[str] = _WORLD


_NIGHT = (2, 1, 1, 1, 1, 2)
_DAYTIME = (*_NIGHT, 4, 9, 15, 18, 19, 19, 17, 17, 18, 18, 17, 15, 14, 15, 16, 14, 9, 5)
_EVENING = (3, 2, 1, 1, 1, 2, 4, 7, 8, 8, 9, 10, 13, 11, 10, 11, 13, 16, 19, 23, 25, 24, 16, 8)
_MORNING = (*_NIGHT, 9, 22, 28, 24, 18, 14, 12, 10, 9, 9, 9, 10, 10, 10, 9, 8, 5, 3)
_OFFICE = (0.5, 0.5, 0.5, 0.5, 0.5, 1, 2, 7, 18, 25, 26, 24, 14, 22, 24, 22, 18, 9, 4, 3, 3, 2, 1, 1)
_OUTSIDE = (0.2, 0.1, 0.1, 0.1, 0.2, 1, 3, 6, 11, 18, 23, 24, 21, 22, 24, 22, 17, 11, 6, 3, 2, 1, 0.5, 0.3)

PROFILES: Mapping[Channel, ChannelProfile] = {
    "social": ChannelProfile(0.8, 0.5, 1.25, _EVENING, Choice({
        "https://www.instagram.com/": 40, "https://l.facebook.com/l.php": 14, "https://t.co/x8Lk2": 7,
        "https://www.pinterest.com/": 8, "https://www.threads.net/": 5, "https://bsky.app/": 6, "": 20})),
    "mail": ChannelProfile(0.52, 0.02, 0.6, _MORNING, Choice({"": 78, "https://mail.google.com/": 13,
                                                              "https://outlook.live.com/": 9})),
    "search": ChannelProfile(0.5, 0.02, 0.9, _DAYTIME, Choice({
        "https://www.google.com/": 58, "https://duckduckgo.com/": 7, "https://www.bing.com/": 7,
        "https://www.ecosia.org/": 5, "": 23})),
    "video": ChannelProfile(0.72, 0.1, 1.35, _EVENING, Choice({
        "https://www.youtube.com/": 52, "https://www.tiktok.com/": 17, "https://open.spotify.com/": 9, "": 22})),
    "print": ChannelProfile(0.97, 0.0, 1.7, _OUTSIDE, Choice({"": 1}), _NEARBY),
    "partner": ChannelProfile(0.24, 0.01, 0.3, _OFFICE, Choice({
        "https://nordweg.example/gear": 24, "https://hutkind.example/blog": 17,
        "https://www.linkedin.com/": 18, "": 41})),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class VisitedLink:
    id: UUID
    created_at: datetime
    plan: PlannedLink
    fired: bytes = b""
    """Its pixels, as in a line of the spool."""


@dataclass(frozen=True, slots=True)
class _Visitor:
    ip: bytes
    user_agent: bytes
    country: str


def visits(links: Sequence[VisitedLink], now: datetime, seed: int, volume: float = 1.0) -> list[Visit]:
    """Return the visits of the last days until now, in the order of time. `volume`: factor of their number."""
    random = Random(seed)  # noqa: S311  # nothing secret
    end = microseconds(now)
    found = [visit for link in links for visit in _Traffic(random, link, end, volume).visits()]
    return sorted(found, key=lambda visit: (int(visit.at), visit.id))


@lru_cache(1 << 12)
def country_of_address(ip: str) -> str:
    """Return the country of an address of the demo; "" for others."""
    address = ip_address(ip)
    if address.version == 4:
        number = (int(address) - _IPV4_START) // _IPV4_SIZE
    else:
        number = (int(address) - _IPV6_START) // _IPV6_SIZE
    return list(_COUNTRIES)[number] if 0 <= number < len(_COUNTRIES) else ""


def uuid7(at: int, random: Random) -> UUID:
    """Return a UUIDv7 of this time in microseconds since 1970."""
    return UUID(int=at // 1_000 << 80 | 0x7 << 76 | random.getrandbits(12) << 64 | 0x2 << 62 | random.getrandbits(62))


class _Traffic:
    """The visits of one link."""

    def __init__(self, random: Random, link: VisitedLink, end: int, volume: float) -> None:
        self._random = random
        self._link = link
        self._profile = PROFILES[link.plan.channel]
        self._volume = volume
        self._start = microseconds(link.created_at)
        self._end = end if link.plan.expires is None else min(end, self._start + link.plan.expires * DAY)
        self._days_shown = range(max(self._start, end - DAYS * DAY) // DAY, self._end // DAY + 1)
        self._known = {country: deque[_Visitor](maxlen=_MAX_KNOWN) for country in _COUNTRIES}
        self._hours = Choice(dict(enumerate(self._profile.hours)))

    def visits(self) -> Iterator[Visit]:
        for day, mean in self._days():
            people = max(0, round(self._random.gauss(mean, math.sqrt(mean))))
            bots = round(mean * _BOTS + self._random.random() * 0.7)
            of_day = [*(self._of_person(day) for _ in range(people)), *(self._of_bot(day) for _ in range(bots))]
            yield from (visit for visit in of_day if self._start < int(visit.at) <= self._end)

    def _days(self) -> Iterator[tuple[int, float]]:
        """Yield (UTC day, expected visits)."""
        weights = {day: self._weight(day, day - self._start // DAY) for day in self._days_shown}
        total = sum(weights.values())
        for day, weight in weights.items():
            yield day, self._link.plan.visits * self._volume * weight / total

    def _weight(self, day: int, age: int) -> float:
        weekday = (day + 3) % 7  # 1970 began on a Thursday
        usual = self._profile.weekend if weekday >= 5 else 1.0
        curve = curve_weight(self._link.plan.curve, age, self._link.plan.expires)
        return usual * curve * self._random.uniform(0.8, 1.2)

    def _of_person(self, day: int) -> Visit:
        random, visitor = self._random, self._visitor()
        is_scan = random.random() < self._link.plan.scans
        return self._visit(
            self._time(day, _COUNTRIES[visitor.country]),
            visitor,
            query=b"r=qr" if is_scan else b"",
            referrer=b"" if is_scan else self._profile.referrers.draw(random).encode(),
            purpose=b"prefetch;prerender" if random.random() < _PREFETCHES else b"",
            pixels=self._link.fired,
        )

    def _of_bot(self, day: int) -> Visit:
        at = day * DAY + self._random.randrange(DAY)
        return self._visit(at, self._new_visitor("US", _BOT_AGENTS.draw(self._random)))

    def _visit(self, at: int, visitor: _Visitor, **fields: bytes) -> Visit:
        id_, link = uuid7(at, self._random).hex.encode(), self._link.id.hex.encode()
        return Visit(id_, b"%d" % at, link, peer=visitor.ip, user_agent=visitor.user_agent, **fields)

    def _time(self, day: int, offset: int) -> int:
        """Return a time of the UTC day, at a usual hour by the clock of the visitor."""
        hour = (self._hours.draw(self._random) - offset) % 24
        return day * DAY + hour * _HOUR + self._random.randrange(_HOUR)

    def _visitor(self) -> _Visitor:
        random, country = self._random, self._profile.countries.draw(self._random)
        known = self._known[country]
        if known and random.random() < _RETURNING:
            return random.choice(known)
        visitor = self._new_visitor(country, self._user_agent())
        known.append(visitor)
        return visitor

    def _user_agent(self) -> str:
        random, profile = self._random, self._profile
        if random.random() < profile.in_app:
            return _IN_APP.draw(random)
        return (_MOBILE if random.random() < profile.mobile else _DESKTOP).draw(random)

    def _new_visitor(self, country: str, user_agent: str) -> _Visitor:
        random, number = self._random, _NUMBERS[country]
        address: IPv4Address | IPv6Address
        if random.random() < _IPV6_SHARE:
            address = IPv6Address(_IPV6_START + number * _IPV6_SIZE + random.randrange(_IPV6_SIZE))
        else:
            address = IPv4Address(_IPV4_START + number * _IPV4_SIZE + random.randrange(_IPV4_SIZE))
        return _Visitor(str(address).encode(), user_agent.encode(), country)


def curve_weight(curve: Curve, age: int, last: int | None) -> float:
    """Return the weight of a day. `age`: days since the link was created; `last`: that of its expiry."""
    if curve == "newsletter":
        return math.exp(-0.9 * age) + 0.004
    if curve == "campaign":
        rise = 1 - math.exp(-(age + 0.5) / 2)
        reminder = 0.4 * math.exp(-((age - 16) ** 2) / 6)
        return rise * math.exp(-age / 14) + reminder + 0.02
    if curve == "event":
        return math.exp((age - (last or age)) / 7)
    return 1 + age / 150
