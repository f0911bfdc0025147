"""The page of a person's subscriptions to reports, and the one that ends all reports to an address."""

from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from waypost.context import Context
from waypost.kit.errors import or_not_found
from waypost.kit.ids import parse_id, require_id
from waypost.resources.links.form.choices import find_choices
from waypost.resources.statistics_reports import periods, service, unsubscribing
from waypost.resources.statistics_reports.model import ReportSubject
from waypost.resources.statistics_reports.unsubscribing import UnsubscribeUrls
from waypost.web.dashboard import PageCall, Pages, SessionAuth, Views, redirect, shows

PATH = "/stats/reports"


class ReportPages(Pages[Context]):
    def __init__(
        self, deps: Context, auth: SessionAuth, views: Views, urls: UnsubscribeUrls, *, sends_mail: bool
    ) -> None:
        super().__init__(deps, auth, views)
        self._urls = urls
        self._sends_mail = sends_mail

    def endpoints(self) -> list[Route]:
        subscriptions = shows("statistics_reports/list.html", self._find)
        unsubscribe = shows("statistics_reports/unsubscribe.html", self._find_recipient, is_done=False)
        return [
            self.get(PATH, subscriptions, "view"),
            self.form(PATH, self.subscribe, "view", subscriptions),
            self.action(f"{PATH}/{{id}}/end", service.end, "view", PATH, "report-ended"),
            self.get(unsubscribing.PATH, unsubscribe, "public"),
            self.post(unsubscribing.PATH, self.unsubscribe, "servers"),  # of mail services, by one click (RFC 8058)
        ]

    async def _find(self, call: PageCall) -> dict[str, Any]:
        """A link or tag in the query is what a new subscription is about."""
        account, link_id = call.session.account, parse_id(call.form.text("link_id") or call.query("link_id"))
        tag = call.query("tag")
        async with self._deps.db.read() as tx:
            tags = [*(await find_choices(tx, account.id)).tags]
            if tag and tag not in tags and await service.has_links(tx, account.id, tag):
                tags.append(tag)
            link = None
            if link_id:
                subject, shared_domain = ReportSubject(link_id=link_id), self._deps.shared_domain
                link = or_not_found(await service.name_subject(tx, account, subject, shared_domain=shared_domain))
        listed = await service.list_of_person(self._deps, call.session)
        return {
            "listed": listed,
            "has_accounts": any(each.subscription.account_id != account.id for each in listed),
            "link": link,
            "link_id": link_id,
            "tag": tag,
            "tags": [("", f"All links of {account.name}"), *((each, f"Links tagged {each}") for each in tags)],
            "periods": [
                ("week", "Every Monday, about the last week"),
                ("month", "Every first of a month, about the last month"),
            ],
            "names": periods.NAMES,
            "attaches_links": bool(call.query("links")),
            "sends_mail": self._sends_mail,
        }

    async def subscribe(self, call: PageCall) -> Response:
        form = call.form
        await service.subscribe(
            self._deps,
            call.session,
            period=form.text("period"),
            tag=form.text("tag"),
            link_id=require_id(form.text("link_id")) if form.text("link_id") else None,
            attaches_links=form.is_checked("links"),
        )
        return redirect(PATH, "report-subscribed")

    async def _find_recipient(self, call: PageCall) -> dict[str, Any]:
        self._urls.read(call.token)
        return {}

    async def unsubscribe(self, call: PageCall) -> Response:
        await service.unsubscribe(self._deps, self._urls.read(call.token))
        return call.render("statistics_reports/unsubscribe.html", is_done=True)
