"""All that an account has, in one ZIP file that is made while it is read: ten million clicks take the memory of ten.

Refuses to hold what opens deps: keys, secrets and tokens are not in it.
"""

import asyncio
import json
import zipfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from typing import Any

from sqlalchemy import literal, select, tuple_

from waypost.auth import list_keys, passkeys, sessions
from waypost.auth.sessions import Session
from waypost.database import Id, Instant
from waypost.kit.clock import timestamp
from waypost.kit.fair_queue import FairQueue
from waypost.kit.pagination import MAX_PER_PAGE, PageRequest
from waypost.resources.account import schemas
from waypost.resources.account.deps import Deps
from waypost.resources.clicks.export import Wanted, json_lines, pages
from waypost.resources.clicks.subject import Subject
from waypost.resources.domains import store as domain_store
from waypost.resources.domains.schemas import shown as shown_domain
from waypost.resources.links.model import ALIVE, COLUMNS, Link, links
from waypost.resources.links.schemas import to_json as link_to_json
from waypost.resources.pixels import store as pixel_store
from waypost.resources.pixels.schemas import shown as shown_pixel
from waypost.resources.webhooks import store as webhook_store
from waypost.resources.webhooks.schemas import shown as shown_webhook

_AT_ONCE = 1_000
_NOTE = """What is in here:

account.json    your account, its API keys (without the keys themselves), passkeys and sessions
domains.json    your domains
pixels.json     your pixels (without their ids and tokens)
webhooks.json   your webhooks (without their secrets)
links.jsonl     your links, newest first, one a line, as the API shows them
clicks.jsonl    every click, oldest first, one a line, as the API shows them; crawlers and previews included
"""


class _Pipe:
    """What was written since it was last emptied. It cannot be gone back in, so sizes stand behind each file."""

    def __init__(self) -> None:
        self._written = bytearray()

    def write(self, data: bytes) -> int:
        self._written += data
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def emptied(self) -> bytes:
        taken, self._written = bytes(self._written), bytearray()
        return taken


async def archive(deps: Deps, session: Session, turns: FairQueue) -> AsyncIterator[bytes]:
    """Each piece takes a turn; while the client reads it, others have theirs."""
    async with aclosing(_archive(deps, session)) as pieces:
        while True:
            async with turns.slot(session.account.id):
                piece = await anext(pieces, None)
            if piece is None:
                return
            yield piece


async def _archive(deps: Deps, session: Session) -> AsyncGenerator[bytes, None]:
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as whole:  # type: ignore[call-overload]  # write() will do
        for name, pieces in _files(deps, session).items():
            with whole.open(name, "w", force_zip64=True) as file:
                async for piece in pieces:
                    await asyncio.to_thread(file.write, piece.encode(errors="backslashreplace"))
                    yield pipe.emptied()
    yield pipe.emptied()


def _files(deps: Deps, session: Session) -> Mapping[str, AsyncIterator[str]]:
    return {
        "README.txt": _text(_NOTE),
        "account.json": _account(deps, session),
        "domains.json": _domains(deps, session),
        "pixels.json": _pixels(deps, session),
        "webhooks.json": _webhooks(deps, session),
        "links.jsonl": _links(deps, session),
        "clicks.jsonl": _clicks(deps, session),
    }


async def _text(text: str) -> AsyncIterator[str]:
    yield text


async def _account(deps: Deps, session: Session) -> AsyncIterator[str]:
    signing, account = deps.signing, session.account
    async with signing.db.read() as tx:
        open_sessions = await sessions.of_account(tx, account, now=signing.clock())
    yield _json({
        "id": str(account.id),
        "email": account.email,
        "name": account.name,
        "plan": schemas.plan(account.plan, signing.clock()),
        "created_at": timestamp(account.created_at),
        "api_keys": [schemas.token(key) for key in await list_keys(signing.db, account.id)],
        "passkeys": [
            {"name": each.name, "created_at": timestamp(each.created_at)}
            for each in await passkeys.of_account(signing, account)
        ],
        "sessions": [
            {"ip": each.ip, "user_agent": each.user_agent, "created_at": timestamp(each.created_at)}
            for each in open_sessions
        ],
    })  # fmt: skip


async def _domains(deps: Deps, session: Session) -> AsyncIterator[str]:
    async with deps.signing.db.read() as tx:
        found, _ = await domain_store.page(tx, session.account.id, PageRequest(1, 10_000))
    yield _json([shown_domain(each, deps.cname_target) for each in found])


async def _pixels(deps: Deps, session: Session) -> AsyncIterator[str]:
    async with deps.signing.db.read() as tx:
        found, _ = await pixel_store.page(tx, session.account.id, PageRequest(1, 10_000))
    yield _json([shown_pixel(each) for each in found])


async def _webhooks(deps: Deps, session: Session) -> AsyncIterator[str]:
    async with deps.signing.db.read() as tx:
        found, _ = await webhook_store.page(tx, session.account.id, PageRequest(1, MAX_PER_PAGE))
    yield _json([shown_webhook(each) for each in found])


async def _links(deps: Deps, session: Session) -> AsyncIterator[str]:
    signing, order = deps.signing, (links.c.created_at, links.c.id)
    newest = select(*COLUMNS).where(links.c.account_id == session.account.id, ALIVE)
    newest = newest.order_by(*(column.desc() for column in order)).limit(_AT_ONCE)
    page = newest
    while True:
        async with signing.db.read_long() as tx:
            found = [Link(*row) for row in await tx.execute(page)]
        now, base_url = signing.clock(), signing.base_url
        yield _lines(link_to_json(each, shared_domain=deps.shared_domain, base_url=base_url, now=now) for each in found)
        if len(found) < _AT_ONCE:
            break
        last = found[-1]
        page = newest.where(tuple_(*order) < tuple_(literal(last.created_at, Instant), literal(last.id, Id)))


async def _clicks(deps: Deps, session: Session) -> AsyncIterator[str]:
    wanted = Wanted(Subject(session.account.id, is_account=True), kind=None)
    async for page in pages(deps.signing.db, wanted, deps.shared_domain):
        yield await asyncio.to_thread(json_lines, page)


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def _lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
