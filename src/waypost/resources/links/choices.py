"""What an account can choose from where a link is made or looked for: its domains, its pixels, its tags."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import bindparam, select, text

from waypost.database import Id, Tx
from waypost.resources.domains import domains
from waypost.resources.pixels import pixels

_DOMAINS = 1_000
_PIXELS = 200
_TAGS = 100

_MET = text(
    "WITH RECURSIVE met (tag, place) AS (SELECT min(tag), 1 FROM link_tags WHERE account_id = :account_id UNION ALL"
    " SELECT (SELECT min(tag) FROM link_tags WHERE account_id = :account_id AND tag > met.tag), place + 1"
    " FROM met WHERE met.tag IS NOT NULL AND place < :most) SELECT tag FROM met WHERE tag IS NOT NULL ORDER BY tag"
).bindparams(bindparam("account_id", type_=Id))
"""From one tag to the next: however many links have one, it is a seek. How many have it is not counted: that took
longer than the list of links itself."""


@dataclass(frozen=True, slots=True)
class Choices:
    hostnames: Sequence[str]
    """Those that are not proven yet, too."""
    pixels: Sequence[tuple[UUID, str, str]]
    """(id, name, platform)"""
    tags: Sequence[str]
    """The first by the alphabet."""


async def choices(tx: Tx, account_id: UUID) -> Choices:
    named = select(domains.c.hostname).where(domains.c.account_id == account_id)
    fired = select(pixels.c.id, pixels.c.name, pixels.c.platform).where(pixels.c.account_id == account_id)
    return Choices(
        hostnames=list((await tx.execute(named.order_by(domains.c.hostname).limit(_DOMAINS))).scalars()),
        pixels=[
            (row.id, row.name, row.platform) for row in await tx.execute(fired.order_by(pixels.c.id).limit(_PIXELS))
        ],
        tags=list((await tx.execute(_MET, {"account_id": account_id, "most": _TAGS})).scalars()),
    )
