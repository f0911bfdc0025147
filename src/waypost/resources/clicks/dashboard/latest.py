"""The latest clicks, as pages list them."""

from uuid import UUID

from waypost.context import Context
from waypost.resources.clicks import listing
from waypost.resources.clicks.dashboard import rendering, value_lists
from waypost.resources.clicks.days import TimeRange
from waypost.resources.clicks.selection import ClickSelection
from waypost.resources.clicks.stats.read import find_names
from waypost.resources.clicks.store import ClickReader

_COUNT = 12


async def find_latest(
    deps: Context, reader: ClickReader, selection: ClickSelection, within: TimeRange | None = None
) -> list[rendering.LatestClick]:
    """Return the latest clicks of a link, or of an account with the links."""
    latest = await listing.list_latest(reader, selection, _COUNT, within)
    if selection.subject.link_id:
        return [rendering.latest_click(click) for click in latest]
    ids = {UUID(bytes=click.link_id) for click in latest}
    names = await find_names(reader, selection.subject.account_id, sorted(ids), shared_domain=deps.shared_domain)
    deleted = (value_lists.DELETED, "")
    return [rendering.latest_click(click, names.get(UUID(bytes=click.link_id), deleted)[0]) for click in latest]
