"""The overview: first steps, clicks of today beside those of yesterday, and what needs attention."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from waypost import accounts
from waypost.accounts import roles
from waypost.accounts.members import store as members
from waypost.accounts.sessions.store import Session
from waypost.audit import store as audit_store
from waypost.audit.actions import LABELS
from waypost.audit.store import AuditFilter
from waypost.context import Context
from waypost.database import Tx
from waypost.kit.ids import new_id
from waypost.resources import links
from waypost.resources.clicks.dashboard import latest, rendering, statistics, time_range
from waypost.resources.clicks.model import Subject
from waypost.resources.clicks.selection import ClickSelection
from waypost.resources.clicks.store import ClicksUnavailable
from waypost.resources.domains import store as domains
from waypost.resources.imports import store as imports
from waypost.resources.links import health
from waypost.web.dashboard import Form, PageCall, Pages, redirect

_SHOWN = 5
"""Entries of each list."""
_FIRST_DAYS = timedelta(days=30)
"""How long an account that has clicks shows the steps that are left."""
_DAYS = 14
_HEIGHT = 48
"""Of the bars of the last days."""
_HIDDEN_COOKIE = "first_steps_hidden"
"""The cookie with the account whose first steps are hidden."""


@dataclass(frozen=True, slots=True)
class FirstStep:
    """One of the first steps with an account."""

    text: str
    path: str
    is_done: bool


class OverviewPages(Pages[Context]):
    def endpoints(self) -> list[Route]:
        return [self.get("/", self.show, "view"), self.post("/account/first-steps/hide", self.hide_steps, "view")]

    async def hide_steps(self, call: PageCall) -> Response:
        """Keep it in the browser, a year long."""
        response = redirect("/")
        options: dict[str, Any] = {"max_age": 31_536_000, "path": "/", "httponly": True, "samesite": "lax"}
        response.set_cookie(_HIDDEN_COOKIE, str(call.session.account.id), **options)
        return response

    async def show(self, call: PageCall) -> Response:
        query = call.request.query_params
        if any(text and name != "done" for name, text in query.items()):  # of statistics, once on this page
            return RedirectResponse(f"/stats?{call.request.url.query}", 303)
        session, deps = call.session, self._deps
        async with deps.db.read_for(session.account.id) as tx:
            steps = await _find_steps(tx, session)
            broken = await health.find_broken(tx, session.account.id, _SHOWN)
            failed = await domains.find_failed(tx, session.account.id, _SHOWN)
            changes = await _find_changes(tx, session)
        has_clicks, is_complete = steps[1].is_done, all(step.is_done for step in steps)
        is_first = not has_clicks or session.account.created_at > deps.clock() - _FIRST_DAYS
        is_hidden = call.request.cookies.get(_HIDDEN_COOKIE) == str(session.account.id)
        are_shown = is_first and not is_complete and not is_hidden and roles.may(session.role, "links.write")
        context: dict[str, Any] = {
            "steps": steps if are_shown else (),
            "broken": [(link, link.short_url(deps.shared_domain), found) for link, found in broken],
            "failed": failed,
            "changes": changes,
            "labels": LABELS,
            "created": None,
            "has_clicks": has_clicks,
        }
        try:
            context |= await self._read_clicks(call) if has_clicks else {"latest": ()}
        except ClicksUnavailable:
            context |= {"latest": (), "is_unavailable": True}
        form = Form({"form_id": str(new_id())})
        return call.render("overview/overview.html", form, **{"is_unavailable": False, **context})

    async def _read_clicks(self, call: PageCall) -> dict[str, Any]:
        """Read today, until now beside yesterday by now, and the last week and days."""
        deps, account, now = self._deps, call.session.account, self._deps.clock()
        choose = partial(time_range.choose, preferences=call.preferences, since=account.created_at, now=now)
        day = call.preferences.local(now).date()
        week = choose({"period": "7d"})
        today, days = (
            choose({"period": "custom", "from": f"{day - timedelta(days=count - 1)}", "to": f"{day}"})
            for count in (1, _DAYS)
        )
        subject = Subject(account.id)
        async with deps.click_store.reader(deps.db, account.id) as reader:
            read = partial(statistics.read_comparable, reader, subject, now=now, shared_domain=deps.shared_domain)
            found = await read(replace(today.query, comparison=today.comparison, buckets=[]))
            top = await read(replace(week.query, buckets=[]), lists=["link"])
            by_day = await read(days.query)
            clicks = await latest.find_latest(deps, reader, ClickSelection(subject))
        return {
            "numbers": rendering.compare(found, "yesterday by now", call.preferences),
            "top": [
                (id_, each.clicks, *top.names[id_])
                for each in top.lists["link"]
                if (id_ := UUID(each.value)) in top.names
            ][:_SHOWN],
            "latest": clicks,
            "bars": _bars([point.clicks for point in by_day.points]),
        }


async def _find_steps(tx: Tx, session: Session) -> list[FirstStep]:
    account_id = session.account.id
    total, unserved = await domains.count(tx, account_id)
    is_imported = bool(await imports.list_newest(tx, account_id, 1))
    return [
        FirstStep("Create your first link", "/links/new", bool(await accounts.count_links(tx, account_id))),
        FirstStep("Share it, and get the first click", "/links", await links.has_clicks(tx, account_id)),
        FirstStep("Add your own domain", "/domains", total > unserved),
        FirstStep("Invite your team", "/account/members", len(await members.list_of_account(tx, account_id)) > 1),
        FirstStep("Import links of another service", "/links/import", is_imported),
    ]


async def _find_changes(tx: Tx, session: Session) -> Any:
    if not roles.may(session.role, "audit.view"):
        return ()
    entries, _ = await audit_store.list_before(tx, session.account.id, AuditFilter(), None, limit=4 * _SHOWN)
    return [entry for entry in entries if not entry.action.startswith("person.")][:_SHOWN]


def _bars(counts: Sequence[int]) -> list[tuple[int, int]]:
    """Return clicks and height of each day's bar."""
    most = max(*counts, 1)
    return [(count, max(1, round(_HEIGHT * count / most))) for count in counts]
