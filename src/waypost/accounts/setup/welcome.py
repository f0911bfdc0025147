"""Prints a message once the service is ready. After the first start it has an API key and a sign-in link.

These are created only when they can be shown, so that a failed start leaves no unseen key. They are shown on a terminal
only: other outputs are logs, which many people can read for a long time. The URL of set-up, with its code, is shown at
each start until there is an owner.
"""

import asyncio
import json
import os
import sys
from urllib.parse import urlsplit

import structlog

from waypost import accounts, installation, private_files
from waypost.accounts.auth_deps import Deps, new_deps
from waypost.accounts.model import Person
from waypost.accounts.setup import first_start
from waypost.accounts.setup import service as setup
from waypost.database import Database
from waypost.database.schema import find_problems
from waypost.kit import clock
from waypost.kit.errors import Unavailable
from waypost.settings import Settings

log = structlog.get_logger()

_RETRY_INTERVAL = 0.2  # seconds
FILE = "first-start.txt"
_READY = """
Waypost is ready at {base_url}
"""
_FIRST_START = """
Sign in to the dashboard (works once, for 15 minutes): {sign_in_link}

API key of {owner} (shown only once): {key}

Create a short link:
  curl -X POST {base_url}/api/v1/links -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' -d '{body}'
Follow it:
  curl -i {short_url}
"""
_IN_FILE = """The sign-in link and the API key of {owner} are in this file. Save the key, then delete the file:
  {path}
"""
_LATER_START = """Create a sign-in link: waypost account sign-in-link {owner}
Create another API key: waypost key create --account {owner} --name NAME
"""
_SETUP = """
Set up the dashboard in a browser: {base_url}/setup?code={code}
"""
_BEFORE_OTHERS = "\nBefore others use it:\n"


async def show_welcome(settings: Settings, db: Database, token: int) -> None:
    """Show the message once the database can be used. Never raises.

    `token`: read end of a pipe with one byte, which all web processes share. The one that reads it shows the message.
    """
    try:
        while await find_problems(db):  # noqa: ASYNC110  # no event says that the database is back
            await asyncio.sleep(_RETRY_INTERVAL)
        if os.read(token, 1):
            sys.stdout.write(await _text(settings, db))
            sys.stdout.flush()
            _report_findings(settings)
    except BlockingIOError:  # another process has shown it, or this one before it was restarted
        return
    except (OSError, Unavailable) as error:
        reason = error.strerror if isinstance(error, OSError) else error.message
        log.error("first start not completed, restart to repeat it", reason=reason, data_dir=str(settings.data_dir))
    except Exception:  # redirects do not depend on it
        log.exception("the welcome message could not be shown")


def _report_findings(settings: Settings) -> None:
    """Log what the installation lacks, and add it to the file of the first start."""
    findings = [finding for _, check in installation.CHECKS if (finding := check(settings, clock.now)).advice]
    for finding in findings:
        note = log.info if finding.state == "ok" else log.warning
        note("diagnostic finding", check=finding.check, finding=finding.message, advice=finding.advice)
    path = settings.data_dir / FILE
    if findings and path.exists() and _BEFORE_OTHERS not in path.read_text():
        with path.open("a") as file:
            lines = (f"- {finding.check}: {finding.message}\n  {finding.advice}\n" for finding in findings)
            file.writelines([_BEFORE_OTHERS, *lines])


async def _text(settings: Settings, db: Database) -> str:
    deps = new_deps(settings, db, clock.now)
    pending = await first_start.find_pending(db) if deps.has_passwords else None
    set_up = _SETUP.format(base_url=settings.base_url, code=setup.code(deps, pending)) if pending else ""
    text = await _first_start(deps, settings, set_up) or await _later_start(db, pending)
    return _READY.format(base_url=settings.base_url) + text + set_up


async def _first_start(deps: Deps, settings: Settings, set_up: str) -> str | None:
    """Create the key, and return the message with it or with its file. None if it has been created.

    `set_up`: what the file also has about set-up.
    """
    path = settings.data_dir.absolute() / FILE
    async with deps.db.write() as tx:
        access = await first_start.create_access(deps, tx)
        if access is None:
            return None
        text = _FIRST_START.format(
            base_url=settings.base_url,
            owner=first_start.PLACEHOLDER,
            key=access.key,
            sign_in_link=access.sign_in_link,
            body=json.dumps({"slug": "hello", "destination_url": "https://example.com/"}),
            short_url=f"{urlsplit(settings.base_url).scheme}://{settings.shared_domain}/hello",
        )
        if not sys.stdout.isatty():
            private_files.write(path, _READY.format(base_url=settings.base_url) + text + set_up)  # before the commit
            text = _IN_FILE.format(owner=first_start.PLACEHOLDER, path=path)
    return text


async def _later_start(db: Database, pending: Person | None) -> str:
    owners = [each.email for each in (pending, *reversed(await accounts.list_accounts(db))) if each]
    return _LATER_START.format(owner=owners[0]) if owners else ""
