"""The overview of an account and the page of a link: statistics, and the latest clicks live."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts.sessions import store as sessions
from waypost.context import Context
from waypost.resources import domains, links
from waypost.resources.clicks import listing
from waypost.resources.clicks.backends.sql import top_values
from waypost.resources.clicks.dashboard import live, rendering, time_range, value_lists
from waypost.resources.clicks.dashboard.page_state import PageState
from waypost.resources.clicks.days import TimeRange
from waypost.resources.clicks.model import Subject
from waypost.resources.clicks.stats import read
from waypost.resources.clicks.store import ClickReader, ClicksUnavailable
from waypost.resources.links import routing
from waypost.resources.links.routing import LinkRouting
from waypost.web.dashboard import PageCall, Pages, SessionAuth, Views, is_fragment_request

_ZONE = "timezone"
"""The cookie with the browser's time zone."""

_LATEST_COUNT = 12
_LISTS: tuple[read.StatsList, ...] = ("country", "referrer", "device", "browser", "platform")
_NO_REQUEST = Request({"type": "http", "headers": [], "query_string": b""})
"""A live message is rendered once for all open streams."""


class StatsPages(Pages[Context]):
    def __init__(self, deps: Context, auth: SessionAuth, views: Views, is_shutting_down: Callable[[], bool]) -> None:
        super().__init__(deps, auth, views)
        count = partial(read.count_recent_clicks, deps.db, deps.click_store, deps.clock)
        self.live = live.LiveClicks(count, self._render_latest, self._find_active, is_shutting_down=is_shutting_down)

    def endpoints(self) -> list[Route]:
        return [
            self.get("/", self._overview, "view"),
            self.get("/stats/live", self._live, "view"),
            self.get("/links/{id:uuid}", self._link, "view"),
            self.get("/links/{id:uuid}/live", self._live, "view"),
        ]

    async def _overview(self, call: PageCall) -> Response:
        request, session, deps = call.request, call.session, self._deps
        now = deps.clock()
        choice = _choose(request, since=session.account.created_at, now=now)
        context = await self._read_context(request, choice, Subject(session.account.id), now)
        context["live_url"] = "/stats/live"
        if not is_fragment_request(request):
            async with deps.db.read_for(session.account.id) as tx:
                context["imported_clicks"] = await links.count_imported_clicks(tx, session.account.id)
        return self._respond(request, "clicks/overview.html", choice, context)

    async def _link(self, call: PageCall) -> Response:
        request, session, deps = call.request, call.session, self._deps
        now = deps.clock()
        async with deps.db.read_for(session.account.id) as tx:
            link = await links.get(tx, session.account.id, call.id)
            unserved = await domains.find_unserved(tx, [link.domain_id])
            routed = await routing.find(tx, link.id)
            imported = await links.find_imported_clicks(tx, [link.id])
        choice = _choose(request, since=link.created_at, now=now)
        context = await self._read_context(request, choice, Subject(session.account.id, link.id), now, routed)
        context |= {
            "link": link,
            "is_domain_served": not unserved,
            "is_routed": routed is not None,
            "imported_clicks": imported.get(link.id, 0),
            "url": f"{deps.base_url.partition(':')[0]}://{link.short_url(deps.shared_domain)}",
            "live_url": f"/links/{link.id}/live",
        }
        return self._respond(request, "clicks/link.html", choice, context)

    async def _read_context(
        self,
        request: Request,
        choice: time_range.StatsChoice,
        subject: Subject,
        now: datetime,
        routed: LinkRouting | None = None,
    ) -> dict[str, Any]:
        """`now`: the time of the choice; by a later one, a time range until now would end in the past."""
        try:
            async with self._deps.click_store.reader(self._deps.db, subject.account_id) as reader:
                return await self._read_statistics(reader, request, choice, subject, now, routed)
        except ClicksUnavailable:
            return {"is_unavailable": True, "latest": ()}

    async def _read_statistics(
        self,
        reader: ClickReader,
        request: Request,
        choice: time_range.StatsChoice,
        subject: Subject,
        now: datetime,
        routed: LinkRouting | None,
    ) -> dict[str, Any]:
        query, shared_domain = choice.query, self._deps.shared_domain
        if _is_for_lists(request):
            return await self._read_lists(reader, choice, subject, now, routed)
        if choice.comparison:
            query = replace(query, comparison=choice.comparison)
        found = await read.read_statistics(reader, subject, query, now, shared_domain=shared_domain)
        context: dict[str, Any] = {
            "total": found.total,
            "numbers": rendering.numbers(choice, found),
            "chart": rendering.chart(choice, found, _metric(request)),
            "chart_table": rendering.chart_table(choice, found),
            "cards": (),
            "latest": (),
        }
        if found.total.clicks <= top_values.CACHE_THRESHOLD or "lists" in request.query_params:
            context |= await self._read_lists(reader, choice, subject, now, routed)
        if not is_fragment_request(request):
            context["latest"] = await _latest_clicks(reader, subject, shared_domain=shared_domain)
        return context

    async def _read_lists(
        self,
        reader: ClickReader,
        choice: time_range.StatsChoice,
        subject: Subject,
        now: datetime,
        routed: LinkRouting | None,
    ) -> dict[str, Any]:
        """Return the total and the cards."""
        query, shared_domain = replace(choice.query, buckets=[]), self._deps.shared_domain
        names: list[read.StatsList] = [*_LISTS, "target" if subject.link_id else "link"]
        found = await read.read_statistics(reader, subject, query, now, shared_domain=shared_domain, lists=names)
        counted = [(each.value, each.clicks) for each in found.lists.get("target", ())]
        if not (bars := value_lists.target_bars(counted, routed)):
            return {"total": found.total, "cards": value_lists.list_cards(found, None)}
        hints: Sequence[str] = ()
        start, end = query.range
        if routed and value_lists.is_split(routed) and routed.updated_at < end:
            since, totals, clicks = "", found.total, dict(counted)
            if routed.updated_at > start:  # clicks before it had other weights, or none
                query = replace(query, range=TimeRange(routed.updated_at, end))
                later = await read.read_statistics(
                    reader, subject, query, now, shared_domain=shared_domain, lists=["target"]
                )
                totals, clicks = later.total, {each.value: each.clicks for each in later.lists["target"]}
                since = f" since {routed.updated_at.astimezone(choice.zone):%-d %b %Y, %H:%M}"
            hints = value_lists.describe_split(clicks, totals, routed, since)
        total = sum(count for _, count in counted)
        targets = value_lists.ValueList("Targets", "targets", "target", bars, total, hints)
        return {"total": found.total, "cards": value_lists.list_cards(found, targets)}

    def _respond(
        self, request: Request, template: str, choice: time_range.StatsChoice, context: dict[str, Any]
    ) -> Response:
        options = {
            "periods": time_range.PERIODS,
            "intervals": time_range.INTERVALS,
            "comparisons": time_range.COMPARISONS,
        }
        state = {"state": _state(request, choice), "metric": _metric(request)}
        context = {"is_unavailable": False, **context, "choice": choice, **state, **options}
        status = 422 if choice.form.errors else 200
        if _is_for_lists(request):
            return self._views.render_fragment(request, "clicks/_lists.html", "lists", status=status, **context)
        if is_fragment_request(request):
            return self._views.render_fragment(request, template, "statistics", status=status, **context)
        return self._views.render_page(request, template, status=status, **context)

    async def _live(self, call: PageCall) -> Response:
        """Stream the latest clicks. Accounts with an unverified email get none, because anyone can create them."""
        session = call.session
        if session.person.confirmed_at is None:
            return Response(status_code=204)  # the browser does not retry
        subject = Subject(session.account.id)
        if link_id := call.request.path_params.get("id"):
            async with self._deps.db.point_read() as tx:
                link = await links.get(tx, session.account.id, link_id)
            subject = Subject(session.account.id, link.id)
        return self.live.stream(subject, live.Viewer(session.id, session.account.id)) or Response(status_code=204)

    async def _find_active(self, viewers: Collection[live.Viewer]) -> set[live.Viewer]:
        async with self._deps.db.read() as tx:
            found = await sessions.find_showing(tx, [each.session_id for each in viewers], self._deps.clock())
        return {live.Viewer(*each) for each in found} & set(viewers)

    async def _render_latest(self, subject: Subject) -> str:
        async with self._deps.click_store.reader(self._deps.db) as reader:
            latest = await _latest_clicks(reader, subject, shared_domain=self._deps.shared_domain)
        return self._views.render(_NO_REQUEST, "clicks/_latest_rows.html", latest=latest)


def _is_for_lists(request: Request) -> bool:
    """Return whether the loaded page requests its lists, which it was sent without."""
    return is_fragment_request(request, "lists") and "lists" in request.query_params


def _state(request: Request, choice: time_range.StatsChoice) -> PageState:
    """Return what was chosen. The rest has its defaults on every page."""
    chosen = {name: choice.form.text(name) for name in choice.form.fields if request.query_params.get(name)}
    metric = _metric(request)
    return PageState(request.url.path, chosen | ({"metric": metric} if metric != "clicks" else {}))


def _metric(request: Request) -> str:
    metric = request.query_params.get("metric", "")
    return metric if metric in rendering.METRICS else "clicks"


def _choose(request: Request, *, since: datetime, now: datetime) -> time_range.StatsChoice:
    browser_zone = request.cookies.get(_ZONE, "")
    return time_range.choose(request.query_params, browser_zone=browser_zone, since=since, now=now)


async def _latest_clicks(reader: ClickReader, subject: Subject, *, shared_domain: str) -> list[rendering.LatestClick]:
    latest = await listing.list_latest(reader, subject, _LATEST_COUNT)
    if subject.link_id:
        return [rendering.latest_click(click) for click in latest]
    ids = {UUID(bytes=click.link_id) for click in latest}
    names, deleted = await read.find_names(reader, sorted(ids), shared_domain=shared_domain), (value_lists.DELETED, "")
    return [rendering.latest_click(click, names.get(UUID(bytes=click.link_id), deleted)[0]) for click in latest]
