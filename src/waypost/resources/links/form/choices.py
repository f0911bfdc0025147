"""What forms and filters of links offer: domains, pixels, tags and UTM values of the account."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Text, bindparam, case, literal, null, select, union_all

from waypost.database import Id, Tx
from waypost.resources import domains, pixels
from waypost.resources.links.model import NOT_DELETED, links
from waypost.resources.links.tags import store as tag_store
from waypost.resources.pixels.platforms import PLATFORM_HINTS
from waypost.resources.pixels.service import MAX_PIXELS

_MAX_DOMAINS = 1_000
_MAX_TAGS = 100
_NEWEST = 200
"""Links whose UTM values are suggested."""
_MAX_UTM_VALUES = 50
_STATES = {"domain": "", "unverified": " (not verified)"}

_ACCOUNT = bindparam("account_id", type_=Id)


class FormChoices(NamedTuple):
    hostnames: Mapping[str, str]
    """Of the account's domains, with what people call them."""
    pixels: Sequence[tuple[UUID, str, str]]
    """(id, name, name of the platform)"""
    tags: Mapping[str, str]
    """Colors of the first ones, by their names in alphabetical order."""


async def find_choices(tx: Tx, account_id: UUID) -> FormChoices:
    rows = (await tx.execute(_CHOICES, {"account_id": account_id})).all()
    return FormChoices(
        hostnames={
            row.name: ".".join(domains.readable(row.name)) + _STATES[row.kind] for row in rows if row.kind in _STATES
        },
        pixels=[(row.id, row.name, PLATFORM_HINTS[row.platform].name) for row in rows if row.kind == "pixel"],
        tags={row.name: row.color for row in rows if row.kind == "tag"},
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


_OWN_PIXELS = pixels.names_query(_ACCOUNT, MAX_PIXELS).subquery().c
_DOMAINS = domains.hostnames_subquery(_ACCOUNT, _MAX_DOMAINS).subquery().c
_TAGS = tag_store.choices_query(_ACCOUNT, _MAX_TAGS).subquery().c
_NO_ID, _NO_TEXT = null().cast(Id), null().cast(Text)
_CHOICES = union_all(
    select(literal("pixel").label("kind"), *_OWN_PIXELS, _NO_TEXT.label("color")),
    select(case((_DOMAINS.is_served, "domain"), else_="unverified"), _DOMAINS.hostname, _NO_ID, _NO_TEXT, _NO_TEXT),
    select(literal("tag"), _TAGS.name, _NO_ID, _NO_TEXT, _TAGS.color),
)
"""Domains, pixels and tags in one round trip."""
