"""The overview of an account and the page of a link: statistics, and the latest clicks live."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.auth.sessions import Session
from waypost.database import Tx
from waypost.kit.clock import DAY, microseconds
from waypost.resources import links
from waypost.resources.clicks.dashboard import rendering, time_range
from waypost.resources.clicks.dashboard.latest import count_recent_clicks, latest_clicks
from waypost.resources.clicks.dashboard.live import LiveClicks
from waypost.resources.clicks.dashboard.time_range import StatsChoice
from waypost.resources.clicks.model import Subject
from waypost.resources.clicks.stats.read import read_lists, read_series, read_total
from waypost.resources.clicks.stats.top_values import BUSY
from waypost.web.dashboard import SessionAuth, Views
from waypost.web.dashboard.views import SESSION

_ZONE = "timezone"
"""The cookie with the browser's time zone."""

_NO_REQUEST = Request({"type": "http", "headers": []})
"""A live message is rendered once for all who watch."""


class StatsPages:
    def __init__(self, deps: links.Deps, auth: SessionAuth, views: Views, is_leaving: Callable[[], bool]) -> None:
        self._deps = deps
        self._auth = auth
        self._views = views
        self.live = LiveClicks(self._count, self._render_latest, is_leaving=is_leaving)

    def routes(self) -> list[Route]:
        return [
            Route("/", self._overview),
            Route("/stats/live", self._overview_live),
            Route("/links/{id:uuid}", self._link),
            Route("/links/{id:uuid}/live", self._link_live),
        ]

    async def _overview(self, request: Request) -> Response:
        session, deps = await self._auth.session(request), self._deps
        now = deps.clock()
        choice = _choose(request, since=session.account.created_at, now=now)
        async with deps.db.read_for(session.account.id) as tx:
            context = await self._read(tx, request, choice, Subject(session.account.id, is_account=True), now)
        return self._respond(request, "clicks/overview.html", choice, context | {"live_url": "/stats/live"})

    async def _link(self, request: Request) -> Response:
        session, deps = await self._auth.session(request), self._deps
        now = deps.clock()
        async with deps.db.read_for(session.account.id) as tx:
            link = await links.require(tx, session.account.id, request.path_params["id"])
            choice = _choose(request, since=link.created_at, now=now)
            context = await self._read(tx, request, choice, Subject(link.id), now)
        context |= {
            "link": link,
            "url": f"{deps.base_url.partition(':')[0]}://{link.hostname or deps.shared_domain}/{link.slug}",
            "is_active": link.status_at(now) == "active",
            "live_url": f"/links/{link.id}/live",
        }
        return self._respond(request, "clicks/link.html", choice, context)

    async def _read(
        self, tx: Tx, request: Request, choice: StatsChoice, subject: Subject, now: datetime
    ) -> dict[str, Any]:
        """`now`: the time of the choice. By a later one, a time range until now would end in the past."""
        shared_domain, query = self._deps.shared_domain, choice.query
        if _is_for_lists(request):
            series = await read_series(tx, subject, replace(query, buckets=[]), now)
            lists = await read_lists(tx, series, shared_domain=shared_domain)
            return {"total": series.total, "lists": rendering.value_lists(series, lists)}
        series = await read_series(tx, subject, query, now)
        before = await read_total(tx, subject, choice.comparison, series.known) if choice.comparison else None
        context: dict[str, Any] = {
            "total": series.total,
            "cards": rendering.cards(series.total, before),
            "chart": rendering.chart(choice, series),
            "chart_table": rendering.chart_table(choice, series),
            "lists": (),
            "latest": (),
        }
        if series.total.clicks <= BUSY or "lists" in request.query_params:
            lists = await read_lists(tx, series, shared_domain=shared_domain)
            context["lists"] = rendering.value_lists(series, lists)
        if not _is_for_part(request):
            context["latest"] = await latest_clicks(tx, subject, shared_domain=shared_domain)
        return context

    def _respond(self, request: Request, template: str, choice: StatsChoice, context: dict[str, Any]) -> Response:
        options = {"periods": time_range.PERIODS.items(), "intervals": time_range.INTERVALS.items()}
        context |= {"choice": choice, **options}
        status = 422 if choice.form.errors else 200
        if _is_for_lists(request):
            return self._views.block(request, "clicks/_lists.html", "lists", status=status, **context)
        if _is_for_part(request):
            return self._views.block(request, template, "statistics", status=status, **context)
        return self._views.page(request, template, status=status, **context)

    async def _overview_live(self, request: Request) -> Response:
        session = await self._auth.optional_session(request)
        return self._stream(request, session, Subject(session.account.id, is_account=True) if session else None)

    async def _link_live(self, request: Request) -> Response:
        session = await self._auth.optional_session(request)
        if session is None:
            return self._stream(request, None, None)
        link = await links.find(self._deps, session, request.path_params["id"])
        return self._stream(request, session, Subject(link.id))

    def _stream(self, request: Request, session: Session | None, subject: Subject | None) -> Response:
        """204 keeps the browser from retrying. Accounts with an unverified email are too easy to get."""

        async def is_signed_in() -> bool:
            request.scope.pop(SESSION, None)  # after an outage there is none
            return await self._auth.read_session(request) is not None

        if session is None or subject is None or session.account.confirmed_at is None:
            return Response(status_code=204)
        return self.live.stream(subject, session.account.id, is_signed_in) or Response(status_code=204)

    async def _count(self, subjects: Collection[UUID]) -> Mapping[UUID, int]:
        return await count_recent_clicks(self._deps.db, subjects, microseconds(self._deps.clock()) // DAY)

    async def _render_latest(self, subject: Subject) -> str:
        async with self._deps.db.read() as tx:
            latest = await latest_clicks(tx, subject, shared_domain=self._deps.shared_domain)
        return self._views.render(_NO_REQUEST, "clicks/_latest_rows.html", latest=latest)


def _is_for_part(request: Request) -> bool:
    return "hx-request" in request.headers


def _is_for_lists(request: Request) -> bool:
    """The loaded page asks for the lists that were left out of it."""
    return request.headers.get("hx-target") == "lists" and "lists" in request.query_params


def _choose(request: Request, *, since: datetime, now: datetime) -> StatsChoice:
    browser_zone = request.cookies.get(_ZONE, "")
    return time_range.choose(request.query_params, browser_zone=browser_zone, since=since, now=now)
