"""A year of random clicks, the same in each run: time, link and visitor. Uses no database."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

DAYS = 365
_LARGEST = 0.3  # of all clicks belong to the first account
_BUSIEST = 0.01 / 0.88  # and to its busiest link: a hundredth are human clicks
_BUSIEST_AGE = 45  # days
_EACH = 1.3  # clicks of a visitor in a day

Hit = tuple[int, int, int]
"""(microseconds since midnight, number of the link, visitor)"""

Profile = tuple[tuple[Any, ...], tuple[Any, ...]]
"""A visitor's columns of `clicks`, those before `visitor_id` and those behind it."""

_KINDS: list[tuple[str, str | None]] = [
    *[("human", None)] * 88,
    *[("crawler", name) for name in ("Googlebot", "bingbot", "YandexBot", "AhrefsBot", "GPTBot", "Applebot")],
    *[("preview", name) for name in ("facebookexternalhit", "Twitterbot", "WhatsApp", "Slackbot")],
    *[("prefetch", None)] * 2,
]
_BROWSERS = ["Chrome"] * 9 + ["Safari"] * 5 + ["Mobile Safari"] * 4 + ["Firefox"] * 3 + ["Edge"] * 2 + ["Opera"]
_RARER = ["Samsung Internet", "Instagram", "Facebook", "DuckDuckGo Mobile", "Yandex Browser", "Other"]
_PLATFORMS = ["Windows"] * 5 + ["iOS"] * 5 + ["Android"] * 5 + ["Mac OS X"] * 3 + ["Linux", "Other"]
_DEVICES = ["desktop"] * 9 + ["mobile"] * 10 + ["tablet", "other"]
_COUNTRIES = 60
_PROFILES = 50_000


@dataclass(frozen=True)
class History:
    clicks: list[int]
    """Human clicks of each link. Complete after `hits` was called for every day."""
    busiest: int
    """Number of that link."""
    profiles: list[Profile]
    plan: list[list[tuple[int, int]]]
    """(link, visits), day by day."""
    rng: Random

    def hits(self, day: int) -> list[Hit]:
        """Sorted by time. Call it once for each day, because it counts them."""
        rng, found = self.rng.random, []
        for link, count in self.plan[day]:
            first, different = self.rng.getrandbits(63) - (1 << 62), count / _EACH
            for _ in range(count):
                visitor = first + int(rng() * different) * 7
                found.append((int((rng() + rng()) * 43_200_000_000), link, visitor))
                self.clicks[link] += self.profiles[visitor % len(self.profiles)][0][0] == "human"
        return sorted(found)


def new_history(rng: Random, *, count: int, links: int, accounts: int) -> History:
    """`count` visits. The links of an account are adjacent, and the largest account is the first."""
    busiest = 0
    plan: list[list[tuple[int, int]]] = [[] for _ in range(DAYS)]
    for link, visits in enumerate(_of_links(rng, count, links, accounts, busiest)):
        age = _BUSIEST_AGE if link == busiest else rng.randrange(1, DAYS + 1)
        decay = rng.lognormvariate(math.log(14), 0.8)  # days
        shares = [math.exp(-day / decay) for day in range(age)]
        for day, each in enumerate(_rounded(visits, shares, rng.random()), DAYS - age):
            if each:
                plan[day].append((link, each))
    return History([0] * links, busiest, [_profile(rng) for _ in range(_PROFILES)], plan, rng)


def _of_links(rng: Random, count: int, links: int, accounts: int, busiest: int) -> list[int]:
    each = links // accounts
    shares = [rng.paretovariate(1.1) for _ in range(links)]
    for account in range(accounts):
        own = slice(account * each, (account + 1) * each)
        if account == 0:
            shares[busiest] = 0
            target = _LARGEST - _BUSIEST
        else:
            target = (1 - _LARGEST) / (accounts - 1)
        scale = target / sum(shares[own])
        shares[own] = [share * scale for share in shares[own]]
    first = int(count * _BUSIEST)
    visits = _rounded(count - first, shares, 0)
    visits[busiest] = first
    return visits


def _rounded(total: int, shares: Iterable[float], offset: float) -> list[int]:
    """Integers in proportion to `shares` whose sum is `total`. An offset below one scatters the rounding."""
    shares, exact, before, found = list(shares), 0.0, 0, []
    scale = total / sum(shares)
    for share in shares[:-1]:
        exact += share * scale
        found.append(int(exact + offset) - before)
        before += found[-1]
    return [*found, total - before]


def _profile(rng: Random) -> Profile:
    kind, bot = rng.choice(_KINDS)
    ip = ".".join(str(rng.randrange(1, 255)) for _ in range(4))
    country = int(_COUNTRIES * rng.random() ** 3)
    before = (kind, bot, rng.random() < 0.08, ip, f"{chr(65 + country // 26)}{chr(65 + country % 26)}")
    return before, (_referrer(rng), rng.choice(_DEVICES), _browser(rng), rng.choice(_PLATFORMS))


def _referrer(rng: Random) -> str:
    if rng.random() < 0.4:
        return ""
    if rng.random() < 0.9:
        return f"https://site{int(300 * rng.random() ** 3)}.example/"
    return f"https://site{rng.randrange(300)}.example/posts/{rng.randrange(10_000)}"


def _browser(rng: Random) -> str:
    return rng.choice(_BROWSERS if rng.random() < 0.9 else _RARER)
