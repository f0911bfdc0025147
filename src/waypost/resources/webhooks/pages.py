"""HTML pages of webhooks, their delivery logs, and single deliveries with request and response."""

import json
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Any, cast, get_args
from urllib.parse import urlencode
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.kit.fields import parse
from waypost.kit.ids import parse_id
from waypost.outbound import in_words
from waypost.resources.webhooks import service
from waypost.resources.webhooks.deps import Deps
from waypost.resources.webhooks.model import MAX_ATTEMPTS, TEST, Delivery, DeliveryFilter, DeliveryStatus, EventType
from waypost.resources.webhooks.schemas import NewWebhook
from waypost.web import read_query
from waypost.web.dashboard import BLANK, Form, PageCall, Pages, is_fragment_request, redirect, shows

_ONE = "/webhooks/{id}"
_DELIVERY = "/webhooks/{id}/deliveries/{delivery}"
_PER_PAGE = 25
_EVENTS: Mapping[EventType, str] = {
    "link.created": "A link was created",
    "link.clicked": "A link was clicked, or its QR code scanned",
    "pixel.fired": "A pixel fired",
}
_STATUSES = tuple(status for status in get_args(DeliveryStatus) if status != "cancelled")  # their webhook is deleted
_NEWEST = 20
"""Deliveries of a webhook that its success rate is of."""
_LANGUAGES = {"Python": "python.txt", "Node.js": "node.txt", "PHP": "php.txt"}


class WebhookPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            self.get("/webhooks", shows("webhooks/list.html", self._find_all), "view"),
            self.get("/webhooks/new", self.new, "webhooks.write"),
            self.form("/webhooks/new", self.create, "webhooks.write", self.new),
            self.get(_ONE, self.show, "webhooks.write"),
            self.post(f"{_ONE}/test", self.send_test, "webhooks.write"),
            self.get(f"{_ONE}/delete", shows("webhooks/delete.html", self._find), "webhooks.write"),
            self.action(f"{_ONE}/delete", service.delete, "webhooks.write", "/webhooks", "webhook-deleted"),
            self.get(_DELIVERY, self.show_delivery, "webhooks.write"),
            self.post(f"{_DELIVERY}/redeliver", self.redeliver, "webhooks.write"),
        ]

    async def _find_all(self, call: PageCall) -> dict[str, Any]:
        page = await service.list_webhooks(self._deps, call.session, call.pagination(_PER_PAGE))
        newest = await service.find_newest_deliveries(self._deps, [webhook.id for webhook in page.items], _NEWEST)
        return {**_SHARED, "page": page, "newest": newest}

    async def new(self, call: PageCall) -> Response:
        """With URL and events of another webhook, if the query names one."""
        form, other = BLANK, parse_id(call.query("from"))
        if other:
            webhook = await service.get(self._deps, call.session, other)
            form = Form({"url": webhook.url, "event_types": list(webhook.event_types)})
        return call.render("webhooks/new.html", form, events=_EVENTS)

    async def create(self, call: PageCall) -> Response:
        """Show the secret in the response instead of redirecting: it is never shown again."""
        self._auth.require_active_plan(call.session)
        webhook, secret = await service.create(self._deps, call.session, *parse(NewWebhook, call.form.fields))
        context: dict[str, Any] = {"webhook": webhook, "secret": secret, "snippets": snippets()}
        return call.render("webhooks/created.html", status=201, **_SHARED, **context)

    async def show(self, call: PageCall) -> Response:
        webhook = await service.get(self._deps, call.session, call.id)
        filters, before = _read_filters(call.request), parse_id(call.query("before"))
        deliveries, next_before = await service.list_deliveries_before(
            self._deps, call.session, webhook.id, filters, before=before, limit=_PER_PAGE
        )
        older, first = _query(filters, next_before) if next_before else "", _query(filters) if before else ""
        newest = (await service.find_newest_deliveries(self._deps, [webhook.id], _NEWEST))[webhook.id]
        context: dict[str, Any] = {"deliveries": deliveries, "filters": filters, "older": older, "first": first}
        context["newest"] = newest
        return call.render("webhooks/one.html", webhook=webhook, snippets=snippets(), **_SHARED, **context)

    async def send_test(self, call: PageCall) -> Response:
        await self._limit(call)
        delivery = await service.send_test(self._deps, call.session, call.id)
        return _redirect_to_delivery(call.id, delivery.id)

    async def show_delivery(self, call: PageCall) -> Response:
        """While it is pending, the page requests again the fragment that can change."""
        webhook, delivery, bodies = await service.get_delivery(
            self._deps, call.session, call.id, call.path_id("delivery")
        )
        name = "_attempts" if is_fragment_request(call.request) else "delivery"
        formatted = json.dumps(json.loads(bodies.request_body), indent=2, ensure_ascii=False)
        context: dict[str, Any] = {"webhook": webhook, "delivery": delivery, "bodies": bodies, "formatted": formatted}
        return call.render(f"webhooks/{name}.html", **_SHARED, **context)

    async def redeliver(self, call: PageCall) -> Response:
        await self._limit(call)
        await service.redeliver(self._deps, call.session, call.id, call.path_id("delivery"))
        return _redirect_to_delivery(call.id, call.path_id("delivery"))

    async def _limit(self, call: PageCall) -> None:
        """Raises PaymentRequired and RateLimited."""
        self._auth.require_active_plan(call.session)
        await self._auth.limit_expensive(call.session, "delivery")

    async def _find(self, call: PageCall) -> dict[str, Any]:
        return {"webhook": await service.get(self._deps, call.session, call.id)}


def describe_outcome(delivery: Delivery) -> str:
    """Return what the latest attempt led to, in words; nothing before the first one."""
    status = delivery.response_status
    if status:
        phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
        return f"{status} {phrase}".rstrip()
    words = in_words(delivery.error or "")
    return words[:1].upper() + words[1:]


_SHARED: Mapping[str, Any] = {
    "outcome": describe_outcome,
    "events": _EVENTS,
    "test_event": TEST,
    "statuses": _STATUSES,
    "max_attempts": MAX_ATTEMPTS,
}


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
