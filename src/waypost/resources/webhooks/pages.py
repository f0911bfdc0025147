"""HTML pages of webhooks, their delivery logs, and single deliveries with request and response."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Any, cast, get_args
from urllib.parse import urlencode
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts.sessions.store import Session
from waypost.kit.errors import WaypostError
from waypost.kit.fields import parse
from waypost.kit.ids import parse_id
from waypost.outbound import in_words
from waypost.resources.webhooks import service
from waypost.resources.webhooks.deps import Deps
from waypost.resources.webhooks.model import (
    MAX_ATTEMPTS,
    TEST,
    Delivery,
    DeliveryFilter,
    DeliveryStatus,
    EventType,
    Webhook,
)
from waypost.resources.webhooks.schemas import NewWebhook
from waypost.web import read_query, require_pagination
from waypost.web.dashboard import BLANK, Form, Pages, get, is_fragment_request, post, redirect

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


class WebhookPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            get(_ALL, self.list_webhooks, "view"),
            get(f"{_ALL}/new", self.new, "webhooks.write"),
            self.form(f"{_ALL}/new", self.create, "webhooks.write", self.new),
            get(_ONE, self.show, "webhooks.write"),
            post(f"{_ONE}/test", self.send_test, "webhooks.write"),
            get(f"{_ONE}/delete", self.confirm_delete, "webhooks.write"),
            post(f"{_ONE}/delete", self.delete, "webhooks.write"),
            get(_DELIVERY, self.show_delivery, "webhooks.write"),
            post(f"{_DELIVERY}/redeliver", self.redeliver, "webhooks.write"),
        ]

    async def list_webhooks(self, request: Request) -> Response:
        session = await self._auth.require_session(request)
        page_of_25 = replace(require_pagination(request), per_page=_PER_PAGE)
        page = await service.list_webhooks(self._deps, session, page_of_25)
        latest = await service.find_latest_deliveries(self._deps, [webhook.id for webhook in page.items])
        return self._page(request, "list", page=page, latest=latest)

    async def new(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        await self._auth.require_session(request)
        return self._views.form(request, "webhooks/new.html", form, error, events=_EVENTS)

    async def create(self, request: Request, session: Session, form: Form) -> Response:
        """Show the secret in the response instead of redirecting: it is never shown again."""
        self._auth.require_active_plan(session)
        webhook, secret = await service.create(self._deps, session, *parse(NewWebhook, form.fields))
        return self._page(request, "created", 201, webhook=webhook, secret=secret, snippets=snippets())

    async def show(self, request: Request) -> Response:
        session = await self._auth.require_session(request)
        webhook = await self._get(request)
        filters, before = _read_filters(request), parse_id(request.query_params.get("before", ""))
        deliveries, next_before = await service.list_deliveries_before(
            self._deps, session, webhook.id, filters, before=before, limit=_PER_PAGE
        )
        older, newest = _query(filters, next_before) if next_before else "", _query(filters) if before else ""
        context: dict[str, Any] = {"deliveries": deliveries, "filters": filters, "older": older, "newest": newest}
        return self._page(request, "one", webhook=webhook, snippets=snippets(), **context)

    async def send_test(self, request: Request) -> Response:
        session = await self._session_that_may_send(request)
        webhook_id = self._path_id(request)
        delivery = await service.send_test(self._deps, session, webhook_id)
        return _redirect_to_delivery(webhook_id, delivery.id)

    async def show_delivery(self, request: Request) -> Response:
        """While it is pending, the page requests again the fragment that can change."""
        session = await self._auth.require_session(request)
        webhook_id, delivery_id = self._path_id(request), self._path_id(request, "delivery")
        webhook, delivery, bodies = await service.get_delivery(self._deps, session, webhook_id, delivery_id)
        name = "_attempts" if is_fragment_request(request) else "delivery"
        formatted = json.dumps(json.loads(bodies.request_body), indent=2, ensure_ascii=False)
        return self._page(request, name, webhook=webhook, delivery=delivery, bodies=bodies, formatted=formatted)

    async def redeliver(self, request: Request) -> Response:
        session = await self._session_that_may_send(request)
        webhook_id, delivery_id = self._path_id(request), self._path_id(request, "delivery")
        await service.redeliver(self._deps, session, webhook_id, delivery_id)
        return _redirect_to_delivery(webhook_id, delivery_id)

    async def confirm_delete(self, request: Request) -> Response:
        return self._page(request, "delete", webhook=await self._get(request))

    async def delete(self, request: Request) -> Response:
        session = await self._auth.require_session(request)
        await service.delete(self._deps, session, self._path_id(request))
        return redirect("/webhooks", "webhook-deleted")

    async def _session_that_may_send(self, request: Request) -> Session:
        """Raises PaymentRequired and RateLimited."""
        session = await self._auth.require_session(request)
        self._auth.require_active_plan(session)
        await self._auth.limit_expensive(session, "delivery")
        return session

    async def _get(self, request: Request) -> Webhook:
        session = await self._auth.require_session(request)
        return await service.get(self._deps, session, self._path_id(request))

    def _page(self, request: Request, name: str, status: int = 200, **context: Any) -> Response:
        shared = {
            "outcome": describe_outcome,
            "events": _EVENTS,
            "test_event": TEST,
            "statuses": _STATUSES,
            "max_attempts": MAX_ATTEMPTS,
        }
        return self._views.render_page(request, f"webhooks/{name}.html", status=status, **shared | context)


def describe_outcome(delivery: Delivery) -> str:
    """Return what the latest attempt led to, in words; nothing before the first one."""
    status = delivery.response_status
    if status:
        phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
        return f"{status} {phrase}".rstrip()
    words = in_words(delivery.error or "")
    return words[:1].upper() + words[1:]


@cache
def snippets() -> dict[str, str]:
    """Return the code that verifies a signature, by language; docs/guides/webhooks.md shows the same."""
    directory = files("waypost.resources.webhooks") / "snippets"
    return {language: (directory / name).read_text() for language, name in _LANGUAGES.items()}


def _read_filters(request: Request) -> DeliveryFilter:
    """Ignore unknown values."""
    query = read_query(request)
    status, event = query.get("status"), query.get("event")
    is_event = event in {*_EVENTS, TEST}
    return DeliveryFilter(cast("DeliveryStatus", status) if status in _STATUSES else None, event if is_event else None)


def _query(filters: DeliveryFilter, before: UUID | None = None) -> str:
    query = {"status": filters.status, "event": filters.event, "before": before}
    return "?" + urlencode({name: value for name, value in query.items() if value})


def _redirect_to_delivery(webhook_id: UUID, delivery_id: UUID) -> Response:
    return redirect(f"/webhooks/{webhook_id}/deliveries/{delivery_id}")
