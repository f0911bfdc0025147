"""A day's visits as chance makes them, and a count of them kept by their maker.

Knows the rules of counting from the documentation, and nothing of the service's code.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from random import Random

from journeys.crowd import Asked
from journeys.places import Place

from bench.user_agents import Agent, agents

QUARTERS = 96
DIMENSIONS = ("countries", "referrers", "devices", "browsers", "platforms")
_OFFSETS = (timedelta(0), timedelta(seconds=457, microseconds=7), timedelta(minutes=15, microseconds=-1))
_EACH = 1.4  # visits of a visitor
_SCANS = (b"r=qr", b"utm_source=x&r=qr", b"r=qr&fbclid=1")
_NO_SCANS = (b"", b"", b"", b"fbclid=IwAR0", b"r=qrs", b"xr=qr")
_PREFETCHING = [b"Sec-Purpose: prefetch", b"Sec-Purpose: prefetch;prerender", b"Purpose: prefetch", b"X-Moz: prefetch"]
"""Headers by which a browser says that nobody is looking yet."""

_REFERRERS: list[tuple[bytes, str]] = [
    *[(b"", "")] * 12,
    (b"https://www.facebook.com/", "https://www.facebook.com/"),
    (b"https://t.co/AbCdEf", "https://t.co/AbCdEf"),
    (b"https://www.google.com/", "https://www.google.com/"),
    (b"https://news.example.com/a/b?c=d&token=secret", "https://news.example.com/a/b"),
    (b"https://blog.example.org/post#comments", "https://blog.example.org/post"),
    (b"http://intranet.example:8080/wiki/Links", "http://intranet.example:8080/wiki/Links"),
    (b"android-app://com.google.android.gm/", "android-app://com.google.android.gm/"),
    *((b"https://site%d.example/page" % number, f"https://site{number}.example/page") for number in range(60)),
]
"""As sent, and as kept: origin and path."""


@dataclass(frozen=True, slots=True)
class Target:
    slug: str
    account: str
    share: float


@dataclass(frozen=True, slots=True)
class Visitor:
    number: int
    head: bytes
    agent: Agent
    country: str


@dataclass(frozen=True, slots=True)
class VisitTotals:
    """Of some links in some quarters of an hour."""

    kinds: Counter[str]
    scans: int
    visitors: int
    dimensions: Counter[tuple[str, str]]


@dataclass(slots=True)
class Count:
    """Of a link in a quarter of an hour."""

    kinds: Counter[str] = field(default_factory=Counter)
    scans: int = 0
    visitors: set[int] = field(default_factory=set)
    dimensions: Counter[tuple[str, str]] = field(default_factory=Counter)


class Traffic:
    def __init__(
        self,
        chance: Random,
        begin: datetime,
        targets: Sequence[Target],
        places: Iterator[Place],
        visits: int,
        host: str,
    ) -> None:
        """All visits of a quarter come at one moment of it: its first microsecond, its last, or one between."""
        self.moments = [begin + timedelta(minutes=15) * n + _OFFSETS[n % 3] for n in range(QUARTERS)]
        self.counted: dict[tuple[str, int], Count] = defaultdict(Count)
        """By slug and quarter."""
        self.gone: set[str] = set()
        """Slugs of links that have been deleted."""
        self._totals: dict[tuple[tuple[str, ...], tuple[int, ...]], VisitTotals] = {}
        self._chance = chance
        self._visits = visits
        self._host = host.encode()
        self._slugs = [target.slug for target in targets]
        self._shares = list(itertools.accumulate(target.share for target in targets))
        people = [agent for agent in agents() if agent.kind == "human"]
        self._bots = [agent for agent in agents() if agent.kind != "human"]
        self._of_bots = list(itertools.accumulate(agent.weight for agent in self._bots))
        self._visitors = _visitors(chance, places, people, int(visits / _EACH))

    def quarter(self, number: int) -> list[Asked]:
        """What is to be sent at that moment, and the answers' statuses; counted as sent."""
        quiet = 0.4 + 1.2 * (1 - abs(number - QUARTERS / 2) / (QUARTERS / 2))  # fewer at both ends
        return [self._visit(number) for _ in range(max(1, int(self._visits / QUARTERS * quiet)))]

    def totals(self, slugs: Iterable[str], quarters: Iterable[int]) -> VisitTotals:
        asked = tuple(slugs), tuple(quarters)
        if asked not in self._totals:
            self._totals[asked] = self._added(*asked)
        return self._totals[asked]

    def _added(self, slugs: Sequence[str], quarters: Sequence[int]) -> VisitTotals:
        """A visitor is another one on another day, in UTC."""
        kinds, scans, dimensions = Counter[str](), 0, Counter[tuple[str, str]]()
        visitors: dict[date, set[int]] = defaultdict(set)
        for slug, number in itertools.product(slugs, quarters):
            if count := self.counted.get((slug, number)):
                kinds.update(count.kinds)
                scans += count.scans
                dimensions.update(count.dimensions)
                visitors[self.moments[number].date()] |= count.visitors
        return VisitTotals(kinds, scans, sum(map(len, visitors.values())), dimensions)

    def _visit(self, number: int) -> Asked:
        chance = self._chance.random
        slug = self._slugs[0] if chance() < 0.02 else self._chance.choices(self._slugs, cum_weights=self._shares)[0]
        dice = chance()
        if dice < 0.02:
            return self._asked(b"GET", f"missing-{int(dice * 1e6)}", b"", self._human()), 404
        if slug in self.gone:
            return self._asked(b"GET", slug, b"", self._human()), 404
        if dice < 0.04:
            return self._asked(b"HEAD", slug, b"", self._human()), 302
        if dice < 0.07:
            self.counted[slug, number].kinds["prefetch"] += 1
            return self._asked(b"GET", slug, b"", self._human(), self._chance.choice(_PREFETCHING)), 302
        if chance() < self._of_bots[-1]:
            return self._bot(number, slug)
        return self._click(number, slug)

    def _click(self, number: int, slug: str) -> Asked:
        visitor, count = self._human(), self.counted[slug, number]
        is_scan = self._chance.random() < 0.07
        sent, kept = self._chance.choice(_REFERRERS)
        count.kinds["human"] += 1
        count.scans += is_scan
        count.visitors.add(visitor.number)
        agent = visitor.agent
        values = visitor.country, kept, agent.device, agent.browser, agent.platform
        for pair in zip(DIMENSIONS, values, strict=True):
            count.dimensions[pair] += 1
        query = self._chance.choice(_SCANS if is_scan else _NO_SCANS)
        return self._asked(b"GET", slug, query, visitor, b"Referer: " + sent if sent else b""), 302

    def _bot(self, number: int, slug: str) -> Asked:
        bot = self._chance.choices(self._bots, cum_weights=self._of_bots)[0]
        self.counted[slug, number].kinds[bot.kind] += 1
        head = b"X-Forwarded-For: 66.249.66.1\r\nUser-Agent: %s\r\n" % bot.raw
        return self._asked(b"GET", slug, b"", Visitor(0, head, bot, "")), 200

    def _human(self) -> Visitor:
        return self._visitors[int(len(self._visitors) * self._chance.random())]

    def _asked(self, method: bytes, slug: str, query: bytes, visitor: Visitor, header: bytes = b"") -> bytes:
        path = slug.encode() + (b"?" + query if query else b"")
        head = b"%s /%s HTTP/1.1\r\nHost: %s\r\n%s" % (method, path, self._host, visitor.head)
        return head + (header + b"\r\n\r\n" if header else b"\r\n")


def _visitors(chance: Random, places: Iterator[Place], people: Sequence[Agent], count: int) -> list[Visitor]:
    """No two from one network with one browser: who asks for privacy is known by his network alone."""
    found: dict[tuple[tuple[bytes, ...], int], Visitor] = {}
    weights = list(itertools.accumulate(agent.weight for agent in people))
    while len(found) < count:
        address, country = next(places)
        place = chance.choices(range(len(people)), cum_weights=weights)[0]
        network = tuple(address.split(b"." if b"." in address else b":")[:3])
        if (network, place) not in found:
            head = _head(chance, address, people[place])
            found[network, place] = Visitor(len(found), head, people[place], country)
    return list(found.values())


def _head(chance: Random, address: bytes, agent: Agent) -> bytes:
    spoofed = b"203.0.113.7, " if chance.random() < 0.05 else b""
    private = chance.choice([b"Sec-GPC: 1\r\n", b"DNT: 1\r\n"]) if chance.random() < 0.05 else b""
    language = b"Accept-Language: en-GB,en;q=0.9\r\n" if chance.random() < 0.8 else b""
    return b"X-Forwarded-For: %s%s\r\nUser-Agent: %s\r\n%s%s" % (spoofed, address, agent.raw, language, private)
