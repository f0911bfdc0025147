"""Members save, rename and delete views of statistics. Those of all members need the role editor."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from waypost import accounts, audit
from waypost.accounts.members import store as memberships
from waypost.accounts.sessions.store import Session
from waypost.audit import AuditAction, Item
from waypost.context import Context
from waypost.database import Tx
from waypost.kit.errors import Problems
from waypost.kit.fields import REQUIRED, text_problem
from waypost.kit.ids import new_id
from waypost.resources import links
from waypost.resources.links import store as link_store
from waypost.resources.saved_views import state, store
from waypost.resources.saved_views.model import SavedView

MAX_VIEWS = 50
"""Of a member, and as many of all members of an account."""
MAX_NAME = 60
MAX_QUERY = 2_000
TOO_MANY = f"There can be at most {MAX_VIEWS} saved views. Delete one that is not needed any more."
TAKEN = "There is a saved view with this name. Choose another name."
TOO_LONG = f"This view has too many filters to be saved: its URL has more than {MAX_QUERY:,} characters."


async def save(
    context: Context, session: Session, *, name: str, link_id: UUID | None, query: str, is_personal: bool
) -> SavedView:
    """Raises Invalid, Forbidden, and NotFound for a link that the account does not have."""
    problems, account_id = Problems(), session.account.id
    name = _check_name(name, problems)
    query = state.clean_query(query, is_of_link=link_id is not None)
    if len(query) > MAX_QUERY:
        problems.add("body", TOO_LONG)
    owner = session.person.id if is_personal else None
    new = SavedView(new_id(), account_id, owner, name, link_id, query, context.clock())
    async with context.db.write() as tx:
        await accounts.lock_account(tx, account_id)
        await _require_role(tx, session, new)
        if link_id:
            await links.require_exists(tx, account_id, link_id)
        shown = await store.list_shown(tx, account_id, session.person.id)
        if sum(each.person_id == owner for each in shown) >= MAX_VIEWS:
            problems.add("body", TOO_MANY)
        _check_unique(shown, new, name, problems)
        problems.raise_if_any()
        await store.add(tx, new)
        await _record(tx, context, session, "saved_view.created", new)
    return new


async def list_views(context: Context, session: Session) -> list[SavedView]:
    """List the views of all members and those of the person, by name."""
    async with context.db.read() as tx:
        return await store.list_shown(tx, session.account.id, session.person.id)


async def get(context: Context, session: Session, view_id: UUID) -> SavedView:
    """Raises NotFound."""
    async with context.db.read() as tx:
        return await store.get(tx, session.account.id, session.person.id, view_id)


async def find_state(context: Context, session: Session, view_id: UUID) -> tuple[str, bool]:
    """Return the URL of what exists of the view, and whether something does not. Raises NotFound."""
    account_id = session.account.id
    async with context.db.read() as tx:
        view = await store.get(tx, account_id, session.person.id, view_id)
        named = {*state.filtered_links(view.query), *([view.link_id] if view.link_id else ())}
        gone = named - (await link_store.find_own(tx, account_id, named)).keys()
    query = state.clean_query(view.query, is_of_link=view.link_id is not None)  # what this version knows of it
    kept = replace(
        view,
        link_id=None if view.link_id in gone else view.link_id,
        query=state.without_links(query, gone) if gone else query,
    )
    return kept.url, bool(gone)


async def rename(context: Context, session: Session, view_id: UUID, name: str) -> None:
    """Raises Invalid, Forbidden and NotFound."""
    problems = Problems()
    name = _check_name(name, problems)
    async with context.db.write() as tx:
        view = await _get_locked(tx, session, view_id)
        session.require_current(view)
        shown = await store.list_shown(tx, view.account_id, session.person.id)
        _check_unique(shown, view, name, problems)
        problems.raise_if_any()
        await store.rename(tx, view_id, name)
        await _record(tx, context, session, "saved_view.updated", view, name)


async def delete(context: Context, session: Session, view_id: UUID) -> None:
    """Raises Forbidden and NotFound."""
    async with context.db.write() as tx:
        view = await _get_locked(tx, session, view_id)
        await store.remove(tx, view_id)
        await _record(tx, context, session, "saved_view.deleted", view)


async def _get_locked(tx: Tx, session: Session, view_id: UUID) -> SavedView:
    await accounts.lock_account(tx, session.account.id)
    view = await store.get(tx, session.account.id, session.person.id, view_id)
    await _require_role(tx, session, view)
    return view


async def _require_role(tx: Tx, session: Session, view: SavedView) -> None:
    await memberships.require_action(tx, session.actor, "view" if view.is_personal else "links.write")


def _check_name(name: str, problems: Problems) -> str:
    name = " ".join(name.split())
    if not name:
        problems.add("name", REQUIRED)
    elif len(name) > MAX_NAME:
        problems.add("name", f"This must have at most {MAX_NAME} characters.")
    elif problem := text_problem(name):
        problems.add("name", problem)
    return name


def _check_unique(shown: Sequence[SavedView], view: SavedView, name: str, problems: Problems) -> None:
    """Two views of all members, or of one member, have different names."""
    others = (each for each in shown if each.person_id == view.person_id and each.id != view.id)
    if any(each.name.casefold() == name.casefold() for each in others):
        problems.add("name", TAKEN)


async def _record(
    tx: Tx, context: Context, session: Session, action: AuditAction, view: SavedView, name: str | None = None
) -> None:
    """Only what all members see is in the audit log."""
    if not view.is_personal:
        changes = {"name": [view.name, name]} if name else None
        item = Item(view.id, name or view.name)
        await audit.record(tx, session.actor, action, context.clock(), item, changes=changes)
