"""The page of a link and the overview of an account, and what arrives on them live."""

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
from waypost.resources.clicks.dashboard.live import Live
from waypost.resources.clicks.dashboard.newest import counts, newest
from waypost.resources.clicks.dashboard.time_range import Chosen
from waypost.resources.clicks.stats.read import service
from waypost.resources.clicks.stats.read.top_values import BUSY
from waypost.resources.clicks.subject import Subject
from waypost.web.dashboard import SessionAuth, Views
from waypost.web.dashboard.views import SESSION

_ZONE = "timezone"
"""The cookie in which a browser tells where it is."""

_NOBODYS = Request({"type": "http", "headers": []})
"""A live message is made for all who watch."""


class Figures:
    def __init__(self, deps: links.Deps, auth: SessionAuth, views: Views, is_leaving: Callable[[], bool]) -> None:
        self._deps = deps
        self._auth = auth
        self._views = views
        self.live = Live(self._counts, self._rows, is_leaving=is_leaving)

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
        chosen = _chosen(request, since=session.account.created_at, now=now)
        async with deps.db.read_for(session.account.id) as tx:
            told = await self._figures(tx, request, chosen, Subject(session.account.id, is_account=True), now)
        return self._answer(request, "clicks/overview.html", chosen, told | {"live": "/stats/live"})

    async def _link(self, request: Request) -> Response:
        session, deps = await self._auth.session(request), self._deps
        now = deps.clock()
        async with deps.db.read_for(session.account.id) as tx:
            link = await links.require(tx, session.account.id, request.path_params["id"])
            chosen = _chosen(request, since=link.created_at, now=now)
            told = await self._figures(tx, request, chosen, Subject(link.id), now)
        told |= {
            "link": link,
            "url": f"{deps.base_url.partition(':')[0]}://{link.hostname or deps.shared_domain}/{link.slug}",
            "is_active": link.status_at(now) == "active",
            "live": f"/links/{link.id}/live",
        }
        return self._answer(request, "clicks/link.html", chosen, told)

    async def _figures(
        self, tx: Tx, request: Request, chosen: Chosen, subject: Subject, now: datetime
    ) -> dict[str, Any]:
        """`now`: the moment that was chosen by. Behind it, a period that lasts until now would be of the past."""
        are_alone = _are_lists_alone(request)
        stats = await service.read(
            tx,
            subject,
            replace(chosen.asked, entries=[]) if are_alone else chosen.asked,
            shared_domain=self._deps.shared_domain,
            now=now,
            before=None if are_alone else chosen.before,
            most=None if "lists" in request.query_params else BUSY,
        )
        lists = [*(rendering.top_links(stats) if subject.is_account else ()), *rendering.lists_of(stats)]
        if are_alone:
            return {"total": stats.total, "lists": lists}
        return {
            "total": stats.total,
            "stats": rendering.stats_of(stats),
            "chart": rendering.chart_of(chosen, stats),
            "series": rendering.series_of(chosen, stats),
            "lists": lists,
            "rows": () if _is_part(request) else await newest(tx, subject, shared_domain=self._deps.shared_domain),
        }

    def _answer(self, request: Request, template: str, chosen: Chosen, told: dict[str, Any]) -> Response:
        told |= {"chosen": chosen, "periods": time_range.PERIODS.items(), "intervals": time_range.INTERVALS.items()}
        status = 422 if chosen.form.errors else 200
        if _are_lists_alone(request):
            return self._views.part(request, "clicks/_lists.html", "lists", status=status, **told)
        if _is_part(request):
            return self._views.part(request, template, "figures", status=status, **told)
        return self._views.page(request, template, status=status, **told)

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
        """204 keeps the browser from trying again. Accounts of addresses that nobody has proven are too easy to get."""

        async def is_welcome() -> bool:
            request.scope.pop(SESSION, None)  # after an outage there is none
            return await self._auth.read_session(request) is not None

        if session is None or subject is None or session.account.confirmed_at is None:
            return Response(status_code=204)
        return self.live.stream(subject, session.account.id, is_welcome) or Response(status_code=204)

    async def _counts(self, subjects: Collection[UUID]) -> Mapping[UUID, int]:
        return await counts(self._deps.db, subjects, microseconds(self._deps.clock()) // DAY)

    async def _rows(self, subject: Subject) -> str:
        async with self._deps.db.read() as tx:
            rows = await newest(tx, subject, shared_domain=self._deps.shared_domain)
        return self._views.text(_NOBODYS, "clicks/_rows.html", rows=rows)


def _is_part(request: Request) -> bool:
    return "hx-request" in request.headers


def _are_lists_alone(request: Request) -> bool:
    """The page stands and asks for what was left out of it."""
    return request.headers.get("hx-target") == "lists" and "lists" in request.query_params


def _chosen(request: Request, *, since: datetime, now: datetime) -> Chosen:
    return time_range.chosen(request.query_params, usual_zone=request.cookies.get(_ZONE, ""), since=since, now=now)
