"""Exports an account's data as a ZIP file, which is streamed: memory stays small for millions of clicks.

Keys, secrets and tokens are not in it.
"""

import asyncio
import json
import zipfile
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any
from uuid import UUID

from starlette.responses import Response

from waypost.auth import list_keys, passkeys, sessions
from waypost.auth.sessions import Session
from waypost.kit.clock import timestamp
from waypost.kit.fair_queue import FairQueue
from waypost.resources.account import schemas
from waypost.resources.account.deps import Deps
from waypost.resources.clicks.click_store import ExportQuery
from waypost.resources.clicks.export import json_lines, read_batches
from waypost.resources.clicks.model import Subject
from waypost.resources.domains import account_data as domains_of_account
from waypost.resources.links import account_data as links_of_account
from waypost.resources.pixels import account_data as pixels_of_account
from waypost.resources.webhooks import account_data as webhooks_of_account
from waypost.web.streaming import StreamedResponse

_README = """Contents:

account.json    your account, its API keys (without the keys themselves), passkeys and sessions
domains.json    your domains
pixels.json     your pixels (without their ids and tokens)
webhooks.json   your webhooks (without their secrets)
links.jsonl     your links, newest first, one per line, as the API shows them
clicks.jsonl    every click, oldest first, one per line, as the API shows them; bots and previews included
"""


_STALL_TIMEOUT = 60.0
"""Seconds after which a download that is not read is aborted."""
_MAX_CONCURRENT = 2
"""Exports that prepare a chunk at the same time."""


class _Buffer:
    """A file that cannot seek, so the ZIP file states sizes after each of its files."""

    def __init__(self) -> None:
        self._written = bytearray()

    def write(self, data: bytes) -> int:
        self._written += data
        return len(data)

    def flush(self) -> None:
        """Required by `ZipFile`."""

    def take(self) -> bytes:
        taken, self._written = bytes(self._written), bytearray()
        return taken


class Downloads:
    """Downloads of this process, one per account."""

    def __init__(self) -> None:
        self._accounts: set[UUID] = set()
        self._queue = FairQueue(_MAX_CONCURRENT, per_key=1, max_waiting=1_024, timeout=None)

    def is_running(self, account_id: UUID) -> bool:
        return account_id in self._accounts

    def start(self, deps: Deps, session: Session) -> Response:
        account_id = session.account.id
        self._accounts.add(account_id)
        name = f"waypost-{deps.auth.clock():%Y-%m-%d}.zip"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "private, no-store"}
        ended = partial(self._accounts.discard, account_id)
        chunks = archive(deps, session, self._queue)
        return StreamedResponse(chunks, "application/zip", ended, headers=headers, read_timeout=_STALL_TIMEOUT)


async def archive(deps: Deps, session: Session, queue: FairQueue) -> AsyncIterator[bytes]:
    """Yield chunks. Each waits for a slot of the queue, which is free while the client reads the chunk."""
    async with aclosing(_archive(deps, session)) as chunks:
        while True:
            async with queue.slot(session.account.id):
                chunk = await anext(chunks, None)
            if chunk is None:
                return
            yield chunk


async def _archive(deps: Deps, session: Session) -> AsyncGenerator[bytes, None]:
    buffer = _Buffer()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as zip_file:  # type: ignore[call-overload]  # write() will do
        for name, chunks in _files(deps, session).items():
            with zip_file.open(name, "w", force_zip64=True) as file:
                async for chunk in chunks:
                    await asyncio.to_thread(file.write, chunk.encode(errors="backslashreplace"))
                    yield buffer.take()
    yield buffer.take()


def _files(deps: Deps, session: Session) -> Mapping[str, AsyncIterator[str]]:
    db, account_id = deps.auth.db, session.account.id
    return {
        "README.txt": _text(_README),
        "account.json": _json(lambda: _account(deps, session)),
        "domains.json": _json(lambda: domains_of_account.export_account_data(db, account_id, deps.cname_target)),
        "pixels.json": _json(lambda: pixels_of_account.export_account_data(db, account_id)),
        "webhooks.json": _json(lambda: webhooks_of_account.export_account_data(db, account_id)),
        "links.jsonl": links_of_account.export_account_data(
            db, account_id, shared_domain=deps.shared_domain, base_url=deps.auth.base_url, clock=deps.auth.clock
        ),
        "clicks.jsonl": _clicks(deps, session),
    }


async def _text(text: str) -> AsyncIterator[str]:
    yield text


async def _json(export: Callable[[], Awaitable[Any]]) -> AsyncIterator[str]:
    yield json.dumps(await export(), ensure_ascii=False, indent=2) + "\n"


async def _account(deps: Deps, session: Session) -> dict[str, Any]:
    db, account = deps.auth.db, session.account
    async with db.read() as tx:
        active_sessions = await sessions.list_active(tx, account, now=deps.auth.clock())
    return {
        "id": str(account.id),
        "email": account.email,
        "name": account.name,
        "plan": schemas.plan_to_json(account.plan, deps.auth.clock()),
        "created_at": timestamp(account.created_at),
        "api_keys": [schemas.key_to_json(key) for key in await list_keys(db, account.id)],
        "passkeys": [
            {"name": passkey.name, "created_at": timestamp(passkey.created_at)}
            for passkey in await passkeys.list_all(deps.auth, account)
        ],
        "sessions": [
            {"ip": other.ip, "user_agent": other.user_agent, "created_at": timestamp(other.created_at)}
            for other in active_sessions
        ],
    }


async def _clicks(deps: Deps, session: Session) -> AsyncIterator[str]:
    query = ExportQuery(Subject(session.account.id), kind=None)
    async for batch in read_batches(deps.click_store, deps.auth.db, query, deps.shared_domain):
        yield await asyncio.to_thread(json_lines, batch)
