"""The statistics of an account and of a link, with filters, and the latest clicks live."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts.sessions import store as sessions
from waypost.accounts.sessions.store import Session
from waypost.audit import store as audit_store
from waypost.audit.model import AuditEntry
from waypost.audit.store import AuditFilter
from waypost.context import Context
from waypost.kit.preferences import Preferences
from waypost.resources import domains, links
from waypost.resources.clicks.dashboard import latest, live, rendering, statistics, time_range, value_lists
from waypost.resources.clicks.dashboard.page_state import PageState
from waypost.resources.clicks.dashboard.statistics import StatsCall
from waypost.resources.clicks.days import TimeRange
from waypost.resources.clicks.filters import ACCOUNT_FILTERS, LINK_FILTERS, FilterName, Filters, FilterValue
from waypost.resources.clicks.model import Subject
from waypost.resources.clicks.selection import ClickSelection, select_clicks
from waypost.resources.clicks.stats.query import StatsQuery
from waypost.resources.clicks.stats.read import (
    LINK_LISTS,
    PAGE_LISTS,
    Statistics,
    StatsList,
    count_recent_clicks,
    find_filtered_names,
)
from waypost.resources.clicks.store import ClickReader, ClicksUnavailable
from waypost.resources.links import health, page_header, routing
from waypost.resources.links.routing import LinkRouting
from waypost.resources.links.tags import store as tag_store
from waypost.web.dashboard import PageCall, Pages, SessionAuth, Views, is_fragment_request

_MAX_CHANGES = 200
"""Entries of the audit log that are looked at for marks."""
_NO_REQUEST = Request({"type": "http", "headers": [], "query_string": b""})
"""A live message is rendered once for all open streams of equal preferences."""


class StatsPages(Pages[Context]):
    def __init__(
        self,
        deps: Context,
        auth: SessionAuth,
        views: Views,
        find_saved_views: Callable[[Context, Session], Awaitable[Sequence[object]]],
        is_shutting_down: Callable[[], bool],
    ) -> None:
        super().__init__(deps, auth, views)
        self._find_saved_views = find_saved_views
        count = partial(count_recent_clicks, deps.db, deps.click_store, deps.clock)
        self.live = live.LiveClicks(count, self._render_latest, self._find_active, is_shutting_down=is_shutting_down)

    def endpoints(self) -> list[Route]:
        return [
            self.get("/stats", self._account, "view"),
            self.get("/stats/csv", self._file, "view"),
            self.get("/stats/live", self._live, "view"),
            self.get("/links/{id:uuid}", self._link, "view"),
            self.get("/links/{id:uuid}/csv", self._file, "view"),
            self.get("/links/{id:uuid}/live", self._live, "view"),
        ]

    async def _account(self, call: PageCall) -> Response:
        session, deps = call.session, self._deps
        asked = self._ask(call, ACCOUNT_FILTERS, since=session.account.created_at)
        context = await self._read(asked, Subject(session.account.id))
        context |= {
            "live_url": "/stats/live",
            "files": asked.files("/stats/csv", PAGE_LISTS),
            "report_query": _report_query(asked.state),
            "share_url": asked.state.url("/shares/new"),
        }
        if not is_fragment_request(call.request):
            async with deps.db.read_for(session.account.id) as tx:
                context["imported_clicks"] = await links.count_imported_clicks(tx, session.account.id)
            context["saved_views"] = await self._find_saved_views(deps, session)
        return statistics.respond(self._views, asked, "clicks/account.html", context)

    async def _link(self, call: PageCall) -> Response:
        session, deps = call.session, self._deps
        async with deps.db.read_for(session.account.id) as tx:
            link = await links.get(tx, session.account.id, call.id)
            is_served, has_domains = await domains.find_state(tx, link.account_id, link.domain_id)
            routed = await routing.find(tx, link.id)
            found = await health.find(tx, link.id)
            imported = await links.find_imported_clicks(tx, [link.id])
            tag_colors = await tag_store.find_colors(tx, session.account.id, link.tags)
        asked = self._ask(call, LINK_FILTERS, since=link.created_at)
        context = await self._read(asked, Subject(session.account.id, link.id), routed)
        context |= {
            **page_header.header(link, routed, deps.shared_domain, is_domain_served=is_served, has_domains=has_domains),
            "health": found,
            "tag_colors": tag_colors,
            "imported_clicks": imported.get(link.id, 0),
            "url": f"{deps.base_url.partition(':')[0]}://{link.short_url(deps.shared_domain)}",
            "live_url": f"/links/{link.id}/live",
            "files": asked.files(f"/links/{link.id}/csv", LINK_LISTS),
            "report_query": urlencode({"link_id": str(link.id)}),
            "share_url": asked.state.url("/shares/new", link=str(link.id)),
        }
        if "chart" in context:
            context["marks"] = rendering.marks(asked.choice, await self._find_changes(asked, link))
            context["chart"]["marks"] = [(each.bucket, each.text) for each in context["marks"]]
        if not is_fragment_request(call.request):
            context["saved_views"] = await self._find_saved_views(deps, session)
        return statistics.respond(self._views, asked, "clicks/link.html", context)

    async def _find_changes(self, asked: StatsCall, link: links.Link) -> list[AuditEntry]:
        start, end = asked.query.range
        of_link = AuditFilter(item_id=link.id, since=start, until=end)
        async with self._deps.db.read_for(link.account_id) as tx:
            entries, _ = await audit_store.list_before(tx, link.account_id, of_link, None, limit=_MAX_CHANGES)
        return entries

    def _ask(self, call: PageCall, offered: Collection[FilterName], *, since: datetime) -> StatsCall:
        now = self._deps.clock()
        choice = time_range.choose(call.request.query_params, call.preferences, since=since, now=now)
        return statistics.read_call(call.request, choice, offered, now)

    async def _read(self, asked: StatsCall, subject: Subject, routed: LinkRouting | None = None) -> dict[str, Any]:
        context: dict[str, Any] = {}
        try:
            async with self._deps.click_store.reader(self._deps.db, subject.account_id) as reader:
                source = _OfSubject(self._deps, reader, subject, asked.now, routed)
                context = await statistics.read_page(asked, source)
                if "numbers" in context:
                    context |= await self._read_latest(reader, asked, subject)
        except ClicksUnavailable:
            context = {"is_unavailable": True}
        return {"latest": (), **context}

    async def _read_latest(self, reader: ClickReader, asked: StatsCall, subject: Subject) -> dict[str, Any]:
        context: dict[str, Any] = {}
        if not is_fragment_request(asked.request):
            context["latest"] = await latest.find_latest(self._deps, reader, ClickSelection(subject))
        if filters := asked.state.filters:
            async with reader.transaction() as tx:
                selection = await select_clicks(tx, subject, filters, shared_domain=self._deps.shared_domain)
            context["matching"] = await latest.find_latest(self._deps, reader, selection, asked.query.range)
        return context

    async def _file(self, call: PageCall) -> Response:
        deps, (subject, since) = self._deps, await self._find_subject(call)
        asked = self._ask(call, LINK_FILTERS if subject.link_id else ACCOUNT_FILTERS, since=since)
        async with deps.click_store.reader(deps.db, subject.account_id) as reader:
            return await statistics.read_file(asked, _OfSubject(deps, reader, subject, asked.now, None))

    async def _live(self, call: PageCall) -> Response:
        """Stream the latest clicks. Accounts with an unverified email get none, because anyone can create them."""
        session = call.session
        if session.person.confirmed_at is None:
            return Response(status_code=204)  # the browser does not retry
        subject, _ = await self._find_subject(call)
        viewer = live.Viewer(session.id, session.account.id)
        return self.live.stream(subject, call.preferences, viewer) or Response(status_code=204)

    async def _find_subject(self, call: PageCall) -> tuple[Subject, datetime]:
        """Return the link of the path, or else the account, and since when there is one."""
        account = call.session.account
        if "id" not in call.request.path_params:
            return Subject(account.id), account.created_at
        async with self._deps.db.point_read() as tx:
            link = await links.get(tx, account.id, call.id)
        return Subject(account.id, link.id), link.created_at

    async def _find_active(self, viewers: Collection[live.Viewer]) -> set[live.Viewer]:
        async with self._deps.db.read() as tx:
            found = await sessions.find_showing(tx, [each.session_id for each in viewers], self._deps.clock())
        return {live.Viewer(*each) for each in found} & set(viewers)

    async def _render_latest(self, subject: Subject, preferences: Preferences) -> str:
        async with self._deps.click_store.reader(self._deps.db) as reader:
            clicks = await latest.find_latest(self._deps, reader, ClickSelection(subject))
        return self._views.render(_NO_REQUEST, "clicks/_latest_rows.html", latest=clicks, preferences=preferences)


class _OfSubject:
    """Reads everything about the subject."""

    def __init__(
        self, deps: Context, reader: ClickReader, subject: Subject, now: datetime, routed: LinkRouting | None
    ) -> None:
        self.lists = LINK_LISTS if subject.link_id else PAGE_LISTS
        self._reader = reader
        self._subject = subject
        self._now = now
        self._routed = routed
        self._shared_domain = deps.shared_domain

    async def read(self, query: StatsQuery, lists: Collection[StatsList] = (), limit: int | None = None) -> Statistics:
        if query.filters and limit is None:  # from clicks anyway; sums know no visitors of values
            query = replace(query, has_visitors=True)
        return await statistics.read_comparable(
            self._reader,
            self._subject,
            query,
            self._now,
            shared_domain=self._shared_domain,
            lists=lists,
            limit=limit,
        )

    async def find_targets(self, call: StatsCall, found: Statistics) -> value_lists.ValueList | None:
        counted = {each.value: each.clicks for each in found.lists.get("target", ())}
        bars = value_lists.target_bars([*counted.items()], self._routed)
        if not bars:
            return None
        hints: Sequence[str] = ()
        if self._routed and not call.query.filters:
            hints = await self._describe_split(call, self._routed, found)
        return value_lists.ValueList("Targets", "targets", "target", bars, sum(counted.values()), hints)

    async def _describe_split(self, call: StatsCall, routed: LinkRouting, found: Statistics) -> Sequence[str]:
        start, end = call.query.range
        if not value_lists.is_split(routed) or routed.updated_at >= end:
            return ()
        since = ""
        if routed.updated_at > start:  # clicks before it had other weights, or none
            query = replace(call.query, range=TimeRange(routed.updated_at, end), buckets=[], comparison=None)
            found = await self.read(query, ["target"])
            since = f" since {call.choice.preferences.time(routed.updated_at)}"
        clicks = {each.value: each.clicks for each in found.lists["target"]}
        return value_lists.describe_split(clicks, found.total, routed, since, call.choice.preferences)

    async def find_names(self, filters: Filters) -> dict[str, str]:
        account = self._subject.account_id
        return await find_filtered_names(self._reader, account, filters, shared_domain=self._shared_domain)


def _report_query(state: PageState) -> str:
    """Return the parameters of the page that subscribes to reports: the tag, if the page shows one."""
    match state.values_of("tag"):
        case [FilterValue(text, is_excluded=False)] if text:
            return urlencode({"tag": text})
    return ""
