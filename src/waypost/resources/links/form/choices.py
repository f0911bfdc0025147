"""What forms and filters of links offer: domains, pixels, tags and UTM values of the account."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Select, Text, bindparam, case, func, literal, null, select, union_all

from waypost.database import Id, Tx
from waypost.resources import domains, pixels
from waypost.resources.links.model import NOT_DELETED, link_tags, links
from waypost.resources.pixels.service import MAX_PIXELS

_MAX_DOMAINS = 1_000
_MAX_TAGS = 100
_NEWEST = 200
"""Links whose UTM values are suggested."""
_MAX_UTM_VALUES = 50

_ACCOUNT = bindparam("account_id", type_=Id)


class FormChoices(NamedTuple):
    hostnames: Sequence[str]
    """Unverified domains included."""
    unverified: Collection[str]
    """Hostnames of domains whose links do not work."""
    pixels: Sequence[tuple[UUID, str, str]]
    """(id, name, platform)"""
    tags: Sequence[str]
    """The first ones in alphabetical order."""


async def find_choices(tx: Tx, account_id: UUID) -> FormChoices:
    rows = (await tx.execute(_CHOICES, {"account_id": account_id})).all()
    return FormChoices(
        hostnames=[row.name for row in rows if row.kind in {"domain", "unverified"}],
        unverified={row.name for row in rows if row.kind == "unverified"},
        pixels=[(row.id, row.name, row.platform) for row in rows if row.kind == "pixel"],
        tags=[row.name for row in rows if row.kind == "tag"],
    )


async def find_utm_values(tx: Tx, account_id: UUID) -> Mapping[str, Sequence[str]]:
    """Return the values that the newest links have, by parameter."""
    newest = select(links.c.utm_params).where(links.c.account_id == account_id, NOT_DELETED)
    newest = newest.order_by(links.c.created_at.desc(), links.c.id.desc()).limit(_NEWEST)
    values: dict[str, dict[str, None]] = {}
    for params in await tx.scalars(newest):
        for key, value in params.items():
            values.setdefault(key, {})[value] = None
    return {key: list(of_key)[:_MAX_UTM_VALUES] for key, of_key in values.items()}


def _tags_query() -> Select[Any]:
    """Select the tags, with one seek from each to the next: grouping the rows took longer than the list."""
    smallest = select(func.min(link_tags.c.tag)).where(link_tags.c.account_id == _ACCOUNT)
    first = select(smallest.scalar_subquery().label("tag"), literal(1).label("position")).cte("tags", recursive=True)
    following = smallest.where(link_tags.c.tag > first.c.tag).correlate(first).scalar_subquery()
    tags = first.union_all(
        select(following, first.c.position + 1).where(first.c.tag.is_not(None), first.c.position < _MAX_TAGS)
    )
    return select(tags.c.tag).where(tags.c.tag.is_not(None))


_OWN_PIXELS = pixels.names_query(_ACCOUNT, MAX_PIXELS).subquery().c
_DOMAINS = domains.hostnames_subquery(_ACCOUNT, _MAX_DOMAINS).subquery().c
_NOTHING_ELSE = null().cast(Id).label("id"), null().cast(Text).label("platform")
_CHOICES = union_all(
    select(literal("pixel").label("kind"), _OWN_PIXELS.name, _OWN_PIXELS.id, _OWN_PIXELS.platform),
    select(case((_DOMAINS.is_served, "domain"), else_="unverified"), _DOMAINS.hostname, *_NOTHING_ELSE),
    select(literal("tag"), *_tags_query().subquery().c, *_NOTHING_ELSE),
)
"""Domains, pixels and tags in one round trip."""
