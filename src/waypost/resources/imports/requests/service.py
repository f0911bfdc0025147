"""What people do with an import in the dashboard: request it, upload its file, confirm its plan, continue, give up."""

from collections.abc import Iterable, Mapping
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
from waypost.resources.imports import states, store
from waypost.resources.imports.choices import SourceChoice
from waypost.resources.imports.model import Import, imports
from waypost.resources.imports.requests.uploads import MAX_FILE, Uploads
from waypost.resources.imports.rules import printable
from waypost.resources.imports.states import Transition
from waypost.resources.utm_templates import NO_TEMPLATE, UtmTemplate

MAX_OPEN = 5
"""Imports per account that have not ended."""
MAX_FILES = 512 << 20
"""Bytes of all their files."""
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
    utm_params: Mapping[str, str]
    """For links whose destination has none."""


def parse_new(
    choice: SourceChoice,
    fields: Mapping[str, Any],
    file_name: str,
    file_size: int | None,
    templates: Iterable[UtmTemplate] = (),
) -> NewImport:
    """`file_size`: in bytes; None without a file. `templates`: those that may be chosen. Raises Invalid."""
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
    params = {str(template.id): template.utm_params for template in templates}
    template = fields.get("utm_template") or ""
    if template and template not in params:
        problems.add("utm_template", NO_TEMPLATE)
    problems.raise_if_any()
    return NewImport(
        url=url or None,
        token=None if has_file else token,
        has_clicks=bool(fields.get("clicks")),
        timezone=timezone or None,
        file_name=printable(file_name[-255:]) if has_file else None,
        file_size=file_size if has_file else None,
        utm_params=params.get(template, {}),
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


async def create(deps: Deps, session: Session, choice: SourceChoice, new: NewImport) -> Import:
    """Add the import. Its planning starts now, or with a file once that is complete. Raises Conflict."""
    now, id_, has_file = deps.clock(), new_id(), new.file_size is not None
    options: dict[str, Any] = {
        "url": new.url,
        "file": str(id_) if has_file else None,
        "domains": {},
        "clicks": new.has_clicks and choice.has_clicks,
        "timezone": new.timezone,
        **({"utm_params": dict(new.utm_params)} if new.utm_params else {}),
    }
    import_ = Import(
        id_,
        session.account.id,
        choice.name,
        options,
        now,
        now,
        session.actor.to_json(),
        has_page=True,
        state="uploading" if has_file else "planning",
        file_name=new.file_name,
        file_size=new.file_size,
    )
    token = deps.key_ring.encrypt(imports.c.token, id_, new.token) if new.token else None
    async with deps.db.write() as tx:
        await lock_account(tx, import_.account_id)
        count, size = await store.count_open(tx, import_.account_id)
        if count >= MAX_OPEN:
            raise Conflict({"body": [f"You have {MAX_OPEN} imports that have not ended. Finish or give up one first."]})
        if size + (import_.file_size or 0) > MAX_FILES:
            raise Conflict({"body": [_FILES_TOO_LARGE]})
        await store.add(tx, import_, token)
        await audit.record(tx, session.actor, "import.requested", now, import_.item)
    return import_


async def add_piece(deps: Deps, import_: Import, start: int, content: bytes) -> int:
    """Store a piece of the file, and return its size so far. Planning starts with the last piece. Raises Invalid."""
    size = import_.file_size or 0
    if import_.state != "uploading":
        return size  # a repeated last piece
    if start + len(content) > size:
        raise Invalid({"file": ["The file is longer than announced. Choose it again."]})
    stored = await deps.uploads.add(import_.id, start, content)
    if stored == size:
        async with deps.db.write() as tx:
            await _switch(deps, tx, import_, states.UPLOADED)
    return stored


async def plan_again(deps: Deps, _: Session, import_: Import, chosen: Mapping[str, Any]) -> None:
    """`chosen`: options that have changed, see `Import.options`."""
    async with deps.db.write() as tx:
        await _switch(deps, tx, import_, states.PLAN_AGAIN, options=_with(import_, chosen), plan={})


async def start(deps: Deps, session: Session, import_: Import, chosen: Mapping[str, Any]) -> None:
    """Import the links, of which there may be no plan."""
    values = {"options": _with(import_, chosen), "actor": session.actor.to_json()}
    async with deps.db.write() as tx:
        await _switch(deps, tx, import_, states.START, **values)
        await audit.record(tx, session.actor, "import.started", deps.clock(), import_.item)


async def resume(deps: Deps, session: Session, import_: Import, _: Mapping[str, Any]) -> None:
    """Continue where the import or its planning has stopped. An import that has begun keeps its options."""
    transition = states.RESUME if import_.state == "stopped" else states.RESUME_PLAN
    async with deps.db.write() as tx:
        await _switch(deps, tx, import_, transition, actor=session.actor.to_json())
        await audit.record(tx, session.actor, "import.resumed", deps.clock(), import_.item)


async def set_options(deps: Deps, import_: Import, chosen: Mapping[str, Any]) -> None:
    """Change what is imported and where links go, unless the import has begun by now."""
    async with deps.db.write() as tx:
        await store.switch(tx, import_.id, states.KEEP_PLAN, deps.clock(), options=_with(import_, chosen))


async def give_up(deps: Deps, session: Session, import_: Import) -> None:
    """Delete token and file. What is imported already stays."""
    async with deps.db.write() as tx:
        now = deps.clock()
        if await store.switch(tx, import_.id, states.GIVE_UP, now):
            await audit.record(tx, session.actor, "import.given_up", now, import_.item)
    await deps.uploads.delete(import_.id)


def _with(import_: Import, chosen: Mapping[str, Any]) -> dict[str, Any]:
    return {**import_.options, **chosen}


async def _switch(deps: Deps, tx: Tx, import_: Import, transition: Transition, **values: Any) -> None:
    """Raises Conflict."""
    if not await store.switch(tx, import_.id, transition, deps.clock(), failures=0, **values):
        raise Conflict({"body": [_STATE_CHANGED]})
