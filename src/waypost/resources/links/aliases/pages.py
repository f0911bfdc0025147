"""The page with a link's addresses: its short URL and its aliases."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts.sessions.store import Session
from waypost.kit.errors import WaypostError
from waypost.kit.fields import parse
from waypost.kit.pagination import PageRequest
from waypost.resources import domains
from waypost.resources.links import routing, service
from waypost.resources.links.aliases import service as alias_service
from waypost.resources.links.aliases.schemas import NewAlias
from waypost.resources.links.deps import Deps
from waypost.resources.links.form.choices import find_choices
from waypost.web import require_pagination
from waypost.web.dashboard import BLANK, Form, Pages, get, post, redirect

_PATH = "/links/{id}/addresses"
_PER_PAGE = 25


class AliasPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            get(_PATH, self.show, "view"),
            self.form(_PATH, self.add, "links.write", self.show),
            get(f"{_PATH}/{{alias_id}}/delete", self.confirm_delete, "links.write"),
            post(f"{_PATH}/{{alias_id}}/delete", self.delete, "links.write"),
        ]

    async def show(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        session = await self._auth.require_session(request)
        link = await service.get(self._deps, session, self._path_id(request))
        page = PageRequest(require_pagination(request).page, _PER_PAGE)
        aliases = await alias_service.list_aliases(self._deps, session, link.id, page)
        async with self._deps.db.read() as tx:
            choices = await find_choices(tx, session.account.id)
            unserved = await domains.find_unserved(tx, [link.domain_id, *(alias.domain_id for alias in aliases.items)])
            routed = await routing.find_routed(tx, [link.id])
        context: dict[str, Any] = {"link": link, "page": aliases, "choices": choices, "unserved": unserved}
        context["is_routed"] = bool(routed)
        context["short_url"] = link.short_url(self._deps.shared_domain)
        return self._views.form(request, "links/addresses.html", form, error, readable=domains.readable, **context)

    async def add(self, request: Request, session: Session, form: Form) -> Response:
        link_id = self._path_id(request)
        self._auth.require_active_plan(session)
        await alias_service.add(self._deps, session, link_id, *parse(NewAlias, form.fields))
        return redirect(f"/links/{link_id}/addresses", "address-added")

    async def confirm_delete(self, request: Request) -> Response:
        session, link_id = await self._auth.require_session(request), self._path_id(request)
        alias = await alias_service.get(self._deps, session, link_id, self._path_id(request, "alias_id"))
        return self._views.render_page(request, "links/delete_address.html", alias=alias)

    async def delete(self, request: Request) -> Response:
        session, link_id = await self._auth.require_session(request), self._path_id(request)
        await alias_service.delete(self._deps, session, link_id, self._path_id(request, "alias_id"))
        return redirect(f"/links/{link_id}/addresses", "address-deleted")
