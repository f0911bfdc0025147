"""The overview of an account and the page of a link: statistics, and the latest clicks live."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts.sessions import store as sessions
from waypost.context import Context
from waypost.kit.errors import Errors, Invalid, NotFound, Problems
from waypost.resources import domains, links
from waypost.resources.clicks import listing
from waypost.resources.clicks.backends.sql import top_values
from waypost.resources.clicks.dashboard import live, rendering, time_range, value_lists
from waypost.resources.clicks.dashboard.page_state import PageState
from waypost.resources.clicks.days import TimeRange
from waypost.resources.clicks.filters import ACCOUNT_FILTERS, LINK_FILTERS, FilterName, Filters, FilterValue
from waypost.resources.clicks.model import Subject
from waypost.resources.clicks.selection import ClickSelection, select_clicks
from waypost.resources.clicks.stats import csv_rows, read
from waypost.resources.clicks.stats.query import StatsQuery
from waypost.resources.clicks.stats.read import StatsList
from waypost.resources.clicks.store import ClickReader, ClicksUnavailable
from waypost.resources.links import routing
from waypost.resources.links.routing import LinkRouting
from waypost.web.dashboard import PageCall, Pages, SessionAuth, Views, is_fragment_request

_ZONE = "timezone"
"""The cookie with the browser's time zone."""

_LATEST_COUNT = 12
_NO_REQUEST = Request({"type": "http", "headers": [], "query_string": b""})
"""A live message is rendered once for all open streams."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a request asks for."""

    request: Request
    now: datetime
    """The end of a time range until now: by a later one, it would end in the past."""
    choice: time_range.StatsChoice
    query: StatsQuery
    state: PageState
    metric: str
    problems: Errors
    """Of filters."""


class StatsPages(Pages[Context]):
    def __init__(self, deps: Context, auth: SessionAuth, views: Views, is_shutting_down: Callable[[], bool]) -> None:
        super().__init__(deps, auth, views)
        count = partial(read.count_recent_clicks, deps.db, deps.click_store, deps.clock)
        self.live = live.LiveClicks(count, self._render_latest, self._find_active, is_shutting_down=is_shutting_down)

    def endpoints(self) -> list[Route]:
        return [
            self.get("/", self._overview, "view"),
            self.get("/stats/csv", self._file, "view"),
            self.get("/stats/live", self._live, "view"),
            self.get("/links/{id:uuid}", self._link, "view"),
            self.get("/links/{id:uuid}/csv", self._file, "view"),
            self.get("/links/{id:uuid}/live", self._live, "view"),
        ]

    async def _overview(self, call: PageCall) -> Response:
        request, session, deps = call.request, call.session, self._deps
        asked = self._ask(request, ACCOUNT_FILTERS, since=session.account.created_at)
        context = await self._read_context(asked, Subject(session.account.id))
        context |= {"live_url": "/stats/live", "files": _files(asked.state, "/stats/csv", read.ACCOUNT_LISTS)}
        context["report_query"] = _report_query(asked.state)
        if not is_fragment_request(request):
            async with deps.db.read_for(session.account.id) as tx:
                context["imported_clicks"] = await links.count_imported_clicks(tx, session.account.id)
        return self._respond(asked, "clicks/overview.html", context)

    async def _link(self, call: PageCall) -> Response:
        request, session, deps = call.request, call.session, self._deps
        async with deps.db.read_for(session.account.id) as tx:
            link = await links.get(tx, session.account.id, call.id)
            unserved = await domains.find_unserved(tx, [link.domain_id])
            routed = await routing.find(tx, link.id)
            imported = await links.find_imported_clicks(tx, [link.id])
        asked = self._ask(request, LINK_FILTERS, since=link.created_at)
        context = await self._read_context(asked, Subject(session.account.id, link.id), routed)
        context |= {
            "link": link,
            "is_domain_served": not unserved,
            "is_routed": routed is not None,
            "imported_clicks": imported.get(link.id, 0),
            "url": f"{deps.base_url.partition(':')[0]}://{link.short_url(deps.shared_domain)}",
            "live_url": f"/links/{link.id}/live",
            "files": _files(asked.state, f"/links/{link.id}/csv", read.LINK_LISTS),
            "report_query": urlencode({"link_id": str(link.id)}),
        }
        return self._respond(asked, "clicks/link.html", context)

    def _ask(self, request: Request, offered: Collection[FilterName], *, since: datetime) -> "_Asked":
        now = self._deps.clock()
        zone, problems = request.cookies.get(_ZONE, ""), Problems()
        choice = time_range.choose(request.query_params, browser_zone=zone, since=since, now=now)
        filters = Filters.read(request.query_params.multi_items(), offered, problems)
        metric = request.query_params.get("metric", "")
        metric = metric if metric in rendering.METRICS else "clicks"
        chosen = {name: choice.form.text(name) for name in choice.form.fields if request.query_params.get(name)}
        state = PageState(
            request.url.path, chosen | ({} if metric == "clicks" else {"metric": metric}), filters, offered
        )
        query = replace(choice.query, filters=filters, comparison=choice.comparison)
        return _Asked(request, now, choice, query, state, metric, problems.errors)

    async def _read_context(
        self, asked: "_Asked", subject: Subject, routed: LinkRouting | None = None
    ) -> dict[str, Any]:
        try:
            async with self._deps.click_store.reader(self._deps.db, subject.account_id) as reader:
                return await self._read_statistics(reader, asked, subject, routed)
        except ClicksUnavailable:
            return {"is_unavailable": True, "latest": ()}
        except Invalid as error:
            return {"refusal": " ".join(text for texts in error.errors.values() for text in texts), "latest": ()}

    async def _read_statistics(
        self, reader: ClickReader, asked: "_Asked", subject: Subject, routed: LinkRouting | None
    ) -> dict[str, Any]:
        """With filters, the lists are counted with the totals; without, they can be read later."""
        query, request = asked.query, asked.request
        if _is_for_lists(request):
            found, cards = await self._read_lists(reader, asked, replace(query, comparison=None), subject, routed)
            return {"total": found.total, **cards}
        context: dict[str, Any] = {"cards": (), "hours": None, "latest": (), "matching": ()}
        if query.filters or "lists" in request.query_params:
            found, cards = await self._read_lists(reader, asked, query, subject, routed)
            context |= cards
        else:
            found = await self._read(reader, subject, query, asked.now)
            if found.total.clicks <= top_values.CACHE_THRESHOLD:
                alone = replace(query, buckets=[], comparison=None)
                context |= (await self._read_lists(reader, asked, alone, subject, routed))[1]
        context |= {
            "total": found.total,
            "numbers": rendering.numbers(asked.choice, found),
            "chart": rendering.chart(asked.choice, found, asked.metric),
            "chart_table": rendering.chart_table(asked.choice, found),
        }
        ids = [UUID(text) for each in query.filters.of_links if each.name == "link_id" for text, _ in each.values]
        names = await read.find_names(reader, ids, shared_domain=self._deps.shared_domain)
        context["filtered_links"] = {str(id_): short_url for id_, (short_url, _) in names.items()}
        if not is_fragment_request(request):
            context["latest"] = await self._latest_clicks(reader, ClickSelection(subject))
        if query.filters:
            async with reader.transaction() as tx:
                selection = await select_clicks(tx, subject, query.filters, shared_domain=self._deps.shared_domain)
            context["matching"] = await self._latest_clicks(reader, selection, query.range)
        return context

    async def _latest_clicks(
        self, reader: ClickReader, selection: ClickSelection, within: TimeRange | None = None
    ) -> list[rendering.LatestClick]:
        latest = await listing.list_latest(reader, selection, _LATEST_COUNT, within)
        if selection.subject.link_id:
            return [rendering.latest_click(click) for click in latest]
        ids = {UUID(bytes=click.link_id) for click in latest}
        names = await read.find_names(reader, sorted(ids), shared_domain=self._deps.shared_domain)
        deleted = (value_lists.DELETED, "")
        return [rendering.latest_click(click, names.get(UUID(bytes=click.link_id), deleted)[0]) for click in latest]

    async def _read(
        self,
        reader: ClickReader,
        subject: Subject,
        query: StatsQuery,
        now: datetime,
        lists: Collection[StatsList] = (),
        limit: int | None = None,
    ) -> read.Statistics:
        """A comparison that cannot be counted is left out."""
        of_lists: dict[str, Any] = {"lists": lists, "limit": limit, "shared_domain": self._deps.shared_domain}
        try:
            return await read.read_statistics(reader, subject, query, now, **of_lists)
        except Invalid as error:
            if "compare" not in error.errors:
                raise
            alone = replace(query, comparison=None)
            return await read.read_statistics(reader, subject, alone, now, **of_lists)

    async def _read_lists(
        self, reader: ClickReader, asked: "_Asked", query: StatsQuery, subject: Subject, routed: LinkRouting | None
    ) -> tuple[read.Statistics, dict[str, Any]]:
        of_subject = read.LINK_LISTS if subject.link_id else read.ACCOUNT_LISTS
        found = await self._read(reader, subject, query, asked.now, of_subject.values())
        counted = {each.value: each.clicks for each in found.lists.get("target", ())}
        targets = None
        if bars := value_lists.target_bars([*counted.items()], routed):
            hints: Sequence[str] = ()
            if routed and not query.filters:
                hints = await self._describe_split(reader, asked, subject, routed, found)
            targets = value_lists.ValueList("Targets", "targets", "target", bars, sum(counted.values()), hints)
        cards = value_lists.list_cards(found, targets)
        return found, {"cards": cards, "hours": value_lists.heat_map(found.hours)}

    async def _describe_split(
        self, reader: ClickReader, asked: "_Asked", subject: Subject, routed: LinkRouting, found: read.Statistics
    ) -> Sequence[str]:
        start, end = asked.query.range
        if not value_lists.is_split(routed) or routed.updated_at >= end:
            return ()
        since = ""
        if routed.updated_at > start:  # clicks before it had other weights, or none
            query = replace(asked.query, range=TimeRange(routed.updated_at, end), buckets=[], comparison=None)
            found = await self._read(reader, subject, query, asked.now, ["target"])
            since = f" since {routed.updated_at.astimezone(asked.choice.zone):%-d %b %Y, %H:%M}"
        clicks = {each.value: each.clicks for each in found.lists["target"]}
        return value_lists.describe_split(clicks, found.total, routed, since)

    async def _file(self, call: PageCall) -> Response:
        """Send the series, or all values of a list, in the state of the page."""
        request, deps, since = call.request, self._deps, call.session.account.created_at
        subject = Subject(call.session.account.id)
        if link_id := request.path_params.get("id"):
            async with deps.db.point_read() as tx:
                link = await links.get(tx, subject.account_id, link_id)
            subject, since = Subject(subject.account_id, link.id), link.created_at
        offered, lists = (LINK_FILTERS, read.LINK_LISTS) if link_id else (ACCOUNT_FILTERS, read.ACCOUNT_LISTS)
        asked, name = self._ask(request, offered, since=since), request.query_params.get("list", "")
        if name and name not in lists:
            raise NotFound
        if errors := {**asked.choice.form.errors, **asked.problems}:
            raise Invalid(errors)
        query, names = replace(asked.query, comparison=None), [lists[name]] if name else []
        async with deps.click_store.reader(deps.db, subject.account_id) as reader:
            found = await self._read(reader, subject, query, asked.now, names, limit=csv_rows.MAX_ROWS + 1)
        file = f"{name or 'clicks'}-{asked.now.astimezone(asked.choice.zone):%Y-%m-%d}.csv"
        headers = {"Content-Disposition": f'attachment; filename="{file}"', "Cache-Control": "no-store"}
        content = await csv_rows.to_csv(query, found, lists.get(name))
        return Response(content, media_type="text/csv; charset=utf-8", headers=headers)

    def _respond(self, asked: "_Asked", template: str, context: dict[str, Any]) -> Response:
        request, choice = asked.request, asked.choice
        context = {
            "is_unavailable": False,
            "refusal": "",
            "chips": asked.state.chips(context.pop("filtered_links", {})),
            "periods": time_range.PERIODS,
            "intervals": time_range.INTERVALS,
            "comparisons": time_range.COMPARISONS,
            "choice": choice,
            "state": asked.state,
            "metric": asked.metric,
            "problems": asked.problems,
            **context,
        }
        status = 422 if choice.form.errors or asked.problems or context["refusal"] else 200
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
            latest = await self._latest_clicks(reader, ClickSelection(subject))
        return self._views.render(_NO_REQUEST, "clicks/_latest_rows.html", latest=latest)


def _is_for_lists(request: Request) -> bool:
    """Return whether the loaded page requests its lists, which it was sent without."""
    return is_fragment_request(request, "lists") and "lists" in request.query_params


def _files(state: PageState, path: str, lists: Collection[str]) -> list[tuple[str, str]]:
    """Return the name and the URL of each file."""
    named = {name: name.capitalize().replace("_", " ").replace("Utm", "UTM") for name in lists}
    return [
        ("Clicks over time", state.url(path)),
        *((text, state.url(path, list=name)) for name, text in named.items()),
    ]


def _report_query(state: PageState) -> str:
    """Return the parameters of the page that subscribes to reports: the tag, if the page shows one."""
    match state.values_of("tag"):
        case [FilterValue(text, is_excluded=False)] if text:
            return urlencode({"tag": text})
    return ""
