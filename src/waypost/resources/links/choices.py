"""What an account can choose from where a link is made or looked for: its domains, its pixels, its tags."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import bindparam, text

from waypost.database import Id, Tx

_DOMAINS = 1_000
_PIXELS = 200
_TAGS = 100

_OFFERED = (
    text(
        "WITH RECURSIVE met (tag, place) AS (SELECT min(tag), 1 FROM link_tags WHERE account_id = :account_id UNION ALL"
        " SELECT (SELECT min(tag) FROM link_tags WHERE account_id = :account_id AND tag > met.tag), place + 1"
        " FROM met WHERE met.tag IS NOT NULL AND place < :tags)"
        " SELECT 'pixel' AS kind, name, id, platform FROM (SELECT id, name, platform FROM pixels"
        " WHERE account_id = :account_id ORDER BY id LIMIT :pixels) AS own UNION ALL"
        " SELECT 'domain', hostname, NULL, NULL FROM (SELECT hostname FROM domains"
        " WHERE account_id = :account_id ORDER BY hostname LIMIT :domains) AS own UNION ALL"
        " SELECT 'tag', tag, NULL, NULL FROM met WHERE tag IS NOT NULL"
    )
    .bindparams(bindparam("account_id", type_=Id), domains=_DOMAINS, pixels=_PIXELS, tags=_TAGS)
    .columns(id=Id)
)
"""In one trip. From one tag to the next, however many links have one, it is a seek; how many have it is not counted:
that took longer than the list of links itself."""


@dataclass(frozen=True, slots=True)
class Choices:
    hostnames: Sequence[str]
    """Those that are not proven yet, too."""
    pixels: Sequence[tuple[UUID, str, str]]
    """(id, name, platform)"""
    tags: Sequence[str]
    """The first by the alphabet."""


async def choices(tx: Tx, account_id: UUID) -> Choices:
    found = (await tx.execute(_OFFERED, {"account_id": account_id})).all()
    return Choices(
        hostnames=[row.name for row in found if row.kind == "domain"],
        pixels=[(row.id, row.name, row.platform) for row in found if row.kind == "pixel"],
        tags=[row.name for row in found if row.kind == "tag"],
    )
