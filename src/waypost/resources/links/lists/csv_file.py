"""The links of a list as CSV, which spreadsheets open and `imports` reads again."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from waypost.database import Database
from waypost.kit.clock import timestamp
from waypost.kit.csv_cells import csv_text
from waypost.resources.links import routing
from waypost.resources.links.lists.listing import find_ids_after
from waypost.resources.links.lists.query import LinkFilter
from waypost.resources.links.model import Link
from waypost.resources.links.store import find_own

TITLES = (
    *("Short link", "Destination URL", "Title", "Tags", "Creation date", "Expiration date"),
    *("Clicks", "Status", "Note", "External ID"),
)


async def read_lines(
    db: Database,
    account_id: UUID,
    filter_: LinkFilter,
    at: datetime,
    shared_domain: str,
    *,
    shows_protected: bool = True,
    batch: int = 500,
) -> AsyncIterator[str]:
    """Yield the links that match and existed `at`, newest first.

    Unless it `shows_protected`, links with a password lack what may name the destination. `batch`: of a transaction.
    """
    yield csv_text([TITLES])
    last: tuple[datetime, UUID] | None = None
    while True:
        async with db.read_for(account_id) as tx:
            found = await find_ids_after(tx, account_id, filter_, at, last, limit=batch)
            by_id = await find_own(tx, account_id, [id_ for id_, _ in found])
            if not shows_protected:
                by_id |= {id_: _redacted(by_id[id_]) for id_ in await routing.find_protected(tx, list(by_id))}
        yield csv_text(_cells(by_id[id_], shared_domain) for id_, _ in found if id_ in by_id)
        if len(found) < batch:
            return
        last = found[-1][1], found[-1][0]


def _redacted(link: Link) -> Link:
    return replace(link, destination_url="", title="", note=None, external_id=None)


def _cells(link: Link, shared_domain: str) -> tuple[str | int | None, ...]:
    return (
        link.short_url(shared_domain),
        link.destination_url,
        link.title,
        ", ".join(link.tags),
        timestamp(link.created_at),
        timestamp(link.expires_at) if link.expires_at else None,
        link.clicks,
        "active" if link.is_enabled else "inactive",
        link.note,
        link.external_id,
    )
