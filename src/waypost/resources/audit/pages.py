"""The page with the audit log of an account, and its download as CSV."""

from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from waypost import audit
from waypost.audit import store
from waypost.audit.actions import LABELS
from waypost.audit.model import AuditEntry
from waypost.audit.store import AuditFilter
from waypost.context import Context
from waypost.database import Tx
from waypost.kit.csv_cells import csv_text
from waypost.kit.errors import Problems
from waypost.kit.ids import parse_id
from waypost.resources.audit import schemas
from waypost.resources.audit.account_data import read_batches
from waypost.web import read_query
from waypost.web.dashboard import Form, PageCall, Pages, SessionAuth, Views, is_fragment_request
from waypost.web.streaming import StreamedResponse

_PER_PAGE = 50
_STALL_TIMEOUT = 60.0
"""Seconds after which a download that is not read is aborted."""
_PROCESSES = (("operator", "Operators"), ("command", "Commands"), ("system", "Waypost"))
DOWNLOAD_RUNS = "A download of the audit log is already running. Wait until it has finished."


class AuditPages(Pages[Context]):
    def __init__(self, deps: Context, auth: SessionAuth, views: Views) -> None:
        super().__init__(deps, auth, views)
        self._downloading: set[UUID] = set()

    def endpoints(self) -> list[Route]:
        return [
            self.get("/account/audit", self.list_entries, "audit.view"),
            self.form("/account/audit/download", self.download, "audit.view"),
        ]

    async def list_entries(self, call: PageCall) -> Response:
        query, problems = read_query(call.request), Problems()
        return await self._render(call, query, schemas.read_filter(query, problems, call.preferences), problems)

    async def download(self, call: PageCall) -> Response:
        """Send the entries that match the filters. Only one at a time: a log can have millions."""
        query = {name: call.form.text(name) for name in schemas.FILTERS}
        problems = Problems()
        filter_ = schemas.read_filter(query, problems, call.preferences)
        account = call.session.account.id
        if account in self._downloading:
            problems.add("body", DOWNLOAD_RUNS)
        if problems:
            return await self._render(call, query, filter_, problems)
        await self._auth.limit_expensive(call.session, "audit log")
        now = self._deps.clock()
        async with self._deps.db.write() as tx:
            details = schemas.used_filters(filter_, query)
            await audit.record(tx, call.session.actor, "audit_log.downloaded", now, details=details)
        self._downloading.add(account)
        ended = partial(self._downloading.discard, account)
        disposition = f'attachment; filename="audit-log-{now:%Y-%m-%d}.csv"'
        headers = {"Content-Disposition": disposition, "Cache-Control": "private, no-store"}
        lines = self._lines(account, filter_)
        return StreamedResponse(lines, "text/csv; charset=utf-8", ended, headers=headers, read_timeout=_STALL_TIMEOUT)

    async def _lines(self, account: UUID, filter_: AuditFilter) -> AsyncIterator[str]:
        yield csv_text([schemas.CSV_COLUMNS])
        async for entries in read_batches(self._deps.db, account, filter_):
            yield csv_text(map(schemas.to_cells, entries))

    async def _render(
        self, call: PageCall, query: Mapping[str, str], filter_: AuditFilter, problems: Problems
    ) -> Response:
        account, before = call.session.account.id, parse_id(query.get("before", ""))
        entries: list[AuditEntry] = []
        next_before = None
        async with self._deps.db.read_for(account) as tx:
            if not problems:
                entries, next_before = await store.list_before(tx, account, filter_, before, limit=_PER_PAGE)
            actors = await _find_actors(tx, account, filter_)
        chosen = {name: query.get(name, "") for name in schemas.FILTERS if query.get(name)}
        context: dict[str, Any] = {
            "entries": entries,
            "labels": LABELS,
            "form": Form(chosen, problems.errors),
            "chosen": chosen,
            "item": entries[0].item.name if entries and filter_.item_id else "",
            "query": urlencode({name: text for name, text in chosen.items() if name != "item"}),
            "newest": _url(chosen) if before else "",
            "older": _url(chosen | {"before": str(next_before)}) if next_before else "",
        }
        status = 422 if problems else 200
        if is_fragment_request(call.request, "found"):
            response = self._views.render_fragment(call.request, "audit/list.html", "found", status=status, **context)
            response.headers["HX-Push-Url"] = _url(chosen)
            return response
        return call.render("audit/list.html", status=status, actors=actors, **context)


async def _find_actors(tx: Tx, account: UUID, filter_: AuditFilter) -> Sequence[tuple[str, str]]:
    """Return the choices of the filter. People and keys that did nothing recently are found by a link of an entry."""
    found = {actor.id: actor.label for actor in await store.list_recent_actors(tx, account) if actor.id}
    chosen = filter_.actor_id
    if chosen and chosen not in found and (actor := await store.find_newest_of(tx, account, chosen)):
        found[chosen] = actor.label
    return [*((str(id_), label) for id_, label in sorted(found.items(), key=lambda item: item[1])), *_PROCESSES]


def _url(query: Mapping[str, str]) -> str:
    return f"/account/audit?{urlencode(query)}" if query else "/account/audit"
