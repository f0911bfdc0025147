"""What forms and filters of links offer for selection: the account's domains, pixels and tags."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Select, Text, bindparam, func, literal, null, select, union_all

from waypost.database import Id, Tx
from waypost.resources import domains, pixels
from waypost.resources.links.model import link_tags

_DOMAINS = 1_000
_PIXELS = 200
_TAGS = 100


@dataclass(frozen=True, slots=True)
class FormChoices:
    hostnames: Sequence[str]
    """Also of unverified domains."""
    pixels: Sequence[tuple[UUID, str, str]]
    """(id, name, platform)"""
    tags: Sequence[str]
    """The first ones in alphabetical order."""


async def find_choices(tx: Tx, account_id: UUID) -> FormChoices:
    found = (await tx.execute(_CHOICES, {"account_id": account_id})).all()
    return FormChoices(
        hostnames=[row.name for row in found if row.kind == "domain"],
        pixels=[(row.id, row.name, row.platform) for row in found if row.kind == "pixel"],
        tags=[row.name for row in found if row.kind == "tag"],
    )


def _tags(account_id: Any) -> Select[Any]:
    """One seek from each tag to the next, however many links have it. Counting those took longer than the list."""
    smallest = select(func.min(link_tags.c.tag)).where(link_tags.c.account_id == account_id)
    first = select(smallest.scalar_subquery().label("tag"), literal(1).label("place")).cte("tags", recursive=True)
    following = smallest.where(link_tags.c.tag > first.c.tag).correlate(first).scalar_subquery()
    tags = first.union_all(select(following, first.c.place + 1).where(first.c.tag.is_not(None), first.c.place < _TAGS))
    return select(tags.c.tag).where(tags.c.tag.is_not(None))


def _choices(account_id: Any) -> Any:
    """All in one round trip."""
    own_pixels = pixels.names_of(account_id, _PIXELS).subquery()
    own_domains = domains.hostnames_of(account_id, _DOMAINS).subquery()
    tags = _tags(account_id).subquery()
    no_id, no_platform = null().cast(Id).label("id"), null().cast(Text).label("platform")
    return union_all(
        select(literal("pixel").label("kind"), own_pixels.c.name, own_pixels.c.id, own_pixels.c.platform),
        select(literal("domain"), own_domains.c.hostname, no_id, no_platform),
        select(literal("tag"), tags.c.tag, no_id, no_platform),
    )


_CHOICES = _choices(bindparam("account_id", type_=Id))
