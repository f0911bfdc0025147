"""Visits of the demo's links: weekdays and hours, campaigns, returning visitors, bots. Pure, and the same for a seed.

IP addresses are from the network for benchmarks, so they belong to nobody. Each country has its part of it, which
`country_of_address` knows instead of a country database.
"""

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv4Address
from random import Random
from uuid import UUID

from waypost.demo.content import CHANNELS, COUNTRIES, DAYS, USER_AGENTS, PlannedLink
from waypost.kit.clock import DAY, QUARTER, microseconds
from waypost.redirect.spool import Visit

_HOUR = 4 * QUARTER
_RETURNING = 0.3
"""Share of visits by somebody who has visited the link before."""
_MAX_KNOWN = 100
"""Visitors that may return: the last ones, so that many return on the same day."""
_BOTS = 0.07
_PREFETCHES = 0.015
_START, _SIZE = int(IPv4Address("198.18.0.0")), 1 << 12  # of the /15 for benchmarks
_CODES = list(COUNTRIES)


@dataclass(frozen=True, slots=True)
class VisitedLink:
    id: UUID
    created_at: datetime
    plan: PlannedLink
    fired: bytes = b""
    """Its pixels, as in a line of the spool."""


def visits(links: Sequence[VisitedLink], now: datetime, seed: int, volume: float = 1.0) -> list[Visit]:
    """Return the visits of the last days until now, in the order of time. `volume`: factor of their number."""
    random = Random(seed)  # noqa: S311  # nothing secret
    found = [visit for link in links for visit in _visits_of(random, link, microseconds(now), volume)]
    return sorted(found, key=lambda visit: (int(visit.at), visit.id))


def country_of_address(ip: str) -> str:
    """Return the country of an address of the demo."""
    return _CODES[(int(IPv4Address(ip)) - _START) // _SIZE]


def uuid7(at: int, random: Random) -> UUID:
    """Return a UUIDv7 of this time in microseconds since 1970."""
    return UUID(int=at // 1_000 << 80 | 0x7 << 76 | random.getrandbits(12) << 64 | 0x2 << 62 | random.getrandbits(62))


def _visits_of(random: Random, link: VisitedLink, now: int, volume: float) -> Iterator[Visit]:
    plan, start = link.plan, microseconds(link.created_at)
    end = now if plan.expires is None else min(now, start + plan.expires * DAY)
    weights = {
        day: _weight(plan, day, day - start // DAY) * random.uniform(0.8, 1.2)
        for day in range(max(start, now - DAYS * DAY) // DAY, end // DAY + 1)
    }
    known = deque[tuple[bytes, bytes, float]](maxlen=_MAX_KNOWN)
    for day, weight in weights.items():
        mean = plan.visits * volume * weight / sum(weights.values())
        people, bots = round(random.gauss(mean, math.sqrt(mean))), round(mean * _BOTS + random.random() * 0.7)
        made = [_visit_of_person(random, link, day, known) for _ in range(people)]
        made += [
            _visit(random, link, day * DAY + random.randrange(DAY), *_visitor(random, "bots")) for _ in range(bots)
        ]
        yield from (visit for visit in made if start < int(visit.at) <= end)


def _weight(plan: PlannedLink, day: int, age: int) -> float:
    """`age`: days since the link was created."""
    is_weekend = (day + 3) % 7 >= 5  # 1970 began on a Thursday
    usual: float = CHANNELS[plan.channel]["weekend"] if is_weekend else 1
    match plan.curve:
        case "newsletter":
            return usual * (math.exp(-0.9 * age) + 0.004)
        case "campaign":
            return usual * ((1 - math.exp(-(age + 0.5) / 2)) * math.exp(-age / 14) + 0.02)
        case "event":
            return usual * math.exp((age - (plan.expires or age)) / 7)
    return usual * (1 + age / 150)


def _visit_of_person(random: Random, link: VisitedLink, day: int, known: deque[tuple[bytes, bytes, float]]) -> Visit:
    channel = CHANNELS[link.plan.channel]
    if known and random.random() < _RETURNING:
        visitor = random.choice(known)
    else:
        is_mobile = random.random() < channel["mobile"]
        kind = "in_app" if random.random() < channel["in_app"] else "mobile" if is_mobile else "desktop"
        visitor = _visitor(random, kind)
        known.append(visitor)
    hour = int(random.gauss(channel["peak"], channel["width"]) - visitor[2]) % 24
    is_scan = random.random() < link.plan.scans
    return _visit(
        random,
        link,
        day * DAY + hour * _HOUR + random.randrange(_HOUR),
        *visitor,
        query=b"r=qr" if is_scan else b"",
        referrer=b"" if is_scan else _draw(random, channel["referrers"]).encode(),
        purpose=b"prefetch;prerender" if random.random() < _PREFETCHES else b"",
        pixels=link.fired,
    )


def _visitor(random: Random, kind: str) -> tuple[bytes, bytes, float]:
    """Return address, user agent and offset from UTC in hours."""
    country = _draw(random, {code: share for code, (share, _) in COUNTRIES.items()})
    address = IPv4Address(_START + _CODES.index(country) * _SIZE + random.randrange(_SIZE))
    return str(address).encode(), _draw(random, USER_AGENTS[kind]).encode(), COUNTRIES[country][1]


def _visit(
    random: Random, link: VisitedLink, at: int, ip: bytes, user_agent: bytes, _offset: float, **fields: bytes
) -> Visit:
    id_, of_link = uuid7(at, random).hex.encode(), link.id.hex.encode()
    return Visit(id_, b"%d" % at, of_link, peer=ip, user_agent=user_agent, **fields)


def _draw(random: Random, shares: Mapping[str, float]) -> str:
    return random.choices(list(shares), list(shares.values()))[0]
