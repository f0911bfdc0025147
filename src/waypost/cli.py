"""The command line: parses, calls one function, prints. Imports late, so that --help is fast.

Results go to stdout, with --json as one document; messages for people go to stderr.
"""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

from cyclopts import App, CycloptsError, Parameter

from waypost.commands.accounts import account, key
from waypost.commands.audit import audit
from waypost.commands.clicks import clicks, export, stats
from waypost.commands.domains import domain
from waypost.commands.import_links import import_links
from waypost.commands.link_health import link_health
from waypost.commands.members import member
from waypost.commands.operators import operator
from waypost.commands.reports import report
from waypost.commands.runner import (
    EXIT_FAILED,
    EXIT_OK,
    EXIT_USAGE,
    FlagOption,
    JsonOption,
    Settings,
    refuse_without_command,
    report_error,
    say,
    say_if_url_is_assumed,
    with_settings,
)
from waypost.commands.secrets import secrets
from waypost.commands.spool import spool
from waypost.commands.webhooks import webhook
from waypost.private_files import restrict_new_files

ProcessRole = Literal["all", "web", "redirect", "worker"]
LevelOption = Literal["L", "M", "Q", "H"]
StyleOption = Literal["squares", "dots", "fluid"]


def _version() -> str:
    from waypost.version import VERSION, commit, redirect_form

    form = ", compiled redirects" if redirect_form() == "compiled" else ""
    return f"waypost {VERSION} ({commit() or 'commit unknown'}{form})"


# plain text: rendering help as Markdown would take 0.1 s more
app = App(name="waypost", help="Branded short links, self-hosted.", help_format="plaintext", version=_version)
for group in (
    account,
    member,
    key,
    audit,
    operator,
    domain,
    link_health,
    clicks,
    stats,
    report,
    export,
    webhook,
    secrets,
    spool,
):
    app.command(group)
app.command(import_links, name="import")


@app.command
def serve(
    *,
    host: str | None = None,
    port: int | None = None,
    workers: int | None = None,
    role: ProcessRole = "all",
    tls: FlagOption = False,
    tls_port: int | None = None,
    data_dir: Path | None = None,
) -> int:
    """Run the service until SIGTERM or Ctrl-C.

    Parameters
    ----------
    host
        IP address to listen on; 0.0.0.0 means all, :: also those of IPv6. Default: 127.0.0.1, with --tls all.
    port
        Port to listen on. Default: the port of a local WAYPOST_BASE_URL, else 8000, with --tls 80. With --role worker:
        the port of /healthz, /readyz and /metrics, default 8001.
    workers
        Number of web processes. Default: 1.
    role
        all: everything in one command. web: API, dashboard, redirects. redirect: redirects only. worker: jobs only.
    tls
        Also serve HTTPS, with certificates obtained by ACME (WAYPOST_TLS).
    tls_port
        Port for HTTPS (WAYPOST_TLS_PORT). Default: 443.
    data_dir
        Directory of the database, images and spool (WAYPOST_DATA_DIR).

    """
    sys.modules.setdefault("rich", None)  # type: ignore[arg-type]  # structlog would load it for consoles: 0.1 s
    from waypost.commands import serve

    return serve.start(host=host, port=port, workers=workers, role=role, data_dir=data_dir, tls=tls, tls_port=tls_port)


@app.command
@with_settings
async def migrate(settings: Settings, *, backup: Path | None = None) -> None:
    """Migrate the database to the current schema, and the tables in ClickHouse if it is used.

    The service may run. There is no downgrade: to go back, restore a backup.

    Parameters
    ----------
    backup
        Create this archive before a change of the schema, as `waypost backup` does. On PostgreSQL, use pg_dump.

    """
    from waypost.commands.backup import back_up_before_migration
    from waypost.commands.database import is_migration_due, migrate_click_store, migrate_database
    from waypost.database.schema import newest

    if await is_migration_due(settings):
        for note in back_up_before_migration(settings, backup):
            say(note)
    before, after = await migrate_database(
        settings, on_wait=lambda: say("Other transactions hold locks. Waiting for them …")
    )
    say(_migrated("The schema", before, after, is_newer=after > newest()))
    if settings.clickhouse_url:
        from waypost.resources.clicks.backends.clickhouse import schema

        old, new = await migrate_click_store(settings)
        say(_migrated("The schema in ClickHouse", old, new, is_newer=new > schema.newest()))


def _migrated(subject: str, before: object, after: object, *, is_newer: bool) -> str:
    if is_newer:
        return f"{subject} is {after} of a newer version, and works with this one. Nothing was changed."
    return f"{subject} is current ({after})." if before == after else f"{subject} is now at {after}."


@app.command
def doctor(*, json: JsonOption = False) -> int:
    """Run diagnostics: report what is wrong and what to do."""
    import asyncio

    from waypost.commands import output
    from waypost.commands.doctor import examine
    from waypost.commands.settings_check import read_settings

    findings = asyncio.run(examine(*read_settings()))
    output.write_findings(findings, as_json=json)
    return EXIT_FAILED if any(finding.state == "failed" for finding in findings) else EXIT_OK


@app.command
@with_settings
async def backup(
    settings: Settings, file: Annotated[Path, Parameter(help="New archive, such as backup.tar.gz.")], /
) -> None:
    """Back up all data to one archive, while the service runs."""
    from waypost.commands.backup import write_backup

    for note in write_backup(settings, file):
        say(note)


@app.command
@with_settings
async def copy(settings: Settings, *, to: str) -> None:
    """Copy a stopped installation from SQLite to PostgreSQL or back, and compare both.

    Parameters
    ----------
    to
        URL of an empty database: postgresql://user:password@host:port/name, or sqlite:////directory/waypost.db.

    """
    from waypost.commands import database_copy, output

    with output.progress("Copying rows") as on_progress:
        result = await database_copy.copy(settings, to, on_progress)
    for note in database_copy.notes(settings, to, result):
        say(note)


@app.command
def qr(
    url: str,
    /,
    *,
    output: Path | None = None,
    level: LevelOption | None = None,
    margin: int | None = None,
    style: StyleOption | None = None,
    size: int | None = None,
    width_mm: int | None = None,
    foreground: str | None = None,
    background: str | None = None,
) -> int:
    """Draw the QR code of a URL on the terminal or to a file.

    Parameters
    ----------
    url
        http:// or https:// URL.
    output
        File instead of the terminal. Its name ends with .png, .svg or .pdf.
    level
        Error correction. L gives the smallest code, H tolerates the most damage. Default: M.
    margin
        Quiet zone on each side in modules, 0 to 10. Default: 4.
    style
        Style of the modules in a file. Default: squares.
    size
        Width of a PNG or SVG in pixels, 64 to 2048. Default: 512.
    width_mm
        Width of a PDF in millimeters, 10 to 300. Default: 40.
    foreground
        Color in a file, as #rgb or #rrggbb. Default: black.
    background
        Color in a file. Default: white.

    """
    from waypost.commands import qr_output

    return qr_output.draw(
        url,
        output,
        level=level,
        margin=margin,
        style=style,
        size=size,
        width_mm=width_mm,
        foreground=foreground,
        background=background,
    )


@app.command
@with_settings
async def demo(settings: Settings, *, remove: FlagOption = False, json: JsonOption = False) -> None:
    """Create an account with 60 links and invented visits of 90 days, to look at. Nothing of it is ever sent.

    Parameters
    ----------
    remove
        Delete the account with all of its data.

    """
    from waypost.commands import demo, output

    if remove:
        await demo.remove(settings)
        say("The demo account and its data are deleted.")
        return
    say("Creating the demo account, which takes some seconds …")
    created = await demo.create(settings)
    output.write(created, as_json=json)
    say("Open the sign-in link within 15 minutes, while the service runs. Remove the account: waypost demo --remove")
    say_if_url_is_assumed(settings)


@app.command
def mcp(*, url: str | None = None, key_file: Path | None = None) -> int:
    """Serve the Model Context Protocol on stdin and stdout, for an assistant that manages links of a running service.

    Parameters
    ----------
    url
        Origin of the service, such as https://go.example.com. Default: WAYPOST_BASE_URL.
    key_file
        File with the API key. Default: the environment variable WAYPOST_API_KEY.

    """
    from waypost.commands import mcp

    return mcp.serve(url, key_file)


@app.command
def link(*_: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]) -> int:
    """Manage links of a running service: waypost --remote URL --key-file FILE link."""
    say("Name the service: waypost --remote URL --key-file FILE link …")
    return EXIT_USAGE


@app.command
def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print a script that completes commands and options in a shell.

    Parameters
    ----------
    shell
        In ~/.bashrc: eval "$(waypost completion bash)".

    """
    from waypost.commands.completion import script

    sys.stdout.write(script(app, shell))


def _run() -> Any:
    if any("\ud800" <= char <= "\udfff" for each in sys.argv for char in each):  # bytes that are not UTF-8
        say("Arguments must be UTF-8 text.")
        return EXIT_USAGE
    if any(each.partition("=")[0] == "--remote" for each in sys.argv):
        from waypost.commands import remote

        return remote.app.meta(exit_on_error=False, result_action="return_value")
    return refuse_without_command(app) or app(exit_on_error=False, result_action="return_value")


def main() -> NoReturn:
    restrict_new_files()
    try:
        code = _run()
    except CycloptsError:  # Cyclopts has printed it
        code = EXIT_USAGE
    except KeyboardInterrupt:
        code = EXIT_FAILED
    except Exception as error:  # noqa: BLE001  # no traceback on a terminal: an unexpected one is logged
        code = report_error(error)
    sys.exit(code or EXIT_OK)
