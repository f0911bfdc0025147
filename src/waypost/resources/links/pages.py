"""The list of links, and the actions in it. `form.pages` has the form."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple, Protocol, get_args
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from waypost.accounts.sessions.store import Session
from waypost.kit.errors import Invalid, NotFound, Problems
from waypost.kit.ids import new_id, parse_id
from waypost.kit.pagination import Page, PageRequest
from waypost.resources import domains
from waypost.resources.links import health, routing, service
from waypost.resources.links.aliases import pages as alias_pages
from waypost.resources.links.bulk import changes as bulk_changes
from waypost.resources.links.bulk.change_store import Selection
from waypost.resources.links.click_counters import find_imported_clicks
from waypost.resources.links.deps import Deps
from waypost.resources.links.form import pages as form_pages
from waypost.resources.links.form.choices import find_choices
from waypost.resources.links.health import LinkHealth
from waypost.resources.links.lists import csv_file, listing
from waypost.resources.links.lists.query import LIST_PARAMETERS, LinkFilter, Order, read_filter
from waypost.resources.links.model import Link
from waypost.resources.links.routing import pages as routing_pages
from waypost.resources.links.schemas import LinkChange
from waypost.resources.links.tags import store as tags
from waypost.resources.links.tags.model import TagColor
from waypost.web import read_pagination, read_query
from waypost.web.dashboard import Form, PageCall, Pages, SessionAuth, Views, is_fragment_request, redirect
from waypost.web.streaming import StreamedResponse


class SavedFilters(Protocol):
    @property
    def is_of_list(self) -> bool: ...

    @property
    def url(self) -> str: ...


Sparklines = Callable[[UUID, Sequence[UUID], int], Awaitable[Mapping[UUID, Sequence[int]]]]
"""Returns the clicks of the last days of each link, oldest day first. Nothing while they are unavailable."""
TopLinks = Callable[[UUID, Sequence[UUID] | None, int], Awaitable[Sequence[UUID] | None]]
"""Returns the links with most clicks on the last days: among a few, or of an account. None while unavailable."""
SavedViews = Callable[[Deps, Session], Awaitable[Sequence[SavedFilters]]]

RANGES = {"7d": 7, "30d": 30, "90d": 90, "all": 0}
"""Days of which clicks are shown."""
COLUMNS = {"title": "Title", "destination": "Destination", "created": "Created", "tags": "Tags", "trend": "Trend"}
_FOUND = 8
"""Links in the menu of pages."""
_STALL_TIMEOUT = 60.0
"""Seconds after which a download that is not read is aborted."""
_DOWNLOAD_RUNS = "A download of links is already running. Wait until it has finished."
_COLUMNS_COOKIE = "link_columns"
_DEFAULT_RANGE = "30d"
_PER_PAGE = 25
_MAX_COUNTED = 1_000
"""With a filter, a longer list shows "more than 1,000"."""
_WIDTH, _HEIGHT = 84, 24  # of a sparkline


@dataclass(frozen=True, slots=True)
class ListedLink:
    link: Link
    short_url: str
    destination_host: str
    is_domain_served: bool
    is_routed: bool
    tag_colors: Mapping[str, TagColor]
    health: LinkHealth | None
    imported_clicks: int
    """Counted by another service before the link was imported."""
    clicks: int | None
    """In the range. None while they are unavailable."""
    sparkline_points: str
    """In an SVG of _WIDTH and _HEIGHT."""


class ListView(NamedTuple):
    """What a row shows besides the link."""

    range: str
    columns: Collection[str]
    query: str
    width: int = _WIDTH
    height: int = _HEIGHT

    @property
    def days(self) -> int:
        return RANGES[self.range]


class LinkPages(Pages[Deps]):
    def __init__(
        self,
        deps: Deps,
        auth: SessionAuth,
        views: Views,
        *,
        sparklines: Sparklines,
        top_links: TopLinks,
        saved_views: SavedViews,
    ) -> None:
        super().__init__(deps, auth, views)
        self._sparklines = sparklines
        self._top_links = top_links
        self._saved_views = saved_views
        self._downloading: set[UUID] = set()

    def endpoints(self) -> list[Route]:
        return [
            self.get("/links", self.list_links, "view"),
            self.get("/links/csv", self.download, "view"),
            self.get("/links/find", self.find, "view"),
            self.form("/links/columns", self.choose_columns, "view"),
            *form_pages.LinkFormPages(self._deps, self._auth, self._views).endpoints(),
            *alias_pages.AliasPages(self._deps, self._auth, self._views).endpoints(),
            *routing_pages.RoutingPages(self._deps, self._auth, self._views).endpoints(),
            self.form("/links/{id}/switch", self.change_status, "links.write"),
            self.get("/links/{id}/delete", self.confirm_delete, "links.write"),
            self.post("/links/{id}/delete", self.delete, "links.write"),
        ]

    async def list_links(self, call: PageCall) -> Response:
        problems = Problems()
        filter_ = read_filter(read_query(call.request), self._deps.shared_domain, problems)
        page = PageRequest(read_pagination(call.request, Problems()).page, _PER_PAGE)
        form = Form(dict(read_query(call.request)), problems.errors)
        view, is_fragment = _view(call.request), is_fragment_request(call.request, "found")
        account, order, now = call.session.account.id, _order(form), self._deps.clock()
        few: Sequence[UUID] | None = ()
        ranked: Sequence[UUID] | None = None
        if order == "clicks" and view.days and not problems:
            async with self._deps.db.read_for(account) as tx:
                few = await listing.find_few(tx, account, filter_, now, _MAX_COUNTED)
            ranked = await self._top_links(account, few, view.days)
        async with self._deps.db.read_for(account) as tx:
            links: Page[Link] = Page([], 0, page)
            if ranked is not None:
                links = await listing.list_ranked(tx, account, filter_, page, now, ranked, limit=_MAX_COUNTED)
            elif not problems:
                links = await listing.list_with_capped_total(tx, account, filter_, page, now, order, limit=_MAX_COUNTED)
            choices = None if is_fragment else await find_choices(tx, account)
        rows = await self._rows(account, view, links)
        context: dict[str, Any] = {"page": rows, "form": form, "query": view.query, "view": view}
        context["counted"] = links.total if filter_.is_empty else _MAX_COUNTED
        context |= {"ranked": ranked, "are_all_ranked": few is not None, "columns": COLUMNS}
        views = await self._saved_views(self._deps, call.session)
        context["saved_views"] = [each for each in views if each.is_of_list]
        status = 422 if problems else 200
        if is_fragment:
            response = self._views.render_fragment(call.request, "links/list.html", "found", status=status, **context)
            response.headers["HX-Push-Url"] = f"/links?{view.query}" if view.query else "/links"
            return response
        context["times"] = _times(now)
        context |= {"choices": choices, "shared_domain": self._deps.shared_domain}
        context["undo"] = (new_id(), parse_id(call.query("change")))
        return call.render("links/list.html", status=status, **context)

    async def find(self, call: PageCall) -> Response:
        """Return a few links for the menu of pages: the newest ones, or those that contain a text."""
        problems = Problems()
        filter_ = read_filter({"search": call.query("search")}, self._deps.shared_domain, problems)
        account, request = call.session.account.id, PageRequest(1, _FOUND)
        headers = {"Cache-Control": "private, no-store"}
        if problems:
            return JSONResponse([], headers=headers)
        async with self._deps.db.read_for(account) as tx:
            found = await listing.list_with_capped_total(
                tx, account, filter_, request, self._deps.clock(), "newest", limit=_FOUND
            )
        shown = [
            {"path": f"/links/{link.id}", "name": link.short_url(self._deps.shared_domain), "title": link.title}
            for link in found.items
        ]
        return JSONResponse(shown, headers=headers)

    async def download(self, call: PageCall) -> Response:
        """Send the links that match the filters. One download of an account at a time: it can have a million links."""
        account, problems, now = call.session.account.id, Problems(), self._deps.clock()
        filter_ = read_filter(read_query(call.request), self._deps.shared_domain, problems)
        problems.raise_if_any()
        await self._auth.limit_expensive(call.session, "links as CSV")
        if account in self._downloading:
            raise Invalid({"body": [_DOWNLOAD_RUNS]})
        self._downloading.add(account)
        lines = csv_file.read_lines(self._deps.db, account, filter_, now, self._deps.shared_domain)
        disposition = f'attachment; filename="links-{now:%Y-%m-%d}.csv"'
        headers = {"Content-Disposition": disposition, "Cache-Control": "private, no-store"}
        ended = partial(self._downloading.discard, account)
        return StreamedResponse(lines, "text/csv; charset=utf-8", ended, headers=headers, read_timeout=_STALL_TIMEOUT)

    async def choose_columns(self, call: PageCall) -> Response:
        """Keep the choice in the browser, a year long."""
        chosen = [name for name in COLUMNS if name in call.form.texts("columns")]
        response = _redirect_to_list(call.request, "")
        options: dict[str, Any] = {"max_age": 31_536_000, "path": "/links", "httponly": True, "samesite": "lax"}
        response.set_cookie(_COLUMNS_COOKIE, ".".join(chosen) or "none", **options)
        return response

    async def change_status(self, call: PageCall) -> Response:
        status: Any = call.form.text("status") or "inactive"
        if status != "inactive":
            self._auth.require_active_plan(call.session)
        link = await service.change(self._deps, call.session, call.id, LinkChange(status=status), Problems())
        if not is_fragment_request(call.request):
            return _redirect_to_list(call.request, "enabled" if link.is_enabled else "disabled", link=str(link.id))
        view = _view(call.request)
        rows = await self._rows(call.session.account.id, view, Page([link], 1, PageRequest()))
        return self._views.render_fragment(call.request, "links/row.html", "row", row=rows.items[0], view=view)

    async def confirm_delete(self, call: PageCall) -> Response:
        """Ask on a page, or in a dialog if htmx requests it."""
        link = await service.get(self._deps, call.session, call.id)
        short_url = link.short_url(self._deps.shared_domain)
        context: dict[str, Any] = {"link": link, "query": _query(call.request), "short_url": short_url}
        if is_fragment_request(call.request):
            return self._views.render_fragment(call.request, "links/delete.html", "question", **context)
        return call.render("links/delete.html", **context)

    async def delete(self, call: PageCall) -> Response:
        one = Selection([call.id], LinkFilter())
        change = await bulk_changes.start(self._deps, call.session, new_id(), "delete", one, {})
        if not change.changed:
            raise NotFound
        return _redirect_to_list(call.request, "link-deleted", change=str(change.id))

    async def _rows(self, account: UUID, view: ListView, links: Page[Link]) -> Page[ListedLink]:
        ids = [link.id for link in links.items]
        async with self._deps.db.read_for(account) as tx:
            unserved = await domains.find_unserved(tx, [link.domain_id for link in links.items])
            tag_colors = await tags.find_colors(tx, account, {tag for link in links.items for tag in link.tags})
            routed, imported = await routing.find_routed(tx, ids), await find_imported_clicks(tx, ids)
            healths = await health.find_of_links(tx, ids)
        # after the transaction: clicks can be on another server
        clicks = await self._sparklines(account, ids, view.days or RANGES[_DEFAULT_RANGE]) if ids else {}
        return links.map(
            lambda link: ListedLink(
                link,
                short_url=link.short_url(self._deps.shared_domain),
                destination_host=urlsplit(link.destination_url).netloc,
                is_domain_served=link.domain_id not in unserved,
                is_routed=link.id in routed,
                tag_colors=tag_colors,
                health=healths.get(link.id),
                imported_clicks=imported.get(link.id, 0),
                clicks=link.clicks if not view.days else sum(clicks[link.id]) if clicks else None,
                sparkline_points=sparkline_points(clicks.get(link.id, ())),
            )
        )


def _times(now: datetime) -> dict[str, str]:
    """Return the days that the filters offer."""
    days = {"tomorrow": -1, "month": 30, "quarter": 90, "year": 365}
    return {name: str((now - timedelta(days=ago)).date()) for name, ago in days.items()}


def sparkline_points(counts: Sequence[int]) -> str:
    """Return the points of a polyline of _WIDTH and _HEIGHT. Zero is at the bottom."""
    highest, step = max([*counts, 1]), (_WIDTH - 2) / max(1, len(counts) - 1)
    return " ".join(
        f"{1 + index * step:.1f},{_HEIGHT - 2 - count / highest * (_HEIGHT - 4):.1f}"
        for index, count in enumerate(counts)
    )


def _order(form: Form) -> Order:
    return next((order for order in get_args(Order) if order == form.text("sort")), "newest")


def _query(request: Request) -> str:
    """Return the parameters of the list, without blank ones."""
    query = read_query(request)
    params = ((name, query.get(name)) for name in LIST_PARAMETERS)
    defaults = {("sort", "newest"), ("range", _DEFAULT_RANGE)}
    return urlencode([(name, text) for name, text in params if text and (name, text) not in defaults])


def _view(request: Request) -> ListView:
    chosen, cookie = request.query_params.get("range", ""), request.cookies.get(_COLUMNS_COOKIE, "")
    columns = [name for name in COLUMNS if name in cookie.split(".")] if cookie else list(COLUMNS)
    return ListView(chosen if chosen in RANGES else _DEFAULT_RANGE, columns, _query(request))


def _redirect_to_list(request: Request, done: str, **params: str) -> Response:
    """`params`: `link`, or `change` that can be undone."""
    query = urlencode({"done": done, **params} if done else params)
    return redirect("/links?" + "&".join(filter(None, (_query(request), query))))
