"""`waypost stats` and `waypost export`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from waypost.commands.runner import say, with_settings

if TYPE_CHECKING:
    from waypost.settings import Settings

KindOption = Literal["human", "crawler", "preview", "prefetch", "all"]
FormatOption = Literal["csv", "ndjson"]
FromOption = Annotated[str | None, Parameter(name="--from")]

stats = App(name="stats", help="Statistics of clicks.")
export = App(name="export", help="Export data as files.")


@stats.command(name="rebuild")
@with_settings
async def rebuild_stats(settings: "Settings", *, start: FromOption = None) -> None:
    """Rebuild all statistics from the stored clicks, while the service runs.

    Parameters
    ----------
    start
        First day (UTC), such as 2026-11-20. Without it, all days whose clicks are stored.

    """
    from waypost.commands import database, output
    from waypost.kit.clock import EPOCH
    from waypost.resources.clicks.stats.rebuild import rebuild

    async with database.open_database(settings) as db:
        first = database.parse_time("--from", start)
        with output.progress("Counting days") as on_progress:
            done = await rebuild(db, from_day=(first - EPOCH).days if first else None, on_progress=on_progress)
    if done.corrected or done.links:
        say(f"{done.days} days recounted: {done.corrected} corrections, {done.links} link counters set.")
    else:
        say(f"{done.days} days recounted: all statistics were correct.")


@export.command(name="clicks")
@with_settings
async def export_clicks(
    settings: "Settings",
    *,
    account: str | None = None,
    link: str | None = None,
    start: FromOption = None,
    end: Annotated[str | None, Parameter(name="--to")] = None,
    kind: KindOption = "human",
    form: Annotated[FormatOption, Parameter(name="--format")] = "csv",
    output: Path | None = None,
) -> None:
    """Write clicks to stdout or to a file, oldest first.

    Parameters
    ----------
    account
        Email of the account. Without it, the clicks of all accounts.
    link
        ID of the only link to export.
    start
        Start of the time range, such as 2026-11-20 or 2026-11-20T02:56:16+01:00.
    end
        End of the time range, exclusive.
    kind
        Kind of visits.
    form
        csv for spreadsheets; ndjson for click objects as in the API.
    output
        New file instead of stdout.

    """
    from waypost.commands import click_export
    from waypost.commands.database import open_click_store, open_database, parse_time

    since, until = parse_time("--from", start), parse_time("--to", end)
    async with open_database(settings) as db, open_click_store(settings) as store:
        query = await click_export.read_query(db, account=account, link=link, start=since, end=until, kind=kind)
        count = await click_export.write(store, db, query, form, output, shared_domain=settings.shared_domain)
    if count is not None:
        say(f"{count:,} clicks exported.")
