"""The operator's pages about accounts: the list, and one account with its members and its suspension."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args
from urllib.parse import urlencode
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts import account_list
from waypost.accounts.account_list import AccountFilter, AccountOrder
from waypost.accounts.members import store as memberships
from waypost.accounts.sessions.store import PersonSession
from waypost.accounts.sign_in.reauthentication import reauthentication_context, require_recent
from waypost.audit import Actor
from waypost.kit.errors import WaypostError, or_not_found
from waypost.kit.ids import parse_id
from waypost.resources.clicks.click_store import ClicksUnavailable
from waypost.resources.clicks.days import day_of
from waypost.resources.operator import suspension
from waypost.resources.operator.deps import Deps
from waypost.web.dashboard import BLANK, Form, Pages, get, redirect

_PER_PAGE = 25
_DAYS = 30
_MAX_SEARCH = 254


class AccountPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            get("/operator", self.list_accounts, "operator"),
            get("/operator/accounts/{id}", self.show_account, "operator"),
            self.form("/operator/accounts/{id}/suspend", self.suspend, "operator", self.show_account),
            self.form("/operator/accounts/{id}/resume", self.resume, "operator", self.show_account),
        ]

    async def list_accounts(self, request: Request) -> Response:
        await self._auth.require_operator(request)
        form = Form(dict(request.query_params))
        search = "".join(filter(str.isprintable, form.text("search")[:_MAX_SEARCH]))
        filter_ = AccountFilter(search, form.is_checked("suspended"))
        after = parse_id(form.text("after"))
        async with self._deps.db.read() as tx:
            found = await account_list.list_page(tx, filter_, _order(form), after, _PER_PAGE + 1)
        shown = found[:_PER_PAGE]
        query = urlencode([(name, form.text(name)) for name in ("search", "suspended", "sort") if form.text(name)])
        return self._views.render_page(
            request,
            "operator/accounts.html",
            form=form,
            listed=shown,
            clicks=await self._count_clicks([each.account.id for each in shown]),
            query=query,
            is_first=after is None,
            next_after=shown[-1].account.id if len(found) > _PER_PAGE else None,
        )

    async def show_account(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        session, id_ = await self._auth.require_operator(request), self._path_id(request)
        async with self._deps.db.read() as tx:
            listed = or_not_found(await account_list.find(tx, id_))
            members = await memberships.list_of_account(tx, id_)
        context: dict[str, Any] = {
            "listed": listed,
            "members": members,
            "clicks": (await self._count_clicks([id_])).get(id_),
            **await reauthentication_context(self._deps.account, session),
        }
        return self._views.form(request, "operator/account.html", form, error, **context)

    async def suspend(self, request: Request, session: PersonSession, form: Form) -> Response:
        await require_recent(self._deps.account, session, form)
        id_, by = self._path_id(request), str(session.person.id)
        await suspension.suspend(self._deps, Actor.operator(id_), form.text("reason"), by=by)
        return redirect(f"/operator/accounts/{id_}", "suspended")

    async def resume(self, request: Request, session: PersonSession, form: Form) -> Response:
        await require_recent(self._deps.account, session, form)
        id_ = self._path_id(request)
        await suspension.resume(self._deps, Actor.operator(id_), by=str(session.person.id))
        return redirect(f"/operator/accounts/{id_}", "resumed")

    async def _count_clicks(self, ids: Sequence[UUID]) -> Mapping[UUID, int]:
        """Count the clicks of the last days in UTC. Nothing while they are unavailable."""
        today = day_of(self._deps.clock())
        try:
            async with self._deps.click_store.reader(self._deps.db) as reader:
                found = await reader.clicks_per_day(ids, range(today - _DAYS + 1, today + 1)) if ids else {}
        except ClicksUnavailable:
            return {}
        return {id_: sum(found.get(id_, {}).values()) for id_ in ids}


def _order(form: Form) -> AccountOrder:
    return next((order for order in get_args(AccountOrder) if order == form.text("sort")), "newest")
