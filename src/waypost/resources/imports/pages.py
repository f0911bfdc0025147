"""Dashboard pages of imports: choose a source, enter its token or upload a file, plan, import, report."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from waypost.accounts import roles
from waypost.accounts.sessions.store import Session
from waypost.kit.csv_cells import csv_text
from waypost.kit.errors import Invalid, NotFound, PaymentRequired, UnregistrableName, or_not_found
from waypost.kit.fields import Upload, parse
from waypost.kit.pagination import MAX_PER_PAGE, PageRequest
from waypost.resources import utm_templates
from waypost.resources.domains import service as domain_service
from waypost.resources.domains.model import Domain
from waypost.resources.domains.names import takes_cname
from waypost.resources.domains.schemas import DnsRecordJson, NewDomain
from waypost.resources.domains.schemas import to_json as domain_to_json
from waypost.resources.imports import choices, store
from waypost.resources.imports import service as import_service
from waypost.resources.imports.model import Import
from waypost.resources.imports.report import Report, read_plan
from waypost.resources.imports.requests import service
from waypost.resources.imports.requests.service import Deps
from waypost.resources.imports.requests.uploads import MAX_FILE, MAX_PIECE
from waypost.resources.imports.tables import settings as table_settings
from waypost.resources.imports.tables.columns import FIELDS
from waypost.resources.imports.tables.settings import MAX_SHOWN, SHOWN_FIRST
from waypost.resources.links.lists.csv_file import TITLES
from waypost.resources.utm_templates import UtmTemplate
from waypost.web.body import read_body
from waypost.web.dashboard import BLANK, Form, PageCall, PageFunction, Pages, is_fragment_request, redirect, shows

_CHOOSE = "/links/import"
_NEW = "/links/import/{source}"
_ONE = "/links/imports/{id}"
_MAX_FORM = 8 << 20
"""Bytes of a form with a file, from browsers without scripts. Others send large files in pieces."""
_LISTED = 20
_SHOWN_LOSSES = 20
_SHOWN_HOSTS = 100
_EXAMPLE = 'spring-sale,https://example.com/sale,Spring sale,"sale, spring",2026-01-31,,,active,,'
"""A row of the template, after the domain."""
_MAX_FIELDS = 2 * _SHOWN_HOSTS + MAX_SHOWN + 10

Proceed = Callable[[Deps, Session, Import, Mapping[str, Any]], Awaitable[None]]


class ImportPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        give_up = shows("imports/give_up.html", self._find_names)
        read = partial(PageCall.read, max_fields=_MAX_FIELDS)
        return [
            self.get(_CHOOSE, shows("imports/choose.html", self._find_newest), "links.write"),
            self.get(_NEW, self.new, "links.write"),
            self.form(_NEW, self.create, "links.write", self.new, read=partial(PageCall.read, max_size=_MAX_FORM)),
            self.get(_ONE, self.show, "links.write"),
            self.post(f"{_ONE}/pieces", self.add_piece, "links.write"),
            self.form(f"{_ONE}/domains", self.register_domain, "domains.write", self.show, read=read),
            self.form(f"{_ONE}/plan", self._proceed(service.plan_again), "links.write", self.show, read=read),
            self.form(f"{_ONE}/start", self._proceed(service.start), "links.write", self.show, read=read),
            self.form(f"{_ONE}/resume", self._proceed(service.resume), "links.write", self.show),
            self.get(f"{_ONE}/give-up", give_up, "links.write"),
            self.post(f"{_ONE}/give-up", self.give_up, "links.write"),
            self.get(f"{_ONE}/refused.csv", self.download_refused, "links.write"),
        ]

    async def _find_newest(self, call: PageCall) -> dict[str, Any]:
        async with self._deps.db.read() as tx:
            newest = await store.list_newest(tx, call.session.account.id, _LISTED)
        allowed = {choice.name: choice for choice in choices.CHOICES if roles.may(call.session.role, choice.action)}
        shown = [each for each in newest if each.source in allowed]
        return {"choices": allowed.values(), "by_name": choices.BY_NAME, "newest": shown}

    async def new(self, call: PageCall) -> Response:
        form = Form({"timezone": call.preferences.timezone, "clicks": "1"})
        context: dict[str, Any] = {"choice": self._require_choice(call), "max_form": _MAX_FORM, "max_file": MAX_FILE}
        context["utm_templates"] = await self._find_templates(call)
        context["csv_template"] = f"{','.join(TITLES)}\r\n{self._deps.shared_domain}/{_EXAMPLE}\r\n"
        return call.render("imports/new.html", form, **context)

    async def create(self, call: PageCall) -> Response:
        """Create the import. A script that sends the file in pieces gets their URL as JSON."""
        choice, form = self._require_choice(call), call.form
        upload = form.fields.get("file")
        file = upload if isinstance(upload, Upload) else None
        name = file.filename if file else form.text("file_name")
        size = len(file.content) if file else _digits(form.text("file_size"))
        self._auth.require_active_plan(call.session)
        new = service.parse_new(choice, form.fields, name, size, await self._find_templates(call))
        created = await service.create(self._deps, call.session, choice, new)
        if created.state == "uploading" and file is None:
            return JSONResponse({"url": _url(created), "piece_size": MAX_PIECE}, 201)
        for start in range(0, created.file_size or 0, MAX_PIECE):
            await service.add_piece(
                self._deps, created, start, file.content[start : start + MAX_PIECE] if file else b""
            )
        return redirect(_url(created))

    async def add_piece(self, call: PageCall) -> Response:
        """Store a piece of the file, and respond with the size of the file so far: where the next one begins."""
        current = await self._get(call)
        start = or_not_found(_digits(call.query("start")))
        content = await read_body(call.request, MAX_PIECE)
        try:
            return JSONResponse({"size": await service.add_piece(self._deps, current, start, content)})
        except Invalid as error:
            return JSONResponse({"errors": error.errors}, 422)

    async def register_domain(self, call: PageCall) -> Response:
        """Register a hostname of the source. Its links keep their addresses once its DNS points here."""
        current, hostname = await self._get(call), call.form.text("register")
        chosen = _chosen(current, call.form)
        try:
            self._auth.require_active_plan(call.session)
            await domain_service.create(self._deps, call.session, *parse(NewDomain, {"hostname": hostname}))
        except (Invalid, UnregistrableName, PaymentRequired) as error:
            message = f"{hostname}: {error.details.removeprefix('hostname: ')}"
            raise Invalid({"body": [message]}) from None
        chosen["domains"] |= {hostname: hostname}
        await service.set_options(self._deps, current, chosen)
        return redirect(f"{_url(current)}#domains")

    def _proceed(self, verb: Proceed) -> PageFunction:
        async def send(call: PageCall) -> Response:
            current = await self._get(call)
            self._auth.require_active_plan(call.session)
            await verb(self._deps, call.session, current, _chosen(current, call.form))
            return redirect(_url(current))

        return send

    async def _find_names(self, call: PageCall) -> dict[str, Any]:
        return _names(await self._get(call))

    async def give_up(self, call: PageCall) -> Response:
        current = await self._get(call)
        await service.give_up(self._deps, call.session, current)
        return redirect(_url(current))

    async def download_refused(self, call: PageCall) -> Response:
        current = await self._get(call)
        name = f"refused-{current.source}-{current.created_at:%Y-%m-%d}.csv"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "private, no-store"}
        refused = (await self._report(current)).refused
        content = csv_text([("source_id", "reason"), *((row.source_id, row.reason) for row in refused)])
        return Response(content, media_type="text/csv; charset=utf-8", headers=headers)

    def _require_choice(self, call: PageCall) -> choices.SourceChoice:
        choice = or_not_found(choices.BY_NAME.get(call.request.path_params["source"]))
        self._auth.require_role(call.session, choice.action)
        return choice

    async def _find_templates(self, call: PageCall) -> Sequence[UtmTemplate]:
        async with self._deps.db.read() as tx:
            return await utm_templates.find_all(tx, call.session.account.id)

    async def _get(self, call: PageCall) -> Import:
        """Raises Forbidden for an import that the role could not have requested."""
        async with self._deps.db.read() as tx:
            current = await store.get(tx, call.session.account.id, call.id)
        if not current.has_page:
            raise NotFound
        self._auth.require_role(call.session, choices.BY_NAME[current.source].action)
        return current

    async def _report(self, current: Import) -> Report:
        """Return the report of the import, or of its plan before it is confirmed."""
        if current.is_planned_only:
            return read_plan(current.source, current.plan)
        return await import_service.get_report(self._deps.db, current)

    async def show(self, call: PageCall) -> Response:
        current = await self._get(call)
        table = table_settings.find_settings(current)
        if call.error:
            options = {**current.options, "domains": _mapping(current, call.form)}
            current = replace(current, options=options)
            table = table and table.enter(call.form.fields)
        report = await self._report(current)
        registered = await domain_service.list_domains(self._deps, call.session, PageRequest(1, MAX_PER_PAGE))
        domains = {domain.hostname: domain for domain in registered.items}
        hosts = hosts_of(current)
        targets = {current.domains.get(host, "") for host in hosts}
        moving = [
            domain for name, domain in domains.items() if name in targets and (name in hosts or not domain.is_served)
        ]
        context: dict[str, Any] = {
            **_names(current),
            "hosts": [(host, count, _target(current, host, domains)) for host, count in hosts.items()],
            "hostnames": list(domains),
            "moving": await asyncio.to_thread(lambda: [*map(self._with_record, moving)]),  # reads a list, once
            "cname_target": self._deps.cname_target,
            "shared_domain": self._deps.shared_domain,
            "is_vendors": choices.is_of_vendor,
            "settings": table,
            "fields": FIELDS,
            "shown_columns": SHOWN_FIRST,
            "report": report,
            "total": report.total,
            "shown_losses": _SHOWN_LOSSES,
        }
        if is_fragment_request(call.request, "import"):
            return self._views.render_fragment(call.request, "imports/one.html", "state", form=BLANK, **context)
        return call.render("imports/one.html", **context)

    def _with_record(self, domain: Domain) -> tuple[Domain, DnsRecordJson, bool]:
        """Return the domain, its TXT record, and whether a CNAME record can point it here."""
        target = self._deps.cname_target
        return domain, domain_to_json(domain, target)["dns_records"][0], takes_cname(domain.hostname, target)


def hosts_of(current: Import) -> Mapping[str, int]:
    """Return how many links each hostname of the source has, most frequent ones first."""
    hosts: Mapping[str, int] = current.plan.get("hosts", {})
    return dict(sorted(hosts.items(), key=lambda item: (-item[1], item[0]))[:_SHOWN_HOSTS])


def _target(current: Import, host: str, registered: Mapping[str, Any]) -> str:
    """Return the domain that links of the host get: as chosen, or of the same name. Empty: the shared domain."""
    return current.domains.get(host, host if host in registered else "")


def _mapping(current: Import, form: Form) -> dict[str, str]:
    """Return the domains chosen in the form. It names each host: another plan may have others by now."""
    hosts = current.plan.get("hosts", {})
    chosen = {form.text(f"host-{index}"): form.text(f"domain-{index}") for index in range(_SHOWN_HOSTS)}
    return {**current.domains, **{host: name for host, name in chosen.items() if host in hosts and name.isprintable()}}


def _chosen(current: Import, form: Form) -> dict[str, Any]:
    """Return the options that are chosen in the form. Raises Invalid."""
    table = table_settings.find_settings(current)
    of_table = table_settings.options_of(current, table.enter(form.fields)) if table else {}
    return {**of_table, "domains": _mapping(current, form)}


def _names(current: Import) -> dict[str, Any]:
    return {"current": current, "choice": choices.BY_NAME[current.source], "url": _url(current)}


def _url(current: Import) -> str:
    return f"/links/imports/{current.id}"


def _digits(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
