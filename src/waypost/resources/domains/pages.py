"""Dashboard pages of domains."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from waypost.kit.errors import Invalid, UnregistrableName
from waypost.kit.fields import parse
from waypost.kit.forward_query import from_text
from waypost.resources.domains import history, names, service
from waypost.resources.domains.checks.outcome import MAX_FAILURES
from waypost.resources.domains.deps import WebDeps
from waypost.resources.domains.model import Domain
from waypost.resources.domains.options import forward_form
from waypost.resources.domains.options import service as options_service
from waypost.resources.domains.options.schemas import DomainOptionsChange
from waypost.resources.domains.options.store import OPTIONS
from waypost.resources.domains.schemas import DomainChange, NewDomain, to_json
from waypost.web.dashboard import BLANK, EditForm, Form, PageCall, Pages, is_fragment_request, redirect, shows

_ALL = "/domains"
_ONE = "/domains/{id}"
_PER_PAGE = 25
_ALPHABETS: Mapping[str, str] = {
    "mixed": "Letters and digits",
    "lower": "Small letters and digits",
    "digits": "Digits",
}
_TARGET_URLS = ("root_url", "not_found_url")
_EDIT = EditForm(
    service.get,
    lambda domain, _: Form({name: getattr(domain, name) or "" for name in _TARGET_URLS}),
    labels={"not_found_url": "Not-found URL"},
)
_EDIT_OPTIONS = EditForm(
    OPTIONS.get,
    lambda options, _: Form(
        {
            "ignore_case": options.ignores_case,
            "options": forward_form.fill(from_text(options.forward_query) or "none", bool(options.forward_path)),
            "slug_length": str(options.slug_style.length),
            "slug_alphabet": options.slug_style.alphabet,
        }
    ),
    page=_ONE,
    labels={
        **forward_form.LABELS,
        "ignore_case": "Ignore upper and lower case",
        "slug_length": "Length of generated slugs",
        "slug_alphabet": "Characters of generated slugs",
    },
    names={**forward_form.CHOICES, "slug_alphabet": _ALPHABETS},
)


class DomainPages(Pages[WebDeps]):
    def endpoints(self) -> list[Route]:
        return [
            self.get(_ALL, self.list_domains, "view"),
            self.form(_ALL, self.create, "domains.write", self.list_domains),
            self.get(_ONE, self.show, "view"),
            self.form(_ONE, self.change, "domains.write", self.show, edit=_EDIT),
            self.form(f"{_ONE}/options", self.save_options, "domains.write", self.show, edit=_EDIT_OPTIONS),
            self.get(f"{_ONE}/state", shows("domains/_state.html", self._find), "view"),
            self.post(f"{_ONE}/verify", self.verify, "domains.write"),
            self.get(f"{_ONE}/addresses", shows("domains/_addresses.html", self._find_addresses), "view"),
            self.form(f"{_ONE}/default", self.set_default, "domains.write", self.show),
            self.get(f"{_ONE}/delete", shows("domains/delete.html", self._find), "domains.write"),
            self.post(f"{_ONE}/delete", self.delete, "domains.write"),
        ]

    async def list_domains(self, call: PageCall) -> Response:
        page = await service.list_domains(self._deps, call.session, call.pagination(_PER_PAGE))
        deleted = call.query("deleted")
        context: dict[str, Any] = {"page": page, "readable": names.readable}
        if is_fragment_request(call.request, "found"):  # polled while a check is in flight
            return self._views.render_fragment(call.request, "domains/list.html", "found", **context)
        context["dangling"] = await service.find_dangling_dns(self._deps, call.session, deleted) if deleted else None
        return replace(call, form=_pasted(call.form)).render("domains/list.html", _pasted(BLANK), **context)

    async def create(self, call: PageCall) -> Response:
        self._auth.require_active_plan(call.session)
        try:
            domain = await service.create(self._deps, call.session, *parse(NewDomain, _pasted(call.form).fields))
        except UnregistrableName as error:
            raise Invalid({"hostname": [error.message]}) from None
        return redirect(f"/domains/{domain.id}", "domain-added")

    async def show(self, call: PageCall) -> Response:
        context = await self._find(call)
        options = await OPTIONS.get(self._deps, call.session, call.id)
        style, urls_form = options.slug_style, _EDIT.show(context["domain"], call.preferences)
        options_form = _EDIT_OPTIONS.show(options, call.preferences)
        if call.error and call.request.url.path.endswith("/options"):
            options_form = call.form.with_error(call.error)
        elif call.error:
            urls_form = call.form.with_error(call.error)
        forwarded = options_form.fields.get("options")
        context |= {"urls_form": urls_form, "options_form": options_form}
        context |= {"style": style, "alphabets": _ALPHABETS, "free_share": await self._deps.find_free_share(style)}
        context["forward_choices"] = forward_form.CHOICES
        context["forwarded"] = forwarded if isinstance(forwarded, Mapping) else {}
        return call.render("domains/one.html", **context)

    async def change(self, call: PageCall) -> Response:
        domain = await service.get(self._deps, call.session, call.id)
        self._auth.require_active_plan(call.session)
        change, problems = parse(DomainChange, {name: call.form.fields.get(name) for name in _TARGET_URLS})
        await service.change(self._deps, call.session, domain.id, change, problems)
        return redirect(f"/domains/{domain.id}", "saved")

    async def save_options(self, call: PageCall) -> Response:
        self._auth.require_active_plan(call.session)
        sent = (forward_form.read(call.form) or {}) | {"ignore_case": call.form.is_checked("ignore_case")}
        sent |= {name: text for name in ("slug_length", "slug_alphabet") if (text := call.form.text(name))}
        if re.fullmatch(r"[0-9]{1,3}", length := call.form.text("slug_length")):
            sent["slug_length"] = int(length)
        await options_service.change(self._deps, call.session, call.id, *parse(DomainOptionsChange, sent))
        return redirect(f"/domains/{call.id}", "saved")

    async def verify(self, call: PageCall) -> Response:
        self._auth.require_active_plan(call.session)
        domain = await service.request_verification(self._deps, call.session, call.id)
        if is_fragment_request(call.request):  # polled while a check is in flight
            return call.render("domains/_state.html", **await self._context(domain))
        return redirect(f"/domains/{domain.id}")

    async def set_default(self, call: PageCall) -> Response:
        self._auth.require_active_plan(call.session)
        is_default = call.form.text("is_default") == "1"
        await service.set_default(self._deps, call.session, call.id, is_default=is_default)
        return redirect(f"/domains/{call.id}", "saved")

    async def delete(self, call: PageCall) -> Response:
        domain = await service.get(self._deps, call.session, call.id)
        await service.delete(self._deps, call.session, domain.id)
        return redirect(f"/domains?deleted={domain.hostname}", "domain-deleted")

    async def _find(self, call: PageCall) -> dict[str, Any]:
        return await self._context(await service.get(self._deps, call.session, call.id))

    async def _find_addresses(self, call: PageCall) -> dict[str, Any]:
        """Of a domain without a CNAME record. The page loads them later: name servers are slow."""
        domain = await service.get(self._deps, call.session, call.id)
        addresses = await self._deps.find_addresses()
        return {"domain": domain, "addresses": addresses, "cname_target": self._deps.cname_target}

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
