"""Dashboard pages of domains."""

import asyncio
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.kit.errors import Invalid, PaymentRequired, UnregistrableName, WaypostError
from waypost.kit.fields import parse
from waypost.resources.domains import history, names, service
from waypost.resources.domains.checks.outcome import MAX_FAILURES
from waypost.resources.domains.deps import WebDeps
from waypost.resources.domains.model import Domain
from waypost.resources.domains.schemas import DomainChange, NewDomain, to_json
from waypost.web import require_pagination
from waypost.web.dashboard import Form, Pages, get, is_fragment_request, post, redirect

_ALL = "/domains"
_ONE = "/domains/{id}"
_PER_PAGE = 25
_TARGET_URLS = ("root_url", "not_found_url")


class DomainPages(Pages[WebDeps]):
    def endpoints(self) -> list[Route]:
        return [
            get(_ALL, self.list_domains, "view"),
            post(_ALL, self.create, "domains.write"),
            get(_ONE, self.show, "view"),
            post(_ONE, self.change, "domains.write"),
            get(f"{_ONE}/state", self.show_status, "view"),
            post(f"{_ONE}/verify", self.verify, "domains.write"),
            get(f"{_ONE}/addresses", self.show_addresses, "view"),
            get(f"{_ONE}/delete", self.show_deletion, "domains.write"),
            post(f"{_ONE}/delete", self.delete, "domains.write"),
        ]

    async def list_domains(self, request: Request) -> Response:
        await self._auth.require_session(request)
        return await self._render_list(request, Form())

    async def create(self, request: Request) -> Response:
        session, form = await self._read(request)
        form = replace(form, fields={"hostname": names.from_pasted(form.text("hostname")) or None})
        new, problems = parse(NewDomain, form.fields)
        try:
            self._auth.require_active_plan(session)
            domain = await service.create(self._deps, session, new, problems)
        except UnregistrableName as error:
            return await self._render_list(request, form, Invalid({"hostname": [error.message]}))
        except (Invalid, PaymentRequired) as error:
            return await self._render_list(request, form, error)
        return redirect(f"/domains/{domain.id}", "domain-added")

    async def show(self, request: Request) -> Response:
        domain = await self._get_domain(request)
        return await self._render_domain(request, domain, Form({name: getattr(domain, name) for name in _TARGET_URLS}))

    async def change(self, request: Request) -> Response:
        domain = await self._get_domain(request)  # before the form: others get 404 for any input
        session, form = await self._read(request)
        change, problems = parse(DomainChange, {name: form.fields.get(name) for name in _TARGET_URLS})
        try:
            self._auth.require_active_plan(session)
            await service.change(self._deps, session, domain.id, change, problems)
        except (Invalid, PaymentRequired) as error:
            return await self._render_domain(request, domain, form, error)
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

    async def _render_list(self, request: Request, form: Form, error: WaypostError | None = None) -> Response:
        session = await self._auth.require_session(request)
        pagination = replace(require_pagination(request), per_page=_PER_PAGE)
        page = await service.list_domains(self._deps, session, pagination)
        deleted = request.query_params.get("deleted", "")
        context: dict[str, Any] = {"page": page, "readable": names.readable}
        if is_fragment_request(request, "found"):  # polled while a check is in flight
            return self._views.render_fragment(request, "domains/list.html", "found", **context)
        context["dangling"] = await service.find_dangling_dns(self._deps, session, deleted) if deleted else None
        return self._views.form(request, "domains/list.html", form, error, **context)

    async def _render_domain(
        self, request: Request, domain: Domain, form: Form, error: WaypostError | None = None
    ) -> Response:
        return self._views.form(request, "domains/one.html", form, error, **await self._context(domain))

    async def _render_status(self, request: Request, domain: Domain) -> Response:
        return self._views.render_page(request, "domains/_state.html", **await self._context(domain))

    async def _context(self, domain: Domain) -> dict[str, Any]:
        target = self._deps.cname_target
        takes_cname = await asyncio.to_thread(names.takes_cname, domain.hostname, target)  # reads a list, once
        records = [each for each in to_json(domain, target)["dns_records"] if takes_cname or each["type"] == "TXT"]
        shown = {"records": records, "takes_cname": takes_cname, "cname_target": target}
        limits = {"max_unverified_days": history.MAX_UNVERIFIED.days, "max_failures": MAX_FAILURES}
        return {"domain": domain, "readable": names.readable, "is_local": names.is_local(target), **shown, **limits}
