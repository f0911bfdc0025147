"""A year of clicks as chance makes them, the same in each run: when, on which link, by whom. Knows no database."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

DAYS = 365
_LARGEST = 0.3  # of all clicks are the first account's
_BUSIEST = 0.01 / 0.88  # and its busiest link's: a hundredth are clicks of humans
_BUSIEST_AGE = 45  # days
_EACH = 1.3  # clicks of a visitor of a day

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
class Past:
    clicks: list[int]
    """Human clicks of each link. Known when all days have been asked for."""
    busiest: int
    """Number of that link."""
    profiles: list[Profile]
    plan: list[list[tuple[int, int]]]
    """(link, visits), day by day."""
    chance: Random

    def hits(self, day: int) -> list[Hit]:
        """In the order of time. To be asked once for each day: it counts them."""
        chance, found = self.chance.random, []
        for link, count in self.plan[day]:
            first, different = self.chance.getrandbits(63) - (1 << 62), count / _EACH
            for _ in range(count):
                visitor = first + int(chance() * different) * 7
                found.append((int((chance() + chance()) * 43_200_000_000), link, visitor))
                self.clicks[link] += self.profiles[visitor % len(self.profiles)][0][0] == "human"
        return sorted(found)


def new_past(chance: Random, *, count: int, links: int, accounts: int) -> Past:
    """`count` visits. The links of an account are neighbours, the largest account is the first."""
    busiest = 0
    plan: list[list[tuple[int, int]]] = [[] for _ in range(DAYS)]
    for link, visits in enumerate(_of_links(chance, count, links, accounts, busiest)):
        age = _BUSIEST_AGE if link == busiest else chance.randrange(1, DAYS + 1)
        decay = chance.lognormvariate(math.log(14), 0.8)  # days
        shares = [math.exp(-day / decay) for day in range(age)]
        for day, each in enumerate(_rounded(visits, shares, chance.random()), DAYS - age):
            if each:
                plan[day].append((link, each))
    return Past([0] * links, busiest, [_profile(chance) for _ in range(_PROFILES)], plan, chance)


def _of_links(chance: Random, count: int, links: int, accounts: int, busiest: int) -> list[int]:
    each = links // accounts
    shares = [chance.paretovariate(1.1) for _ in range(links)]
    for account in range(accounts):
        own = slice(account * each, (account + 1) * each)
        if account == 0:
            shares[busiest] = 0
            wanted = _LARGEST - _BUSIEST
        else:
            wanted = (1 - _LARGEST) / (accounts - 1)
        scale = wanted / sum(shares[own])
        shares[own] = [share * scale for share in shares[own]]
    first = int(count * _BUSIEST)
    visits = _rounded(count - first, shares, 0)
    visits[busiest] = first
    return visits


def _rounded(total: int, shares: Iterable[float], offset: float) -> list[int]:
    """Whole numbers in proportion to `shares` whose sum is `total`. An offset below one scatters the rounding."""
    shares, whole, before, found = list(shares), 0.0, 0, []
    scale = total / sum(shares)
    for share in shares[:-1]:
        whole += share * scale
        found.append(int(whole + offset) - before)
        before += found[-1]
    return [*found, total - before]


def _profile(chance: Random) -> Profile:
    kind, bot = chance.choice(_KINDS)
    ip = ".".join(str(chance.randrange(1, 255)) for _ in range(4))
    country = int(_COUNTRIES * chance.random() ** 3)
    before = (kind, bot, chance.random() < 0.08, ip, f"{chr(65 + country // 26)}{chr(65 + country % 26)}")
    return before, (_referrer(chance), chance.choice(_DEVICES), _browser(chance), chance.choice(_PLATFORMS))


def _referrer(chance: Random) -> str:
    if chance.random() < 0.4:
        return ""
    if chance.random() < 0.9:
        return f"https://site{int(300 * chance.random() ** 3)}.example/"
    return f"https://site{chance.randrange(300)}.example/posts/{chance.randrange(10_000)}"


def _browser(chance: Random) -> str:
    return chance.choice(_BROWSERS if chance.random() < 0.9 else _RARER)
