"""Exports the options of an account's domains."""

from collections.abc import AsyncIterator
from uuid import UUID

from sqlalchemy import select
from typing_extensions import TypedDict

from waypost.context import Context
from waypost.kit.forward_query import ForwardQuery, from_text
from waypost.kit.json_object import json_object
from waypost.kit.slug_style import SlugAlphabet
from waypost.resources.domains.model import domains
from waypost.resources.domains.options.model import domain_options
from waypost.resources.domains.options.schemas import DomainOptionsChange


class ExportedOptionsJson(TypedDict):
    """null: the default."""

    hostname: str
    ignore_case: bool | None
    forward_query: ForwardQuery | None
    forward_path: bool | None
    slug_length: int | None
    slug_alphabet: SlugAlphabet | None


async def read_options(context: Context, account_id: UUID) -> AsyncIterator[list[ExportedOptionsJson]]:
    columns = (domain_options.c[name] for name in DomainOptionsChange.model_fields)
    query = select(domains.c.hostname, *columns).join(domain_options, domain_options.c.domain_id == domains.c.id)
    async with context.db.read() as tx:
        rows = (await tx.execute(query.where(domains.c.account_id == account_id).order_by(domains.c.hostname))).all()
    yield [json_object(ExportedOptionsJson, row, forward_query=from_text(row.forward_query)) for row in rows]
