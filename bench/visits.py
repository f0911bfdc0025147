"""Writes spool segments as web processes leave them behind: many links, a few of them busy, many browsers."""

import random
from pathlib import Path
from uuid import UUID

from uuid_utils import uuid7

from waypost.redirect import Spool
from waypost.redirect.spool import Visit, encode

_BATCH = 1_000
_ROOM = 1 << 40
_AGENTS = [
    f"Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 {rest}".encode()
    for system in ("Windows NT 10.0; Win64; x64", "Macintosh; Intel Mac OS X 10_15_7", "Linux; Android 15; Pixel 9")
    for version in range(120, 143)
    for rest in ("Safari/537.36", "Mobile Safari/537.36", "Safari/537.36 Edg/142.0.0.0")
]
_REFERRERS = [b"", b"", b"https://www.facebook.com/", b"https://t.co/AbCdEf", b"https://news.example.com/a/b?c=d"]
_QUERIES = [b"", b"", b"", b"r=qr", b"fbclid=IwAR0abcdefghij"]
_LANGUAGES = [b"en-GB,en;q=0.9", b"de-DE,de;q=0.9,en;q=0.8", b"pt-BR,pt;q=0.9"]


def write_visits(directory: Path, links: list[UUID], count: int) -> None:
    chance, spool = random.Random(7), Spool(directory, limit=_ROOM)
    ids = [link.hex.encode() for link in links]
    for start in range(0, count, _BATCH):
        lines = [_line(chance, ids, start + number) for number in range(min(_BATCH, count - start))]
        spool.append(b"".join(lines))
    spool.close()


def _line(chance: random.Random, ids: list[bytes], number: int) -> bytes:
    return encode(
        Visit(
            id=uuid7().hex.encode(),
            at=b"%d" % (1_790_000_000_000_000 + number * 100),
            link=ids[int(len(ids) * chance.random() ** 4)],  # the first hundredth gets a third of all visits
            query=chance.choice(_QUERIES),
            peer=b"10.%d.%d.%d" % (chance.randrange(256), chance.randrange(256), chance.randrange(256)),
            forwarded=b"",
            user_agent=chance.choice(_AGENTS),
            referrer=chance.choice(_REFERRERS),
            language=chance.choice(_LANGUAGES),
            purpose=b"prefetch" if number % 50 == 0 else b"",
            privacy=b"1" if number % 20 == 0 else b"",
        )
    )
