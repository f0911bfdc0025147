"""The commands on clicks and what is added up from them. Imports late, so that --help answers at once."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from waypost.commands.running import DONE, say, with_settings

if TYPE_CHECKING:
    from waypost.settings import Settings

Kind = Literal["human", "crawler", "preview", "prefetch", "all"]
Form = Literal["csv", "ndjson"]
From = Annotated[str | None, Parameter(name="--from")]

stats = App(name="stats", help="What is added up from clicks.")
export = App(name="export", help="What there is, as files.")


@stats.command(name="rebuild")
def rebuild_stats(*, start: From = None) -> int:
    """Count all figures anew from the clicks, while the service runs.

    Parameters
    ----------
    start
        First day (UTC), such as 2026-11-20; without it all days of which clicks are kept.

    """

    async def run(settings: "Settings") -> int:
        from waypost.commands import opening, rebuilding  # noqa: PLC0415  # see above

        async with opening.database(settings) as db:
            say(await rebuilding.rebuilt(db, opening.moment("--from", start)))
        return DONE

    return with_settings(run)


@export.command(name="clicks")
def export_clicks(
    *,
    account: str | None = None,
    link: str | None = None,
    start: From = None,
    end: Annotated[str | None, Parameter(name="--to")] = None,
    kind: Kind = "human",
    form: Annotated[Form, Parameter(name="--format")] = "csv",
    output: Path | None = None,
) -> int:
    """Write clicks to stdout or into a file, oldest first.

    Parameters
    ----------
    account
        E-mail address; without it every account's clicks.
    link
        Id of the only link wanted.
    start
        First moment, such as 2026-11-20 or 2026-11-20T02:56:16+01:00.
    end
        First moment not wanted any more.
    kind
        Kind of visits.
    form
        csv for spreadsheets; ndjson as the API shows clicks.
    output
        New file instead of stdout.

    """

    async def run(settings: "Settings") -> int:
        from waypost.commands import exporting, opening  # noqa: PLC0415  # see above

        since, until = opening.moment("--from", start), opening.moment("--to", end)
        async with opening.database(settings) as db:
            wanted = await exporting.wanted(db, account=account, link=link, start=since, end=until, kind=kind)
            count = await exporting.write(db, wanted, form, output, shared_domain=settings.shared_domain)
        if count is not None:
            say(f"{count:,} clicks exported.")
        return DONE

    return with_settings(run)
