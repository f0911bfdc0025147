"""The operator's pages about links: open reports, and one link with its reports, which can be disabled."""

from typing import Any
from uuid import UUID

import structlog
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts import account_list
from waypost.accounts.person_pages import PersonPages
from waypost.kit.errors import or_not_found
from waypost.kit.ids import parse_id
from waypost.redirect.report_pages import REASONS
from waypost.resources import links
from waypost.resources.links import operator_disabling
from waypost.resources.reports import model
from waypost.resources.reports import store as reports
from waypost.web.dashboard import BLANK, Form, PageCall, redirect, shows

_PER_PAGE = 25

log = structlog.get_logger(__name__)


class OperatorPages(PersonPages):
    def endpoints(self) -> list[Route]:
        show = shows("operator/link.html", self._find_link)
        return [
            self.get("/operator/reports", self.list_reports, "operator"),
            self.get("/operator/links", self.find_link, "operator"),
            self.get("/operator/links/{id}", show, "operator"),
            self.form("/operator/links/{id}/disable", self.disable, "operator", show),
            self.form("/operator/links/{id}/enable", self.enable, "operator", show),
            self.form("/operator/links/{id}/dismiss", self.dismiss, "operator", show),
        ]

    async def list_reports(self, call: PageCall, form: Form = BLANK) -> Response:
        after = parse_id(call.query("after"))
        async with self._deps.db.read() as tx:
            found = await reports.list_open(tx, after, _PER_PAGE + 1)
            reported = found[:_PER_PAGE]
            ids = [each.link_id for each in reported]
            context: dict[str, Any] = {
                "links": {link.id: link for link in await links.find_any(tx, ids)},
                "reasons": await reports.count_reasons(tx, ids),
                "emails": await account_list.find_emails(tx, [each.account_id for each in reported]),
            }
        return call.render(
            "operator/reports.html",
            form,
            status=422 if form.errors else 200,
            reported=reported,
            is_first=after is None,
            next_after=ids[-1] if len(found) > _PER_PAGE else None,
            shared_domain=self._deps.context.shared_domain,
            **context,
        )

    async def find_link(self, call: PageCall) -> Response:
        """Redirect to the page of the link with the short URL `?url=`."""
        url = call.query("url").strip()
        async with self._deps.db.read() as tx:
            link_id = await links.find_by_url(tx, url)
        if link_id is None:
            problem = {"url": ["There is no link with this short URL."]}
            return await self.list_reports(call, Form({"url": url}, problem))
        return redirect(f"/operator/links/{link_id}")

    async def _find_link(self, call: PageCall) -> dict[str, Any]:
        async with self._deps.db.read() as tx:
            found = await links.find_any(tx, [call.id])
            link = or_not_found(next(iter(found), None))
            context = {
                "link": link,
                "reported": await reports.find_open(tx, link.id),
                "reports": await reports.list_reports(tx, link.id),
                "owner": or_not_found(await account_list.find(tx, link.account_id)).account,
                "reasons": REASONS,
                "short_url": link.short_url(self._deps.context.shared_domain),
            }
        return context | await self._reauthentication(call)

    async def disable(self, call: PageCall) -> Response:
        await self._require_recent(call)
        id_, reason = call.id, call.form.text("reason")
        await operator_disabling.disable(self._deps.context, id_, reason)
        await self._close_reports(id_, "disabled")
        log.info("link disabled by the operator", link=str(id_), reason=reason, by=str(call.person.id))
        return redirect(f"/operator/links/{id_}", "disabled")

    async def enable(self, call: PageCall) -> Response:
        await self._require_recent(call)
        id_ = call.id
        await operator_disabling.lift(self._deps.context, id_)
        log.info("link enabled by the operator", link=str(id_), by=str(call.person.id))
        return redirect(f"/operator/links/{id_}", "released")

    async def dismiss(self, call: PageCall) -> Response:
        await self._require_recent(call)
        id_ = call.id
        await self._close_reports(id_, "dismissed")
        log.info("reports dismissed", link=str(id_), by=str(call.person.id))
        return redirect(f"/operator/links/{id_}", "dismissed")

    async def _close_reports(self, id_: UUID, outcome: model.ReportOutcome) -> None:
        async with self._deps.db.write() as tx:
            await reports.close(tx, id_, outcome, self._deps.clock())
