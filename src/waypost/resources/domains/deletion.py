"""Deletes the rows of a domain in all tables."""

from uuid import UUID

from sqlalchemy import delete

from waypost.database import Tx
from waypost.resources.domains.app_links.model import domain_app_links
from waypost.resources.domains.appearance.model import domain_appearances
from waypost.resources.domains.logos.model import logos
from waypost.resources.domains.missed.model import missed_addresses
from waypost.resources.domains.model import domains
from waypost.resources.domains.options.model import domain_options

_DETAILS = (domain_app_links, domain_appearances, domain_options, missed_addresses)
_KEYS = {domains: domains.c.id, logos: logos.c.owner_id} | {table: table.c.domain_id for table in _DETAILS}
"""What the id of a domain is in, by table."""


async def delete_rows(tx: Tx, domain_id: UUID) -> None:
    for table, key in _KEYS.items():
        await tx.execute(delete(table).where(key == domain_id))
