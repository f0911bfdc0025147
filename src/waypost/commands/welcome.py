"""Prints a message once the service is ready. The first start also creates the owner's account and API key.

The key is created only when it can be shown, so that a failed start leaves no unseen key. It is shown on a terminal
only: other outputs are logs, which many people can read for a long time.
"""

import asyncio
import contextlib
import json
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from waypost import private_files
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.database import Database

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


async def welcome(settings: Settings, host: str, port: int, *, stop: asyncio.Event) -> None:
    await _until_ready(settings, host, port, stop)
    if not stop.is_set():
        # imported late, to leave the processor to the web process while it starts
        from waypost.database import Database

        db = Database(settings.database, readers=1)
        sys.stdout.write(await _text(db, settings))
        sys.stdout.flush()
        await db.close()


async def _text(db: "Database", settings: Settings) -> str:
    from waypost import auth

    accounts = await auth.list_accounts(db)
    if accounts:
        return _LATER_START.format(base_url=settings.base_url, owner=accounts[-1].email)
    if sys.stdout.isatty():
        return await _create_owner(db, settings)
    path = settings.data_dir.absolute() / FILE
    private_files.write(path, "")  # fails before the key is created, not after
    private_files.write(path, await _create_owner(db, settings))
    return _IN_FILE.format(base_url=settings.base_url, owner=OWNER, path=path)


async def _create_owner(db: "Database", settings: Settings) -> str:
    """Create the owner's account and key, and return the message with them."""
    # imported on the first start only, because it loads all of the application
    from waypost import auth
    from waypost.auth import sign_in
    from waypost.auth.deps import new_deps
    from waypost.kit import clock

    now, days = clock.now(), settings.trial_days
    owner = await auth.create_account(db, email=OWNER, name="Owner", plan="lifetime", now=now, trial_days=days)
    _, key = await auth.create_key(db, account_id=owner.id, name="First key", scopes=auth.SCOPES, now=now)
    body = json.dumps({"slug": "hello", "destination_url": "https://example.com/"})
    short_url = f"{urlsplit(settings.base_url).scheme}://{settings.shared_domain}/hello"
    link = await sign_in.create_sign_in_link(new_deps(settings, db, clock.now), owner.id)
    return _FIRST_START.format(
        base_url=settings.base_url, owner=OWNER, key=key, body=body, short_url=short_url, sign_in_link=link
    )


async def _until_ready(settings: Settings, host: str, port: int, stop: asyncio.Event) -> None:
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # wildcards cannot be connected to
    while not stop.is_set():
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(5):
                if await _is_ready(address, port, urlsplit(settings.base_url).netloc):
                    return
        await asyncio.sleep(0.1)


async def _is_ready(host: str, port: int, name: str) -> bool:
    """Request /readyz. The parent listens before a web process accepts, so the first request waits for it."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(f"GET /readyz HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
        return b" 200 " in await reader.readline()
    finally:
        writer.close()
