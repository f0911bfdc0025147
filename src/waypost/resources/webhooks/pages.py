"""HTML pages of webhooks: subscriptions, their delivery logs, and single deliveries with request and response."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, cast, get_args
from urllib.parse import urlencode
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from waypost.auth.sessions import Session
from waypost.kit.errors import Invalid, PaymentRequired
from waypost.kit.fields import parse
from waypost.kit.ids import parse_id
from waypost.resources.webhooks import service
from waypost.resources.webhooks.deps import Deps
from waypost.resources.webhooks.model import MAX_ATTEMPTS, TEST, DeliveryFilter, DeliveryStatus, EventType, Webhook
from waypost.resources.webhooks.schemas import NewWebhook
from waypost.web import page_request, path_id, read_query
from waypost.web.dashboard import Form, SessionAuth, Views, read_form

_ALL = "/webhooks"
_ONE = "/webhooks/{id}"
_DELIVERY = "/webhooks/{id}/deliveries/{delivery}"
_PER_PAGE = 25
_EVENTS: Mapping[EventType, str] = {
    "link.created": "A link was created",
    "link.clicked": "A link was clicked, or its QR code scanned",
    "pixel.fired": "A pixel fired",
}
_STATUSES = tuple(status for status in get_args(DeliveryStatus) if status != "cancelled")  # their webhook is deleted
_LANGUAGES = {"Python": "python.txt", "Node.js": "node.txt", "PHP": "php.txt"}


def endpoints(deps: Deps, auth: SessionAuth, views: Views) -> list[Route]:
    pages = _Pages(deps, auth, views)
    return [
        Route(_ALL, pages.browse, methods=["GET"]),
        Route(f"{_ALL}/new", pages.new, methods=["GET"]),
        Route(f"{_ALL}/new", pages.create, methods=["POST"]),
        Route(_ONE, pages.log, methods=["GET"]),
        Route(f"{_ONE}/test", pages.test, methods=["POST"]),
        Route(f"{_ONE}/delete", pages.ask_to_delete, methods=["GET"]),
        Route(f"{_ONE}/delete", pages.delete, methods=["POST"]),
        Route(_DELIVERY, pages.delivery, methods=["GET"]),
        Route(f"{_DELIVERY}/redeliver", pages.redeliver, methods=["POST"]),
    ]


@dataclass(frozen=True, slots=True)
class _Pages:
    deps: Deps
    auth: SessionAuth
    views: Views

    async def browse(self, request: Request) -> Response:
        session = await self.auth.session(request)
        found = await service.browse(self.deps, session, replace(page_request(request), per_page=_PER_PAGE))
        latest = await service.latest_deliveries(self.deps, found.items)
        notice = "Webhook deleted." if "deleted" in request.query_params else ""
        return self._page(request, "list", page=found, latest=latest, notice=notice)

    async def new(self, request: Request) -> Response:
        await self.auth.session(request)
        return self._page(request, "new", form=Form())

    async def create(self, request: Request) -> Response:
        """The response shows the secret. No redirect: nothing else ever shows it."""
        session = await self.auth.session(request)
        form = await read_form(request)
        if not self.auth.has_active_plan(session):
            return self._page(request, "new", 402, form=form.with_errors({"body": [PaymentRequired().message]}))
        new, problems = parse(NewWebhook, form.fields)
        try:
            webhook, secret = await service.create(self.deps, session, new, problems)
        except Invalid as error:
            return self._page(request, "new", 422, form=form.with_errors(error.errors))
        return self._page(request, "created", 201, webhook=webhook, secret=secret, snippets=snippets())

    async def log(self, request: Request) -> Response:
        session = await self.auth.session(request)
        webhook = await self._find(request)
        filters, before = _read_filters(request), parse_id(request.query_params.get("before", ""))
        found, following = await service.read_log(
            self.deps, session, webhook.id, filters, before=before, at_most=_PER_PAGE
        )
        older, newest = _query(filters, following) if following else "", _query(filters) if before else ""
        context: dict[str, Any] = {"deliveries": found, "filters": filters, "older": older, "newest": newest}
        return self._page(request, "one", webhook=webhook, snippets=snippets(), **context)

    async def test(self, request: Request) -> Response:
        session = await self._sending(request)
        webhook_id = await path_id(request.path_params["id"])
        return _to(webhook_id, (await service.send_test(self.deps, session, webhook_id)).id)

    async def delivery(self, request: Request) -> Response:
        """While it is pending, the page requests the part again that can change."""
        session = await self.auth.session(request)
        webhook_id, delivery_id = await _ids(request)
        webhook, delivery, exchange = await service.find_delivery(self.deps, session, webhook_id, delivery_id)
        name = "_attempts" if "hx-request" in request.headers else "delivery"
        formatted = json.dumps(json.loads(exchange.body), indent=2, ensure_ascii=False)
        return self._page(request, name, webhook=webhook, delivery=delivery, exchange=exchange, formatted=formatted)

    async def redeliver(self, request: Request) -> Response:
        session = await self._sending(request)
        webhook_id, delivery_id = await _ids(request)
        await service.redeliver(self.deps, session, webhook_id, delivery_id)
        return _to(webhook_id, delivery_id)

    async def ask_to_delete(self, request: Request) -> Response:
        return self._page(request, "delete", webhook=await self._find(request))

    async def delete(self, request: Request) -> Response:
        session = await self.auth.session(request)
        await service.delete(self.deps, session, await path_id(request.path_params["id"]))
        return RedirectResponse("/webhooks?deleted=1", 303)

    async def _sending(self, request: Request) -> Session:
        """The session, if it may send deliveries now."""
        session = await self.auth.session(request)
        self.auth.require_active_plan(session)
        await self.auth.limit_expensive(session, "delivery")
        return session

    async def _find(self, request: Request) -> Webhook:
        session = await self.auth.session(request)
        return await service.find(self.deps, session, await path_id(request.path_params["id"]))

    def _page(self, request: Request, name: str, status: int = 200, **context: Any) -> Response:
        shared = {"events": _EVENTS, "test_event": TEST, "statuses": _STATUSES, "most_attempts": MAX_ATTEMPTS}
        return self.views.page(request, f"webhooks/{name}.html", status=status, **shared | context)


@cache
def snippets() -> dict[str, str]:
    """By language, the code that verifies a signature; docs/webhooks.md shows the same."""
    folder = files("waypost.resources.webhooks") / "snippets"
    return {language: (folder / name).read_text() for language, name in _LANGUAGES.items()}


async def _ids(request: Request) -> tuple[UUID, UUID]:
    return await path_id(request.path_params["id"]), await path_id(request.path_params["delivery"])


def _read_filters(request: Request) -> DeliveryFilter:
    """Unknown values do not filter."""
    query = read_query(request)
    status, event = query.get("status"), query.get("event")
    is_event = event in {*_EVENTS, TEST}
    return DeliveryFilter(cast("DeliveryStatus", status) if status in _STATUSES else None, event if is_event else None)


def _query(filters: DeliveryFilter, before: UUID | None = None) -> str:
    query = {"status": filters.status, "event": filters.event, "before": before}
    return "?" + urlencode({name: value for name, value in query.items() if value})


def _to(webhook_id: UUID, delivery_id: UUID) -> Response:
    return RedirectResponse(f"/webhooks/{webhook_id}/deliveries/{delivery_id}", 303)
