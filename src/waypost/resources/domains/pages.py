"""Dashboard pages of domains."""

import asyncio
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts.sessions.store import Session
from waypost.kit.errors import Invalid, UnregistrableName, WaypostError
from waypost.kit.fields import parse
from waypost.resources.domains import history, names, service
from waypost.resources.domains.checks.outcome import MAX_FAILURES
from waypost.resources.domains.deps import WebDeps
from waypost.resources.domains.model import Domain
from waypost.resources.domains.schemas import DomainChange, NewDomain, to_json
from waypost.web import require_pagination
from waypost.web.dashboard import BLANK, Form, Pages, get, is_fragment_request, post, redirect

_ALL = "/domains"
_ONE = "/domains/{id}"
_PER_PAGE = 25
_TARGET_URLS = ("root_url", "not_found_url")


class DomainPages(Pages[WebDeps]):
    def endpoints(self) -> list[Route]:
        return [
            get(_ALL, self.list_domains, "view"),
            self.form(_ALL, self.create, "domains.write", self.list_domains),
            get(_ONE, self.show, "view"),
            self.form(_ONE, self.change, "domains.write", self.show),
            get(f"{_ONE}/state", self.show_status, "view"),
            post(f"{_ONE}/verify", self.verify, "domains.write"),
            get(f"{_ONE}/addresses", self.show_addresses, "view"),
            get(f"{_ONE}/delete", self.show_deletion, "domains.write"),
            post(f"{_ONE}/delete", self.delete, "domains.write"),
        ]

    async def list_domains(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        session = await self._auth.require_session(request)
        pagination = replace(require_pagination(request), per_page=_PER_PAGE)
        page = await service.list_domains(self._deps, session, pagination)
        deleted = request.query_params.get("deleted", "")
        context: dict[str, Any] = {"page": page, "readable": names.readable}
        if is_fragment_request(request, "found"):  # polled while a check is in flight
            return self._views.render_fragment(request, "domains/list.html", "found", **context)
        context["dangling"] = await service.find_dangling_dns(self._deps, session, deleted) if deleted else None
        return self._views.form(request, "domains/list.html", _pasted(form), error, **context)

    async def create(self, _request: Request, session: Session, form: Form) -> Response:
        self._auth.require_active_plan(session)
        try:
            domain = await service.create(self._deps, session, *parse(NewDomain, _pasted(form).fields))
        except UnregistrableName as error:
            raise Invalid({"hostname": [error.message]}) from None
        return redirect(f"/domains/{domain.id}", "domain-added")

    async def show(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        domain = await self._get_domain(request)
        shown = form if error else Form({name: getattr(domain, name) for name in _TARGET_URLS})
        return self._views.form(request, "domains/one.html", shown, error, **await self._context(domain))

    async def change(self, request: Request, session: Session, form: Form) -> Response:
        domain = await service.get(self._deps, session, self._path_id(request))
        self._auth.require_active_plan(session)
        change, problems = parse(DomainChange, {name: form.fields.get(name) for name in _TARGET_URLS})
        await service.change(self._deps, session, domain.id, change, problems)
        return redirect(f"/domains/{domain.id}", "saved")

    async def show_status(self, request: Request) -> Response:
        """Render the status, which the page polls while a check is in flight."""
        return await self._render_status(request, await self._get_domain(request))

    async def show_addresses(self, request: Request) -> Response:
        """Render the records of a domain without a CNAME record, which the page loads later: name servers are slow."""
        domain, addresses = await self._get_domain(request), await self._deps.find_addresses()
        context: dict[str, Any] = {"domain": domain, "addresses": addresses, "cname_target": self._deps.cname_target}
        return self._views.render_page(request, "domains/_addresses.html", **context)

    async def verify(self, request: Request) -> Response:
        session = await self._auth.require_session(request)
        self._auth.require_active_plan(session)
        domain = await service.request_verification(self._deps, session, self._path_id(request))
        if is_fragment_request(request):
            return await self._render_status(request, domain)
        return redirect(f"/domains/{domain.id}")

    async def show_deletion(self, request: Request) -> Response:
        domain = await self._get_domain(request)
        return self._views.render_page(request, "domains/delete.html", **await self._context(domain))

    async def delete(self, request: Request) -> Response:
        session = await self._auth.require_session(request)
        domain = await self._get_domain(request)
        await service.delete(self._deps, session, domain.id)
        return redirect(f"/domains?deleted={domain.hostname}", "domain-deleted")

    async def _get_domain(self, request: Request) -> Domain:
        session = await self._auth.require_session(request)
        return await service.get(self._deps, session, self._path_id(request))

    async def _render_status(self, request: Request, domain: Domain) -> Response:
        return self._views.render_page(request, "domains/_state.html", **await self._context(domain))

    async def _context(self, domain: Domain) -> dict[str, Any]:
        target = self._deps.cname_target
        takes_cname = await asyncio.to_thread(names.takes_cname, domain.hostname, target)  # reads a list, once
        records = [each for each in to_json(domain, target)["dns_records"] if takes_cname or each["type"] == "TXT"]
        shown = {"records": records, "takes_cname": takes_cname, "cname_target": target}
        limits = {"max_unverified_days": history.MAX_UNVERIFIED.days, "max_failures": MAX_FAILURES}
        return {"domain": domain, "readable": names.readable, "is_local": names.is_local(target), **shown, **limits}


def _pasted(form: Form) -> Form:
    """Return the form with the hostname of what was pasted, such as a URL."""
    return Form({"hostname": names.from_pasted(form.text("hostname")) or None})
