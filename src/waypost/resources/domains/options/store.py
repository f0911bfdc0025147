"""SQL of the options of domains."""

from collections.abc import Collection, Mapping
from uuid import UUID

from sqlalchemy import select

from waypost.database import Tx
from waypost.kit.slug_style import SlugStyle
from waypost.resources.domains.details import DomainDetails
from waypost.resources.domains.options.model import DomainOptions, domain_options

OPTIONS = DomainDetails(domain_options, DomainOptions)


async def find_slug_styles(tx: Tx, domain_ids: Collection[UUID]) -> Mapping[UUID, SlugStyle]:
    """Return the styles of generated slugs. Domains with the default may be missing."""
    columns = (domain_options.c[name] for name in ("domain_id", *DomainOptions._fields))
    query = select(*columns).where(domain_options.c.domain_id.in_(domain_ids))
    return {id_: DomainOptions(*values).slug_style for id_, *values in await tx.execute(query)}
