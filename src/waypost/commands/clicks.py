"""`waypost stats` and `waypost export`."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from waypost.commands.runner import (
    EXIT_FAILED,
    EXIT_OK,
    AccountOption,
    Settings,
    check_email,
    say,
    say_if_url_is_assumed,
    with_settings,
)
from waypost.kit.errors import Invalid

KindOption = Literal["human", "crawler", "preview", "prefetch", "all"]
FormatOption = Literal["csv", "ndjson"]
FromOption = Annotated[str | None, Parameter(name="--from")]
FirstDayOption = Annotated[
    FromOption, Parameter(help="First day (UTC), such as 2026-11-20. Without it, all days whose clicks are stored.")
]

clicks = App(name="clicks", help="Stored clicks.")
stats = App(name="stats", help="Statistics of clicks.")
export = App(name="export", help="Export data as files.")


@clicks.command(name="move")
@with_settings
async def move_clicks(settings: Settings, *, to: Literal["clickhouse"]) -> int:
    """Copy all clicks and statistics from PostgreSQL to ClickHouse. Run it again to continue or to complete it.

    Parameters
    ----------
    to
        clickhouse: the server of WAYPOST_CLICKHOUSE_URL.

    """
    from waypost.commands import database, output

    if not settings.clickhouse_url:
        raise Invalid({"--to": [f"Set WAYPOST_CLICKHOUSE_URL to the {to} server for this command."]})
    async with database.open_database(settings) as db, database.open_clickhouse_store(settings) as store:
        from waypost.resources.clicks.backends.clickhouse.move import ClickMove

        with output.progress("Moving days") as on_progress:
            different = await ClickMove(db, store).run(on_progress)
    if different:
        output.write([each.to_json() for each in different], as_json=False)
        say("These days differ. Run this again, with the workers stopped if clicks arrive meanwhile.")
        return EXIT_FAILED
    say("All days are in ClickHouse.")
    return EXIT_OK


@stats.command(name="rebuild")
@with_settings
async def rebuild_stats(settings: Settings, *, start: FirstDayOption = None) -> None:
    """Rebuild all statistics from the stored clicks, while the service runs."""
    from waypost.commands import database, output

    first = database.parse_day("--from", start)
    async with database.open_database(settings) as db, database.open_click_store(settings) as store:
        with output.progress("Counting days") as on_progress:
            done = await store.rebuild(db, from_day=first, on_progress=on_progress)
    if done.corrected or done.links:
        say(f"{done.days} days recounted: {done.corrected} corrections, {done.links} link counters set.")
    else:
        say(f"{done.days} days recounted: all statistics were correct.")


@stats.command(name="check")
@with_settings
async def check_stats(settings: Settings, *, start: FirstDayOption = None) -> int:
    """Compare statistics and counters with the stored clicks, while the service runs. Changes nothing."""
    from waypost.commands import database, output

    first = database.parse_day("--from", start)
    async with database.open_database(settings) as db, database.open_click_store(settings) as store:
        with output.progress("Checking days") as on_progress:
            found = [each async for each in store.check(db, from_day=first, on_progress=on_progress)]
    for difference in found:
        sys.stdout.write(f"{difference.text}. Run: {difference.command}\n")
    say("Statistics, counters and clicks agree." if not found else f"{len(found)} differences.")
    return EXIT_FAILED if found else EXIT_OK


@export.command(name="clicks")
@with_settings
async def export_clicks(
    settings: Settings,
    *,
    account: Annotated[str | None, Parameter(validator=partial(check_email, "--account"))] = None,
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
    say_if_url_is_assumed(settings)


@export.command(name="all")
@with_settings
async def export_all(
    settings: Settings,
    *,
    account: AccountOption,
    output: Annotated[Path, Parameter(help="New file, such as waypost.zip.")],
) -> None:
    """Write all data of an account to one ZIP file, while the service runs. `waypost import waypost` reads it."""
    from waypost.commands import account_export
    from waypost.commands.database import check_click_store, get_account, open_context

    async with open_context(settings) as context:
        await check_click_store(settings)
        await account_export.write(context, await get_account(context.db, account), output)
    say(f"Exported to {output}.")
    say_if_url_is_assumed(settings)
