"""`waypost import`: runs an import in this process, with a progress bar."""

import asyncio
import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from waypost import logs
from waypost.audit import Actor
from waypost.commands import output
from waypost.commands.database import get_account, open_database
from waypost.commands.key_check import prepare_key
from waypost.commands.runner import EXIT_FAILED, EXIT_OK, read_text, say
from waypost.composition import new_context, new_destination_checker, outbound_client
from waypost.database import Database
from waypost.kit.errors import Invalid
from waypost.kit.memory import limited_memory
from waypost.redirect import ChangeFeed
from waypost.resources.imports import lease, service
from waypost.resources.imports.deps import Deps, new_deps
from waypost.resources.imports.encodings import require_codec
from waypost.resources.imports.model import Import
from waypost.resources.imports.preview import Preview
from waypost.resources.imports.report import Report
from waypost.resources.imports.run import ImportRun
from waypost.resources.imports.source import Source, SourceError, SourceOptions
from waypost.resources.imports.sources import open_source
from waypost.secret_key import with_existing_key
from waypost.settings import Settings

_CACHE = 16_000
"""KiB of SQLite's pages."""
_MEMORY = 1 << 30
"""Bytes that the import may take. The process that reads an import of the dashboard has a quarter of it."""
_NICENESS = 10
"""Redirects on this machine come first."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The options of the command, as they were entered."""

    source: str
    account: str
    url: str | None = None
    token_file: str | None = None
    file: Path | None = None
    domains: Sequence[str] = ()
    with_clicks: bool = False
    timezone: str | None = None
    encoding: str | None = None
    dry_run: bool = False
    reserves_deleted_slugs: bool = False


async def run(settings: Settings, options: ImportOptions) -> tuple[Report, int]:
    """Return the report, and the exit code: 1 if the source could not be read to its end."""
    domains = _read_mapping(options.domains)
    source_options = _source_options(options, domains)
    stored = {
        "url": options.url,
        "file": _digest(options.file) if options.file else None,
        "domains": domains,
        "clicks": options.with_clicks,
        "timezone": options.timezone,
        **({"reserve_deleted_slugs": True} if options.reserves_deleted_slugs else {}),
        **({"encoding": source_options.encoding} if source_options.encoding else {}),
    }
    if options.reserves_deleted_slugs and options.source != "waypost":
        raise Invalid({"--reserve-deleted-slugs": ["Only an archive of Waypost has deleted links."]})
    os.nice(_NICENESS)
    logs.configure()  # stdout is for the report
    outbound = outbound_client(settings)
    async with open_database(settings) as db:
        owner = await get_account(db, options.account)
        try:
            source = open_source(options.source, source_options, outbound, _wait)
        except SourceError as error:  # an option is missing, or names what cannot be read
            raise Invalid({"body": [error.message]}) from None
        await source.check()  # before anything is written
        if not options.dry_run:
            await _limit_cache(db)
            await prepare_key(db, settings, "all")
        own = with_existing_key(settings)
        with closing(ChangeFeed(settings.data_dir / "run" / "changes")) as feed:
            deps = new_deps(own, new_context(own, db, feed.publish), new_destination_checker(settings, outbound))
            new = service.new_import(deps, Actor.command(owner.id, "waypost import"), options.source, stored)
            try:
                with limited_memory(_MEMORY):
                    return await (_plan if options.dry_run else _import)(deps, source, new)
            finally:
                await deps.click_store.close()


def _source_options(options: ImportOptions, domains: Mapping[str, str]) -> SourceOptions:
    return SourceOptions(
        url=options.url,
        token=_read_token(options.token_file) if options.token_file else None,
        file=options.file,
        timezone=_read_timezone(options.timezone),
        encoding=_read_encoding(options),
        site=next(iter(domains)) if len(domains) == 1 else None,
    )


async def _plan(deps: Deps, source: Source, new: Import) -> tuple[Report, int]:
    preview = Preview(deps, source, new)
    code = await _run(preview, f"Planning the import from {new.source}")
    return preview.report, code


async def _import(deps: Deps, source: Source, new: Import) -> tuple[Report, int]:
    """Import, or continue an import with the same options."""
    import_ = await service.create(deps, Actor.from_json(new.account_id, new.actor), new.source, new.options)
    code = await _run(ImportRun(deps, source, import_, lease.holder()), f"Importing from {new.source}")
    return await service.get_report(deps.db, await service.get(deps.db, new.account_id, import_.id)), code


def _say_plan(report: Report) -> None:
    """`report`: of the first page, of which no link is written yet."""
    counts, total = report.counts, report.total
    which = f"the first {counts.found:,} links" if total is None else f"the first {counts.found:,} of {total:,} links"
    say(f"Plan, by {which}: {counts.created:,} new, {counts.updated:,} changed, {counts.refused:,} refused.")
    for warning in report.warnings:
        say(f"Warning: {warning}.")


async def _run(run: ImportRun | Preview, label: str) -> int:
    error: Exception | None = None
    try:
        await run.start()
        if isinstance(run, ImportRun) and not run.has_begun:
            _say_plan(await run.plan_page())
        with output.progress(label) as report:
            while await run.step():
                if report:
                    report(*run.progress)
    except SourceError as caught:
        error = caught
        say(caught.message)
    except MemoryError as caught:
        error = caught
        say("This import needs too much memory.")
    except Exception as caught:
        error = caught
        raise
    finally:
        await run.stop(error)
    return EXIT_FAILED if error else EXIT_OK


def show(report: Report, note: str, *, as_json: bool) -> None:
    """`note`: before the counts."""
    json = report.to_json()
    if as_json:
        output.write(json, as_json=True)
        return
    counts = ", ".join(f"{count:,} {name}" for name, count in json["links"].items())
    sys.stdout.write(f"{note}Links: {counts}.\n")
    imported = f", and {report.counts.imported_clicks:,} imported as totals" if report.counts.imported_clicks else ""
    sys.stdout.write(f"Aliases: {report.counts.aliases:,}. Clicks: {report.counts.clicks:,}{imported}.\n")
    for warning in json["warnings"]:
        sys.stdout.write(f"Warning: {warning}.\n")
    for row in report.refused:
        sys.stdout.write(f"Refused: {row.source_id}: {row.reason}\n")


async def _limit_cache(db: Database) -> None:
    """SQLite may cache more for the service, which this process should not take from it."""
    if db.dialect == "sqlite":
        async with db.write() as tx:
            await tx.exec_driver_sql(f"PRAGMA cache_size = -{_CACHE}")


async def _wait(seconds: float, reason: str) -> None:
    say(f"{reason}. Waiting {seconds:,.0f} s …")
    await asyncio.sleep(seconds)


def _read_mapping(texts: Sequence[str]) -> dict[str, str]:
    """Raises Invalid."""
    domains = {}
    for text in texts:
        theirs, separator, ours = text.partition("=")
        if not (theirs and separator and ours):
            raise Invalid({"--domain": [f"{text} is not of the form FROM=TO, such as bit.ly=go.example.com."]})
        domains[theirs] = ours
    return domains


def _read_token(file: str) -> str:
    """Read the first line. Raises Invalid."""
    line = sys.stdin.readline() if file == "-" else read_text("--token-file", Path(file)).partition("\n")[0]
    if not line.strip():
        raise Invalid({"--token-file": ["The token is empty."]})
    return line.strip()


def _read_timezone(name: str | None) -> ZoneInfo | None:
    try:
        return None if name is None else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Invalid({"--timezone": [f"{name} is not a time zone such as Europe/Berlin."]}) from None


def _read_encoding(options: ImportOptions) -> str | None:
    """Raises Invalid."""
    if options.encoding is None:
        return None
    if options.source not in {"csv", "yourls"} or options.file is None:
        raise Invalid({"--encoding": ["Only a CSV file or an SQL dump has an encoding."]})
    try:
        return require_codec(options.encoding)
    except LookupError:
        raise Invalid({"--encoding": [f"{options.encoding} is not an encoding such as utf-8 or cp1252."]}) from None


def _digest(file: Path) -> str:
    """Raises Invalid."""
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise Invalid({"--file": [f"{file} cannot be read: {error.strerror}."]}) from None
