"""Prints a message once the service is ready. The first start also creates the owner's account and API key.

The key is created only when it can be shown, so that a failed start leaves no unseen key. It is shown on a terminal
only: other outputs are logs, which many people can read for a long time.
"""

import asyncio
import json
import os
import sys
from urllib.parse import urlsplit

import structlog

from waypost import auth, private_files
from waypost.auth import sign_in
from waypost.auth.deps import new_deps
from waypost.database import Database
from waypost.kit import clock
from waypost.kit.errors import Conflict
from waypost.serving.probes import find_problems
from waypost.settings import Settings

log = structlog.get_logger()

_RETRY_INTERVAL = 0.2  # seconds
OWNER = "owner@waypost.localhost"
FILE = "first-start.txt"
_FIRST_START = """
Waypost is ready at {base_url}

Sign in to the dashboard (works once, for 15 minutes): {sign_in_link}

API key of {owner} (shown only once): {key}

Create a short link:
  curl -X POST {base_url}/api/v1/links -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' -d '{body}'
Follow it:
  curl -i {short_url}
"""
_IN_FILE = """
Waypost is ready at {base_url}
The sign-in link and the API key of {owner} are in this file. Save the key, then delete the file:
  {path}
"""
_LATER_START = """
Waypost is ready at {base_url}
Create a sign-in link: waypost account sign-in-link {owner}
Create another API key: waypost key create --account {owner} --name NAME
"""


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
    except BlockingIOError:  # another process has shown it, or this one before it was restarted
        return
    except Exception:  # redirects do not depend on it
        log.exception("the welcome message could not be shown")


async def _text(settings: Settings, db: Database) -> str:
    accounts = await auth.list_accounts(db)
    if accounts:
        return _LATER_START.format(base_url=settings.base_url, owner=accounts[-1].email)
    try:
        return await _first_start(settings, db)
    except Conflict:  # another node was first
        return _LATER_START.format(base_url=settings.base_url, owner=OWNER)


async def _first_start(settings: Settings, db: Database) -> str:
    if sys.stdout.isatty():
        return await _create_owner(settings, db)
    path = settings.data_dir.absolute() / FILE
    private_files.make_directory(path.parent)
    with private_files.replacing(path) as file:  # fails before the key is created, not after
        file.write((await _create_owner(settings, db)).encode())
    return _IN_FILE.format(base_url=settings.base_url, owner=OWNER, path=path)


async def _create_owner(settings: Settings, db: Database) -> str:
    """Create the owner's account and key, and return the message with them."""
    now, days = clock.now(), settings.trial_days
    account = await auth.create_account(db, email=OWNER, name="Owner", plan="lifetime", now=now, trial_days=days)
    owner = await auth.get_person(db, OWNER)
    _, key = await auth.create_key(
        db, account_id=account.id, name="First key", scopes=auth.SCOPES, now=now, created_by=owner.id
    )
    body = json.dumps({"slug": "hello", "destination_url": "https://example.com/"})
    short_url = f"{urlsplit(settings.base_url).scheme}://{settings.shared_domain}/hello"
    link = await sign_in.create_sign_in_link(new_deps(settings, db, clock.now), owner.id)
    return _FIRST_START.format(
        base_url=settings.base_url, owner=OWNER, key=key, body=body, short_url=short_url, sign_in_link=link
    )
