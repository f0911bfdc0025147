"""The page with a link's addresses: its short URL and its aliases."""

from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from waypost.kit.errors import Invalid
from waypost.kit.fields import parse
from waypost.resources import domains
from waypost.resources.links import page_header, routing, service
from waypost.resources.links.aliases import service as alias_service
from waypost.resources.links.aliases.schemas import NewAlias
from waypost.resources.links.deps import Deps
from waypost.resources.links.form.choices import find_choices
from waypost.web.dashboard import Form, PageCall, Pages, redirect, shows

_PATH = "/links/{id}/addresses"
_NEW = "/links/addresses/new"
_PER_PAGE = 25
_NO_LINK = "The account has no link with this short URL. Paste it from the list of links."


class AliasPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            self.get(_NEW, self.new, "links.write"),
            self.form(_NEW, self.add_to_named, "links.write", self.new),
            self.get(_PATH, self.show, "view"),
            self.form(_PATH, self.add, "links.write", self.show),
            self.get(f"{_PATH}/{{alias_id}}/delete", shows("links/delete_address.html", self._find), "links.write"),
            self.action(f"{_PATH}/{{alias_id}}/delete", alias_service.delete, "links.write", _PATH, "address-deleted"),
        ]

    async def new(self, call: PageCall) -> Response:
        """Show the form that adds an address to the link with a short URL."""
        async with self._deps.db.read() as tx:
            choices = await find_choices(tx, call.session.account.id)
        form = Form({name: call.query(name) for name in ("hostname", "path")})
        return call.render("links/new_address.html", form, choices=choices)

    async def add_to_named(self, call: PageCall) -> Response:
        self._auth.require_active_plan(call.session)
        link = await service.find_by_url(self._deps, call.session, call.form.text("link"))
        if link is None:
            raise Invalid({"link": [_NO_LINK]})
        await alias_service.add(self._deps, call.session, link.id, *parse(NewAlias, call.form.fields))
        return redirect(f"/links/{link.id}/addresses", "address-added")

    async def show(self, call: PageCall) -> Response:
        link = await service.get(self._deps, call.session, call.id)
        aliases = await alias_service.list_aliases(self._deps, call.session, link.id, call.pagination(_PER_PAGE))
        async with self._deps.db.read() as tx:
            choices = await find_choices(tx, call.session.account.id)
            unserved = await domains.find_unserved(tx, [link.domain_id, *(alias.domain_id for alias in aliases.items)])
            stored = await routing.find(tx, link.id)
        context: dict[str, Any] = {"page": aliases, "choices": choices, "unserved": unserved}
        of_domains = {"is_domain_served": link.domain_id not in unserved, "has_domains": bool(choices.hostnames)}
        context |= page_header.header(link, stored, self._deps.shared_domain, **of_domains)
        return call.render("links/addresses.html", readable=domains.readable, **context)

    async def add(self, call: PageCall) -> Response:
        self._auth.require_active_plan(call.session)
        await alias_service.add(self._deps, call.session, call.id, *parse(NewAlias, call.form.fields))
        return redirect(f"/links/{call.id}/addresses", "address-added")

    async def _find(self, call: PageCall) -> dict[str, Any]:
        return {"alias": await alias_service.get(self._deps, call.session, call.id, call.path_id("alias_id"))}
