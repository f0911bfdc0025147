"""Imports the clicks of an archive, and the statistics of days whose clicks were deleted."""

from hashlib import blake2b
from uuid import UUID

from waypost.database import Tx
from waypost.kit.clock import EPOCH
from waypost.resources.clicks.backends.sql.export import add_old_days, begin_old_days, read_old_day
from waypost.resources.clicks.days import find_kept_since
from waypost.resources.clicks.model import Click
from waypost.resources.imports.archive.rows import ClickRow, Rows
from waypost.resources.imports.archive.target import TargetAccount
from waypost.resources.imports.clicks import SqlClickWriter, plan_clicks
from waypost.resources.imports.page_plan import PagePlan, PageReport


async def plan(account: TargetAccount, rows: Rows, page: PagePlan) -> None:
    clicks = await _read(account, rows, page.done)
    token = f"import:{blake2b(b''.join(click.id for click in clicks), digest_size=16).hexdigest()}"
    plan_clicks(page, account.deps.db, account.deps.click_writer, clicks, token)


async def _read(account: TargetAccount, rows: Rows, done: PageReport) -> list[Click]:
    """Leave out clicks of links that are not in the archive, and those that are not kept here."""
    parsed = [(row, ClickRow.of(row)) for row in rows]
    valid = [click for _, click in parsed if click]
    for row, click in parsed:
        if click is None:
            done.warn("A click cannot be read and is left out", str(row.get("id", "?")))
    async with account.deps.db.read() as tx:
        own = await account.find_own_ids(tx, (click.link_id for click in valid))
        kept_since = await find_kept_since(tx)
    clicks: dict[bytes, Click] = {}
    for click in valid:
        link_id = own.get(click.link_id)
        if link_id is None:
            done.warn("Clicks of links that are not in the export are left out", str(click.link_id))
            continue
        id_ = click.id if link_id == click.link_id else _derived_id(click.id, link_id)
        built = click.to_click(id_, link_id, account.account_id)
        if built.day < kept_since:
            done.warn("Clicks from before the retention period are left out", str(click.link_id))
        else:
            clicks[built.id] = built
    return list(clicks.values())


async def add_old_statistics(account: TargetAccount, rows: Rows, done: PageReport, tx: Tx) -> None:
    since = account.archive.clicks_since
    kept_since = (since - EPOCH.date()).days if since else 0
    days = [day for row in rows if (day := read_old_day(row)) and day.day < kept_since]
    if not days:
        return
    if not isinstance(account.deps.click_writer, SqlClickWriter) or not await begin_old_days(tx, kept_since):
        done.warn(
            f"Statistics of days before {since} are left out: their clicks were deleted, and this installation"
            " keeps the clicks of these days"
        )
        return
    own = await account.find_own_ids(tx, (day.link_id for day in days if day.link_id))
    mapped = [
        day._replace(link_id=own.get(day.link_id)) if day.link_id else day
        for day in days
        if day.link_id is None or day.link_id in own
    ]
    await add_old_days(tx, account.account_id, mapped)


def _derived_id(click_id: UUID, link_id: UUID) -> UUID:
    """Return an id of the same time, for a copy of a link that is still in this installation."""
    digest = int.from_bytes(blake2b(click_id.bytes, digest_size=7, key=link_id.bytes).digest())
    return UUID(int=click_id.int >> 62 << 62 | digest)
