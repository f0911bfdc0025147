"""Lists of clicks, of one link or of an account with its deleted links. Each reads one snapshot."""

from uuid import UUID

from waypost.auth import Caller
from waypost.database import Database
from waypost.kit.pagination import Page, PageRequest
from waypost.resources import links
from waypost.resources.clicks import listing
from waypost.resources.clicks.filters import ClickFilter
from waypost.resources.clicks.model import Click, Subject


async def browse(db: Database, caller: Caller, click_filter: ClickFilter, request: PageRequest) -> Page[Click]:
    async with db.read_for(caller.account.id) as tx:
        found, total = await listing.page(tx, Subject(caller.account.id, is_account=True), click_filter, request)
    return Page(found, total, request)


async def browse_link(
    db: Database, caller: Caller, link_id: UUID, click_filter: ClickFilter, request: PageRequest
) -> Page[Click]:
    """Raises NotFound for a link that the account does not have, or has deleted."""
    async with db.read_for(caller.account.id) as tx:
        await links.require(tx, caller.account.id, link_id)
        found, total = await listing.page(tx, Subject(link_id), click_filter, request)
    return Page(found, total, request)
