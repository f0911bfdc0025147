"""The operator's pages about accounts: the list, and one account with its members and its suspension."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts import account_list
from waypost.accounts.members import store as memberships
from waypost.accounts.person_pages import PersonPages
from waypost.audit import Actor
from waypost.kit.errors import or_not_found
from waypost.kit.ids import parse_id
from waypost.resources.clicks.days import day_of
from waypost.resources.clicks.store import ClicksUnavailable
from waypost.resources.operator import suspension
from waypost.web.dashboard import Form, PageCall, redirect, shows

_PER_PAGE = 25
_DAYS = 30
_MAX_SEARCH = 254


class AccountPages(PersonPages):
    def endpoints(self) -> list[Route]:
        show = shows("operator/account.html", self._find_account)
        return [
            self.get("/operator", self.list_accounts, "operator"),
            self.get("/operator/accounts/{id}", show, "operator"),
            self.form("/operator/accounts/{id}/suspend", self.suspend, "operator", show),
            self.form("/operator/accounts/{id}/resume", self.resume, "operator", show),
        ]

    async def list_accounts(self, call: PageCall) -> Response:
        form = Form(dict(call.request.query_params))
        search = "".join(filter(str.isprintable, form.text("search")[:_MAX_SEARCH]))
        filter_ = account_list.AccountFilter(search, form.is_checked("suspended"))
        after = parse_id(form.text("after"))
        async with self._deps.db.read() as tx:
            found = await account_list.list_page(tx, filter_, _order(form), after, _PER_PAGE + 1)
        shown = found[:_PER_PAGE]
        query = urlencode([(name, form.text(name)) for name in ("search", "suspended", "sort") if form.text(name)])
        return call.render(
            "operator/accounts.html",
            form,
            listed=shown,
            clicks=await self._count_clicks([each.account.id for each in shown]),
            query=query,
            is_first=after is None,
            next_after=shown[-1].account.id if len(found) > _PER_PAGE else None,
        )

    async def _find_account(self, call: PageCall) -> dict[str, Any]:
        async with self._deps.db.read() as tx:
            listed = or_not_found(await account_list.find(tx, call.id))
            members = await memberships.list_of_account(tx, call.id)
        return {
            "listed": listed,
            "members": members,
            "clicks": (await self._count_clicks([call.id])).get(call.id),
            **await self._reauthentication(call),
        }

    async def suspend(self, call: PageCall) -> Response:
        await self._require_recent(call)
        by = str(call.person.id)
        await suspension.suspend(self._deps.context, Actor.operator(call.id), call.form.text("reason"), by=by)
        return redirect(f"/operator/accounts/{call.id}", "suspended")

    async def resume(self, call: PageCall) -> Response:
        await self._require_recent(call)
        await suspension.resume(self._deps.context, Actor.operator(call.id), by=str(call.person.id))
        return redirect(f"/operator/accounts/{call.id}", "resumed")

    async def _count_clicks(self, ids: Sequence[UUID]) -> Mapping[UUID, int]:
        """Count the clicks of the last days in UTC. Nothing while they are unavailable."""
        today = day_of(self._deps.clock())
        try:
            async with self._deps.context.click_store.reader(self._deps.db) as reader:
                found = await reader.clicks_per_day(ids, range(today - _DAYS + 1, today + 1)) if ids else {}
        except ClicksUnavailable:
            return {}
        return {id_: sum(found.get(id_, {}).values()) for id_ in ids}


def _order(form: Form) -> account_list.AccountOrder:
    return next((order for order in get_args(account_list.AccountOrder) if order == form.text("sort")), "newest")
