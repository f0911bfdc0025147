"""What people do with an import in the dashboard: request it, upload its file, confirm its plan, continue, give up."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import available_timezones

from waypost import audit
from waypost.accounts import lock_account
from waypost.accounts.sessions.store import Session
from waypost.context import Context
from waypost.database import Tx
from waypost.kit.errors import Conflict, Invalid, Problems
from waypost.kit.ids import new_id
from waypost.kit.urls import ANY_NAME, BadUrl, canonical
from waypost.resources.imports.choices import SourceChoice
from waypost.resources.imports.requests import store
from waypost.resources.imports.requests.model import ImportRequest, State, import_requests
from waypost.resources.imports.requests.uploads import MAX_FILE, Uploads
from waypost.resources.imports.rules import printable

MAX_OPEN = 5
"""Requests per account that have not ended."""
MAX_FILES = 512 << 20
"""Bytes of all files of these requests."""
_MAX_TOKEN = 1_000
_FILES_TOO_LARGE = (
    f"The files of your imports that have not ended would have more than {MAX_FILES >> 20} MiB together. "
    "Finish or give up one first."
)
_STATE_CHANGED = "This import is in another state by now. Reload the page."


@dataclass(frozen=True, kw_only=True)
class Deps(Context):
    uploads: Uploads


@dataclass(frozen=True, slots=True)
class NewImport:
    """Input of the form, valid."""

    url: str | None
    token: str | None
    has_clicks: bool
    timezone: str | None
    file_name: str | None
    file_size: int | None


def parse_new(choice: SourceChoice, fields: Mapping[str, Any], file_name: str, file_size: int | None) -> NewImport:
    """`file_size`: in bytes; None without a file. Raises Invalid."""
    problems = Problems()
    url, token, timezone = (str(fields.get(name) or "").strip() for name in ("url", "token", "timezone"))
    has_file = file_size is not None and choice.input != "token"
    if has_file:
        _check_size(file_size or 0, problems)
    elif choice.input == "file":
        problems.add("file", "Choose a file.")
    elif not token:
        either = " or choose a file" if choice.input == "either" else ""
        problems.add("token", f"Enter the {choice.token_label}{either}.")
    elif len(token) > _MAX_TOKEN or not token.isascii() or not token.isprintable():
        problems.add("token", "This is not a token: it has too many or other characters. Copy it again.")
    if url:
        url = _origin(url if "://" in url else f"https://{url}", problems)
    elif choice.needs_url and not has_file:
        problems.add("url", "Enter the URL of your server.")
    if timezone and timezone not in available_timezones():
        problems.add("timezone", "This is not a time zone. Enter one such as Europe/Berlin.")
    problems.raise_if_any()
    return NewImport(
        url=url or None,
        token=None if has_file else token,
        has_clicks=bool(fields.get("clicks")),
        timezone=timezone or None,
        file_name=printable(file_name[-255:]) if has_file else None,
        file_size=file_size if has_file else None,
    )


def _check_size(size: int, problems: Problems) -> None:
    if size == 0:
        problems.add("file", "This file is empty.")
    elif size > MAX_FILE:
        problems.add(
            "file", f"This file has more than {MAX_FILE >> 20} MiB. Ask the administrator to run waypost import."
        )


def _origin(text: str, problems: Problems) -> str:
    try:
        return canonical(text, private=ANY_NAME).text.rstrip("/")
    except BadUrl as error:
        problems.add("url", str(error))
        return ""


async def create(deps: Deps, session: Session, choice: SourceChoice, new: NewImport) -> ImportRequest:
    """Add the request. Its planning starts now, or with a file once that is complete. Raises Conflict."""
    now = deps.clock()
    request = ImportRequest(
        id=new_id(),
        account_id=session.account.id,
        source=choice.name,
        state="planning" if new.file_size is None else "uploading",
        url=new.url,
        has_token=new.token is not None,
        has_clicks=new.has_clicks and choice.has_clicks,
        timezone=new.timezone,
        file_name=new.file_name,
        file_size=new.file_size,
        created_at=now,
        updated_at=now,
        actor=session.actor.to_json(),
    )
    token = deps.key_ring.encrypt(import_requests.c.token, request.id, new.token) if new.token else None
    async with deps.db.write() as tx:
        await lock_account(tx, request.account_id)
        count, size = await store.count_open(tx, request.account_id)
        if count >= MAX_OPEN:
            raise Conflict({"body": [f"You have {MAX_OPEN} imports that have not ended. Finish or give up one first."]})
        if request.file_size and size + request.file_size > MAX_FILES:
            raise Conflict({"body": [_FILES_TOO_LARGE]})
        await store.add(tx, request, token)
        await audit.record(tx, session.actor, "import.requested", now, request.item)
        if request.is_active:
            await store.enqueue_turn(tx, request, deps.clock())
    return request


async def add_piece(deps: Deps, request: ImportRequest, start: int, content: bytes) -> int:
    """Store a piece of the file, and return its size so far. Planning starts with the last piece. Raises Invalid."""
    size = request.file_size or 0
    if request.state != "uploading":
        return size  # a repeated last piece
    if start + len(content) > size:
        raise Invalid({"file": ["The file is longer than announced. Choose it again."]})
    stored = await deps.uploads.add(request.id, start, content)
    if stored == size:
        async with deps.db.write() as tx:
            await _switch(deps, tx, request, ["uploading"], "planning")
    return stored


async def plan_again(deps: Deps, _: Session, request: ImportRequest, hostnames: Mapping[str, str]) -> None:
    async with deps.db.write() as tx:
        await _switch(deps, tx, request, ("planned", "plan_stopped"), "planning", domains=hostnames, plan={})


async def start(deps: Deps, session: Session, request: ImportRequest, hostnames: Mapping[str, str]) -> None:
    """Import the links. The plan may be skipped: sources with a small quota are then read only once."""
    allowed: tuple[State, ...] = ("planning", "plan_stopped", "planned")
    async with deps.db.write() as tx:
        await _switch(deps, tx, request, allowed, "running", domains=hostnames, actor=session.actor.to_json())


async def resume(deps: Deps, session: Session, request: ImportRequest, _: Mapping[str, str]) -> None:
    """Continue where the import or its planning has stopped. An import that has begun keeps its domains."""
    state: State = "running" if request.state == "stopped" else "planning"
    async with deps.db.write() as tx:
        await _switch(deps, tx, request, ("stopped", "plan_stopped"), state, actor=session.actor.to_json())
        await audit.record(tx, session.actor, "import.resumed", deps.clock(), request.item)


async def set_domains(deps: Deps, request: ImportRequest, hostnames: Mapping[str, str]) -> None:
    async with deps.db.write() as tx:
        await store.set_domains(tx, request.id, hostnames)


async def give_up(deps: Deps, session: Session, request: ImportRequest) -> None:
    """Delete token and file. What is imported already stays."""
    async with deps.db.write() as tx:
        current = await store.lock(tx, request.id)
        if current and not current.has_ended:
            now = deps.clock()
            await store.change(tx, request.id, now, state="given_up", message=None)
            await audit.record(tx, session.actor, "import.given_up", now, request.item)
    await deps.uploads.delete(request.id)


async def _switch(
    deps: Deps, tx: Tx, request: ImportRequest, allowed: Collection[State], state: State, **values: Any
) -> None:
    before = await store.lock(tx, request.id)
    if before is None or before.state not in allowed:
        raise Conflict({"body": [_STATE_CHANGED]})
    await store.change(tx, request.id, deps.clock(), state=state, message=None, failures=0, **values)
    if not before.is_active:  # otherwise its job exists
        await store.enqueue_turn(tx, request, deps.clock())
