"""Spools visits as web processes do: many links, a few of them busy, from all countries, with two thousand user agents.

A fifth of the visits come from a visitor of the previous thousand; the others have a new IP address.
"""

import itertools
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from uuid import UUID

from uuid_utils import uuid7

from bench.user_agents import agents
from waypost.redirect import Spool
from waypost.redirect.spool import Visit, encode
from waypost.resources.clicks.intake.build import IntakeSettings
from waypost.visitors import countries

_BATCH = 1_000
_SPOOL_LIMIT = 1 << 40
_DAY = 86_400
_REFERRERS = [b"", b"", b"https://www.facebook.com/", b"https://t.co/AbCdEf", b"https://www.example.com/a/b?c=d"]
_QUERIES = [b"", b"", b"", b"r=qr", b"fbclid=IwAR0abcdefghij"]
_LANGUAGES = [b"en-GB,en;q=0.9", b"de-DE,de;q=0.9,en;q=0.8", b"pt-BR,pt;q=0.9"]


def write_visits(directory: Path, links: Sequence[UUID], count: int, *, first: int = 0) -> None:
    """`first`: the number of visits before, so that time advances and visitors differ."""
    spool, lines = Spool(directory, limit=_SPOOL_LIMIT), new_lines(links, first=first)
    for start in range(0, count, _BATCH):
        spool.append(b"".join(itertools.islice(lines, min(_BATCH, count - start))))
    spool.close()


def new_intake_settings() -> IntakeSettings:
    """The settings of a worker with default settings."""
    return IntakeSettings(
        trusted_proxies=(),
        ip_privacy="full",
        country_of_address=countries.open_countries(None).of,
        visitor_key=bytes(32),
    )


def new_lines(links: Sequence[UUID], *, first: int = 0) -> Iterator[bytes]:
    """An endless sequence from today's midnight on, ten thousand per second."""
    rng, ids = Random(first), [link.hex.encode() for link in links]
    browsers, weights = zip(*((agent.raw, agent.weight) for agent in agents()), strict=True)
    new_visitor = partial(_visitor, rng, browsers, list(itertools.accumulate(weights)))
    visitors = [new_visitor() for _ in range(_BATCH)]
    midnight = int(time.time()) // _DAY * _DAY * 1_000_000
    for number in itertools.count(first):
        index = rng.randrange(_BATCH)
        if rng.random() > 0.2:
            visitors[index] = new_visitor()
        yield _line(rng, ids, number, midnight + number * 100, *visitors[index])


def _line(rng: Random, ids: list[bytes], number: int, at: int, peer: bytes, agent: bytes) -> bytes:
    return encode(
        Visit(
            id=uuid7().hex.encode(),
            at=b"%d" % at,
            link=ids[int(len(ids) * rng.random() ** 4)],  # the first hundredth gets a third of all visits
            query=rng.choice(_QUERIES),
            peer=peer,
            user_agent=agent,
            referrer=rng.choice(_REFERRERS),
            language=rng.choice(_LANGUAGES),
            purpose=b"prefetch" if number % 50 == 0 else b"",
            privacy=b"1" if number % 20 == 0 else b"",
        )
    )


def _visitor(rng: Random, browsers: Sequence[bytes], weights: list[float]) -> tuple[bytes, bytes]:
    """(IP address, user agent); one in twenty addresses is IPv6."""
    agent = rng.choices(browsers, cum_weights=weights)[0]
    bits = rng.getrandbits(45)
    if bits % 20 == 0:
        return b"2a%02x:%x:%x::%x" % (bits >> 37, bits >> 21 & 0xFFFF, bits >> 5 & 0xFFFF, bits & 31), agent
    return b"%d.%d.%d.%d" % (1 + (bits >> 24) % 223, bits >> 16 & 255, bits >> 8 & 255, bits & 255), agent
