"""The command line: parse, call one function, print. Imports late, so that --help answers at once.

Results go to stdout; with --json they are one document, and messages for people go to stderr.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

from cyclopts import App, CycloptsError, Parameter

from waypost.commands.accounts import account
from waypost.commands.api_keys import key
from waypost.commands.clicks import export, stats
from waypost.commands.domains import domain
from waypost.commands.qrcodes import qr
from waypost.commands.runner import (
    DONE,
    FAILED,
    WRONG_USAGE,
    JsonOption,
    refuse_without_command,
    report_error,
    say,
    with_settings,
)
from waypost.commands.secrets import secrets
from waypost.commands.webhooks import webhook
from waypost.private_files import restrict_new_files

if TYPE_CHECKING:
    from waypost.settings import Settings

Role = Literal["all", "web", "redirect", "worker"]


def _version() -> str:
    from importlib.metadata import version

    return f"waypost {version('waypost')}"


# plain text: rendering help as Markdown would take 0.1 s more
app = App(name="waypost", help="Branded short links, self-hosted.", help_format="plaintext", version=_version)
for group in (account, key, domain, stats, export, webhook, secrets):
    app.command(group)
app.command(qr)


@app.command
def serve(
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    workers: int | None = None,
    role: Role = "all",
    tls: Annotated[bool, Parameter(negative="")] = False,
    tls_port: int | None = None,
    data_dir: Path | None = None,
) -> int:
    """Run the service until SIGTERM or Ctrl-C.

    Parameters
    ----------
    host
        IP address to listen on; 0.0.0.0 means all.
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
    from waypost.commands import serve

    return serve.start(host=host, port=port, workers=workers, role=role, data_dir=data_dir, tls=tls, tls_port=tls_port)


@app.command
@with_settings
async def migrate(settings: "Settings") -> None:
    """Migrate the database to the current schema."""
    from waypost.commands.database import migrate_database

    before, after = await migrate_database(settings)
    say(f"The schema is already at {after}." if before == after else f"The schema is now at {after}.")


@app.command
def doctor(*, json: JsonOption = False) -> int:
    """Run diagnostics: report what is wrong and what to do."""
    import asyncio

    from waypost.commands import output
    from waypost.commands.doctor import examine
    from waypost.commands.settings_check import read_settings

    findings = asyncio.run(examine(*read_settings()))
    output.write_findings(findings, as_json=json)
    return FAILED if any(finding.state == "failed" for finding in findings) else DONE


@app.command
@with_settings
async def backup(settings: "Settings", file: Path, /) -> None:
    """Back up all data to one archive, while the service runs."""
    from waypost.commands.backup import write_backup

    for note in write_backup(settings, file):
        say(note)


def main() -> NoReturn:
    restrict_new_files()
    try:
        code = refuse_without_command(app) or app(exit_on_error=False, result_action="return_value")
    except CycloptsError:  # Cyclopts has printed it
        code = WRONG_USAGE
    except KeyboardInterrupt:
        code = FAILED
    except Exception as error:  # noqa: BLE001  # no traceback on a terminal: an unexpected one is logged
        code = report_error(error)
    sys.exit(code or DONE)
