"""Spools visits as web processes do: many links, a few of them busy, from all over the world, in two thousand browsers.

A fifth of them comes again within the next thousand, as visitors do; the rest has an address nobody had before.
"""

import itertools
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from uuid import UUID

from uuid_utils import uuid7

from bench.agents import agents
from waypost.redirect import Spool
from waypost.redirect.spool import Visit, encode
from waypost.resources.clicks.intake import countries
from waypost.resources.clicks.intake.steps import Rules

_BATCH = 1_000
_ROOM = 1 << 40
_DAY = 86_400
_REFERRERS = [b"", b"", b"https://www.facebook.com/", b"https://t.co/AbCdEf", b"https://news.example.com/a/b?c=d"]
_QUERIES = [b"", b"", b"", b"r=qr", b"fbclid=IwAR0abcdefghij"]
_LANGUAGES = [b"en-GB,en;q=0.9", b"de-DE,de;q=0.9,en;q=0.8", b"pt-BR,pt;q=0.9"]


def write_visits(directory: Path, links: Sequence[UUID], count: int, *, first: int = 0) -> None:
    """`first`: how many there were before, so that time goes on and others come."""
    spool, lines = Spool(directory, limit=_ROOM), new_lines(links, first=first)
    for start in range(0, count, _BATCH):
        spool.append(b"".join(itertools.islice(lines, min(_BATCH, count - start))))
    spool.close()


def new_rules() -> Rules:
    """As a worker has them whose operator has decided nothing."""
    return Rules(
        trusted_proxies=(), ip_privacy="full", countries=countries.open_countries(None).of, visitor_key=bytes(32)
    )


def new_lines(links: Sequence[UUID], *, first: int = 0) -> Iterator[bytes]:
    """Without end, from this day's midnight on, ten thousand a second."""
    chance, ids = Random(first), [link.hex.encode() for link in links]
    browsers, weights = zip(*((agent.raw, agent.weight) for agent in agents()), strict=True)
    new_visitor = partial(_visitor, chance, browsers, list(itertools.accumulate(weights)))
    visitors = [new_visitor() for _ in range(_BATCH)]
    midnight = int(time.time()) // _DAY * _DAY * 1_000_000
    for number in itertools.count(first):
        place = chance.randrange(_BATCH)
        if chance.random() > 0.2:
            visitors[place] = new_visitor()
        yield _line(chance, ids, number, midnight + number * 100, *visitors[place])


def _line(chance: Random, ids: list[bytes], number: int, at: int, peer: bytes, agent: bytes) -> bytes:
    return encode(
        Visit(
            id=uuid7().hex.encode(),
            at=b"%d" % at,
            link=ids[int(len(ids) * chance.random() ** 4)],  # the first hundredth gets a third of all visits
            query=chance.choice(_QUERIES),
            peer=peer,
            user_agent=agent,
            referrer=chance.choice(_REFERRERS),
            language=chance.choice(_LANGUAGES),
            purpose=b"prefetch" if number % 50 == 0 else b"",
            privacy=b"1" if number % 20 == 0 else b"",
        )
    )


def _visitor(chance: Random, browsers: Sequence[bytes], weights: list[float]) -> tuple[bytes, bytes]:
    """(address, user agent); one of twenty addresses is of version 6."""
    agent = chance.choices(browsers, cum_weights=weights)[0]
    bits = chance.getrandbits(45)
    if bits % 20 == 0:
        return b"2a%02x:%x:%x::%x" % (bits >> 37, bits >> 21 & 0xFFFF, bits >> 5 & 0xFFFF, bits & 31), agent
    return b"%d.%d.%d.%d" % (1 + (bits >> 24) % 223, bits >> 16 & 255, bits >> 8 & 255, bits & 255), agent
