"""Dashboard pages of imports: choose a source, enter its token or upload a file, plan, import, report."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from waypost.accounts import roles
from waypost.accounts.sessions.store import Session
from waypost.kit.csv_cells import csv_text
from waypost.kit.errors import Invalid, PaymentRequired, UnregistrableName, WaypostError, or_not_found
from waypost.kit.fields import Upload, parse
from waypost.kit.pagination import MAX_PER_PAGE, PageRequest
from waypost.resources.domains import service as domain_service
from waypost.resources.domains.model import Domain
from waypost.resources.domains.names import takes_cname
from waypost.resources.domains.schemas import DnsRecordJson, NewDomain
from waypost.resources.domains.schemas import to_json as domain_to_json
from waypost.resources.imports import choices
from waypost.resources.imports import service as import_service
from waypost.resources.imports.report import Report, read_plan
from waypost.resources.imports.requests import service, store
from waypost.resources.imports.requests.model import ImportRequest
from waypost.resources.imports.requests.service import Deps
from waypost.resources.imports.requests.uploads import MAX_FILE, MAX_PIECE
from waypost.web.body import read_body
from waypost.web.dashboard import BLANK, Form, Pages, get, is_fragment_request, post, read_form, redirect

_CHOOSE = "/links/import"
_NEW = "/links/import/{source}"
_ONE = "/links/imports/{id}"
_MAX_FORM = 8 << 20
"""Bytes of a form with a file, from browsers without scripts. Others send large files in pieces."""
_LISTED = 20
_SHOWN_LOSSES = 20
_SHOWN_HOSTS = 100

Proceed = Callable[[Deps, Session, ImportRequest, Mapping[str, str]], Awaitable[None]]


class ImportPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            get(_CHOOSE, self.choose, "links.write"),
            get(_NEW, self.new, "links.write"),
            post(_NEW, self.create, "links.write"),
            get(_ONE, self.show, "links.write"),
            post(f"{_ONE}/pieces", self.add_piece, "links.write"),
            post(f"{_ONE}/domains", self.register_domain, "domains.write"),
            post(f"{_ONE}/plan", self.plan_again, "links.write"),
            post(f"{_ONE}/start", self.start, "links.write"),
            post(f"{_ONE}/resume", self.resume, "links.write"),
            get(f"{_ONE}/give-up", self.confirm_give_up, "links.write"),
            post(f"{_ONE}/give-up", self.give_up, "links.write"),
            get(f"{_ONE}/refused.csv", self.download_refused, "links.write"),
        ]

    async def choose(self, request: Request) -> Response:
        session = await self._auth.require_session(request)
        async with self._deps.db.read() as tx:
            newest = await store.list_newest(tx, session.account.id, _LISTED)
        allowed = {choice.name: choice for choice in choices.CHOICES if roles.may(session.role, choice.action)}
        shown = [each for each in newest if each.source in allowed]
        context: dict[str, Any] = {"choices": allowed.values(), "by_name": choices.BY_NAME, "newest": shown}
        return self._views.render_page(request, "imports/choose.html", **context)

    async def new(self, request: Request) -> Response:
        await self._require_choice(request)
        return self._render_new(request, Form({"timezone": request.cookies.get("timezone"), "clicks": "1"}))

    async def create(self, request: Request) -> Response:
        """Create the import. A script that sends the file in pieces gets their URL as JSON."""
        session, choice = await self._require_choice(request)
        form = await read_form(request, _MAX_FORM)
        upload = form.fields.get("file")
        file = upload if isinstance(upload, Upload) else None
        name = file.filename if file else form.text("file_name")
        size = len(file.content) if file else _digits(form.text("file_size"))
        try:
            self._auth.require_active_plan(session)
            new = service.parse_new(choice, form.fields, name, size)
            created = await service.create(self._deps, session, choice, new)
        except (Invalid, PaymentRequired) as error:
            return self._render_new(request, form, error)
        if created.state == "uploading" and file is None:
            return JSONResponse({"url": _url(created), "piece_size": MAX_PIECE}, 201)
        for start in range(0, created.file_size or 0, MAX_PIECE):
            await service.add_piece(
                self._deps, created, start, file.content[start : start + MAX_PIECE] if file else b""
            )
        return redirect(_url(created))

    async def add_piece(self, request: Request) -> Response:
        """Store a piece of the file, and respond with the size of the file so far: where the next one begins."""
        _, current = await self._get(request)
        start = or_not_found(_digits(request.query_params.get("start", "")))
        content = await read_body(request, MAX_PIECE)
        try:
            return JSONResponse({"size": await service.add_piece(self._deps, current, start, content)})
        except Invalid as error:
            return JSONResponse({"errors": error.errors}, 422)

    async def show(self, request: Request) -> Response:
        session, current = await self._get(request)
        return await self._render(request, session, current)

    async def register_domain(self, request: Request) -> Response:
        """Register a hostname of the source. Its links keep their addresses once its DNS points here."""
        session, current = await self._get(request)
        form = await read_form(request)
        hostname, mapped = form.text("register"), _mapping(current, form)
        try:
            self._auth.require_active_plan(session)
            await domain_service.create(self._deps, session, *parse(NewDomain, {"hostname": hostname}))
        except (Invalid, UnregistrableName, PaymentRequired) as error:
            message = f"{hostname}: {error.details.removeprefix('hostname: ')}"
            return await self._render(request, session, replace(current, domains=mapped), Invalid({"body": [message]}))
        await service.set_domains(self._deps, current, mapped | {hostname: hostname})
        return redirect(f"{_url(current)}#domains")

    async def plan_again(self, request: Request) -> Response:
        return await self._proceed(request, service.plan_again)

    async def start(self, request: Request) -> Response:
        return await self._proceed(request, service.start)

    async def resume(self, request: Request) -> Response:
        return await self._proceed(request, service.resume)

    async def confirm_give_up(self, request: Request) -> Response:
        _, current = await self._get(request)
        return self._views.render_page(request, "imports/give_up.html", **_names(current))

    async def give_up(self, request: Request) -> Response:
        session, current = await self._get(request)
        await service.give_up(self._deps, session, current)
        return redirect(_url(current))

    async def download_refused(self, request: Request) -> Response:
        _, current = await self._get(request)
        name = f"refused-{current.source}-{current.created_at:%Y-%m-%d}.csv"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "private, no-store"}
        refused = (await self._report(current)).refused
        content = csv_text([("source_id", "reason"), *((row.source_id, row.reason) for row in refused)])
        return Response(content, media_type="text/csv; charset=utf-8", headers=headers)

    async def _proceed(self, request: Request, proceed: Proceed) -> Response:
        session, current = await self._get(request)
        mapped = _mapping(current, await read_form(request))
        try:
            self._auth.require_active_plan(session)
            await proceed(self._deps, session, current, mapped)
        except (Invalid, PaymentRequired) as error:
            return await self._render(request, session, replace(current, domains=mapped), error)
        return redirect(_url(current))

    async def _require_choice(self, request: Request) -> tuple[Session, choices.SourceChoice]:
        session, choice = await self._auth.require_session(request), _choice(request)
        self._auth.require_role(session, choice.action)
        return session, choice

    async def _get(self, request: Request) -> tuple[Session, ImportRequest]:
        """Raises Forbidden for an import that the role could not have requested."""
        session = await self._auth.require_session(request)
        async with self._deps.db.read() as tx:
            current = await store.get(tx, session.account.id, self._path_id(request))
        self._auth.require_role(session, choices.BY_NAME[current.source].action)
        return session, current

    async def _report(self, current: ImportRequest) -> Report:
        """Return the report of the import, or of its plan before it is confirmed."""
        if current.is_planned_only:
            return read_plan(current.source, current.plan)
        if current.import_id is None:
            return Report(current.source)
        started = await import_service.get(self._deps.db, current.account_id, current.import_id)
        return await import_service.get_report(self._deps.db, started)

    def _render_new(self, request: Request, form: Form, error: WaypostError | None = None) -> Response:
        context = {"choice": _choice(request), "max_form": _MAX_FORM, "max_file": MAX_FILE}
        return self._views.form(request, "imports/new.html", form, error, **context)

    async def _render(
        self, request: Request, session: Session, current: ImportRequest, error: WaypostError | None = None
    ) -> Response:
        report = await self._report(current)
        registered = await domain_service.list_domains(self._deps, session, PageRequest(1, MAX_PER_PAGE))
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
            "report": report,
            "total": report.total,
            "shown_losses": _SHOWN_LOSSES,
        }
        if is_fragment_request(request, "import"):
            return self._views.render_fragment(request, "imports/one.html", "state", form=BLANK, **context)
        return self._views.form(request, "imports/one.html", BLANK, error, **context)

    def _with_record(self, domain: Domain) -> tuple[Domain, DnsRecordJson, bool]:
        """Return the domain, its TXT record, and whether a CNAME record can point it here."""
        target = self._deps.cname_target
        return domain, domain_to_json(domain, target)["dns_records"][0], takes_cname(domain.hostname, target)


def hosts_of(current: ImportRequest) -> Mapping[str, int]:
    """Return how many links each hostname of the source has, most frequent ones first."""
    hosts: Mapping[str, int] = current.plan.get("hosts", {})
    return dict(sorted(hosts.items(), key=lambda item: (-item[1], item[0]))[:_SHOWN_HOSTS])


def _target(current: ImportRequest, host: str, registered: Mapping[str, Any]) -> str:
    """Return the domain that links of the host get: as chosen, or of the same name. Empty: the shared domain."""
    return current.domains.get(host, host if host in registered else "")


def _mapping(current: ImportRequest, form: Form) -> dict[str, str]:
    """Return the domains chosen in the form. It names each host: another plan may have others by now."""
    hosts = current.plan.get("hosts", {})
    chosen = {form.text(f"host-{index}"): form.text(f"domain-{index}") for index in range(_SHOWN_HOSTS)}
    return {**current.domains, **{host: name for host, name in chosen.items() if host in hosts and name.isprintable()}}


def _choice(request: Request) -> choices.SourceChoice:
    return or_not_found(choices.BY_NAME.get(request.path_params["source"]))


def _names(current: ImportRequest) -> dict[str, Any]:
    return {"current": current, "choice": choices.BY_NAME[current.source], "url": _url(current)}


def _url(current: ImportRequest) -> str:
    return f"/links/imports/{current.id}"


def _digits(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
