"""The list of links, and the actions in it. `form.pages` has the form."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, get_args
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts.sessions.store import Session
from waypost.database import Tx
from waypost.kit.errors import NotFound, Problems
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
from waypost.resources.links.lists import listing
from waypost.resources.links.lists.query import FILTERS, LinkFilter, Order, read_filter
from waypost.resources.links.model import Link
from waypost.resources.links.routing import pages as routing_pages
from waypost.resources.links.schemas import LinkChange
from waypost.resources.links.tags import store as tags
from waypost.resources.links.tags.model import TagColor
from waypost.web import read_pagination, read_query
from waypost.web.dashboard import Form, PageCall, Pages, SessionAuth, Views, is_fragment_request, redirect

Sparklines = Callable[[UUID, Sequence[UUID]], Awaitable[Mapping[UUID, Sequence[int]]]]
"""Returns the clicks per day of each link of an account, oldest day first. Nothing while they are unavailable."""

_PER_PAGE = 25
_MAX_COUNTED = 1_000
"""With a filter, a longer list shows "more than 1,000"."""
_LIST_PARAMETERS = (*FILTERS, "sort")
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
    clicks_14_days: int | None
    """None while they are unavailable."""
    sparkline_points: str
    """In an SVG of _WIDTH and _HEIGHT."""


class LinkPages(Pages[Deps]):
    def __init__(self, deps: Deps, auth: SessionAuth, views: Views, sparklines: Sparklines) -> None:
        super().__init__(deps, auth, views)
        self._sparklines = sparklines

    def endpoints(self) -> list[Route]:
        return [
            self.get("/links", self.list_links, "view"),
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
        query, is_fragment = _query(call.request), is_fragment_request(call.request, "found")
        async with self._deps.db.read_for(call.session.account.id) as tx:
            links: Page[Link] = Page([], 0, page)
            if not problems:
                now, order = self._deps.clock(), _order(form)
                links = await listing.list_with_capped_total(
                    tx, call.session.account.id, filter_, page, now, order, limit=_MAX_COUNTED
                )
            found = await _find_shown(tx, call.session.account.id, links)
            choices = None if is_fragment else await find_choices(tx, call.session.account.id)
        rows = await self._rows(call.session, links, *found)
        context: dict[str, Any] = {"page": rows, "form": form, "query": query, "width": _WIDTH, "height": _HEIGHT}
        context["counted"] = links.total if filter_.is_empty else _MAX_COUNTED
        status = 422 if problems else 200
        if is_fragment:
            response = self._views.render_fragment(call.request, "links/list.html", "found", status=status, **context)
            response.headers["HX-Push-Url"] = f"/links?{query}" if query else "/links"
            return response
        context["times"] = _times(self._deps.clock())
        context |= {"choices": choices, "shared_domain": self._deps.shared_domain}
        context["undo"] = (new_id(), parse_id(call.query("change")))
        return call.render("links/list.html", status=status, **context)

    async def change_status(self, call: PageCall) -> Response:
        status: Any = call.form.text("status") or "inactive"
        if status != "inactive":
            self._auth.require_active_plan(call.session)
        link = await service.change(self._deps, call.session, call.id, LinkChange(status=status), Problems())
        if not is_fragment_request(call.request):
            return _redirect_to_list(call.request, "enabled" if link.is_enabled else "disabled", link=str(link.id))
        links = Page([link], 1, PageRequest())
        async with self._deps.db.read() as tx:
            found = await _find_shown(tx, call.session.account.id, links)
        rows = await self._rows(call.session, links, *found)
        context: dict[str, Any] = {
            "row": rows.items[0],
            "query": _query(call.request),
            "width": _WIDTH,
            "height": _HEIGHT,
        }
        return self._views.render_fragment(call.request, "links/row.html", "row", **context)

    async def confirm_delete(self, call: PageCall) -> Response:
        """Ask on a page, or in a dialog if htmx requests it."""
        link = await service.get(self._deps, call.session, call.id)
        context: dict[str, Any] = {"link": link, "query": _query(call.request)}
        context["short_url"] = link.short_url(self._deps.shared_domain)
        if is_fragment_request(call.request):
            return self._views.render_fragment(call.request, "links/delete.html", "question", **context)
        return call.render("links/delete.html", **context)

    async def delete(self, call: PageCall) -> Response:
        one = Selection([call.id], LinkFilter())
        change = await bulk_changes.start(self._deps, call.session, new_id(), "delete", one, {})
        if not change.changed:
            raise NotFound
        return _redirect_to_list(call.request, "link-deleted", change=str(change.id))

    async def _rows(
        self,
        session: Session,
        links: Page[Link],
        unserved: Collection[UUID],
        routed: Collection[UUID],
        imported: Mapping[UUID, int],
        tag_colors: Mapping[str, TagColor],
        healths: Mapping[UUID, LinkHealth],
    ) -> Page[ListedLink]:
        """Call it without a transaction: clicks can be on another server."""
        ids = [link.id for link in links.items]
        clicks = await self._sparklines(session.account.id, ids) if ids else {}
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
                clicks_14_days=sum(clicks[link.id]) if clicks else None,
                sparkline_points=sparkline_points(clicks.get(link.id, ())),
            )
        )


async def _find_shown(
    tx: Tx, account: UUID, links: Page[Link]
) -> tuple[Collection[UUID], Collection[UUID], Mapping[UUID, int], Mapping[str, TagColor], Mapping[UUID, LinkHealth]]:
    """Return the domains not served, the links with routing, imported clicks, the colors of tags, and the health."""
    ids = [link.id for link in links.items]
    unserved = await domains.find_unserved(tx, [link.domain_id for link in links.items])
    colors = await tags.find_colors(tx, account, {tag for link in links.items for tag in link.tags})
    routed, imported = await routing.find_routed(tx, ids), await find_imported_clicks(tx, ids)
    return unserved, routed, imported, colors, await health.find_of_links(tx, ids)


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
    params = ((name, query.get(name)) for name in _LIST_PARAMETERS)
    return urlencode([(name, text) for name, text in params if text and (name, text) != ("sort", "newest")])


def _redirect_to_list(request: Request, done: str, **params: str) -> Response:
    """`params`: `link`, or `change` that can be undone."""
    query = urlencode({"done": done, **params})
    return redirect("/links?" + "&".join(filter(None, (_query(request), query))))
