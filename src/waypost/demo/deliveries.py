"""Adds webhooks to the demo's account, with deliveries that look as if they had been sent. Nothing is sent."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from waypost import accounts
from waypost.database import Tx
from waypost.demo.content import WEBHOOKS, PlannedWebhook
from waypost.kit.errors import Problems
from waypost.kit.pagination import PageRequest
from waypost.kit.urls import Url
from waypost.redirect.spool import Visit
from waypost.resources import webhooks
from waypost.resources.clicks.intake.record_events import record_events
from waypost.resources.clicks.intake.steps import IntakeSettings, build_click
from waypost.resources.clicks.model import HUMAN
from waypost.resources.links import Link
from waypost.resources.links.schemas import to_json
from waypost.resources.webhooks import service, store
from waypost.resources.webhooks.deps import Deps
from waypost.resources.webhooks.endpoint_checker import EndpointChecker
from waypost.resources.webhooks.model import MAX_ATTEMPTS, DeliveryFilter
from waypost.resources.webhooks.schemas import NewWebhook

_VISITS = 120
"""The last visits, whose events are delivered."""
_DAYS = timedelta(days=28)  # the log keeps deliveries for 30


class AnyEndpoint(EndpointChecker):
    """Accepts every host without looking it up."""

    async def check(self, url: Url, *, account: UUID) -> None:
        pass


async def add_webhooks(
    deps: Deps,
    caller: accounts.Caller,
    links: Sequence[Link],
    visits: Sequence[Visit],
    *,
    intake: IntakeSettings,
    shared_domain: str,
) -> None:
    """Add webhooks after the events of `links` and `visits`, whose deliveries are over when they commit."""
    now = deps.clock()
    created = replace(deps, clock=lambda: now - timedelta(days=75))
    ids = []
    for plan in WEBHOOKS:
        new = NewWebhook(url=plan.url, event_types=list(plan.event_types))
        webhook, _secret = await service.create(created, caller, new, Problems())
        ids.append(webhook.id)
    clicks = (build_click(visit, caller.account.id.bytes, intake) for visit in visits[-2 * _VISITS :])
    people = [click for click in clicks if click.kind == HUMAN][-_VISITS:]
    recent = [link for link in links if link.created_at > now - _DAYS]
    async with deps.db.write() as tx:
        for link in recent:
            data = to_json(link, shared_domain=shared_domain, base_url=deps.base_url, now=link.created_at)
            event = webhooks.WebhookEvent("link.created", link.account_id, link.id, link.created_at, data)
            await webhooks.record(tx, event)
        await record_events(tx, people, intake, now=now)
        for plan, webhook_id in zip(WEBHOOKS, ids, strict=True):
            await _end_deliveries(tx, plan, webhook_id)


async def _end_deliveries(tx: Tx, plan: PlannedWebhook, webhook_id: UUID) -> None:
    deliveries, _ = await store.list_deliveries_page(tx, webhook_id, DeliveryFilter(), PageRequest(1, 1_000))
    ids = [delivery.id for delivery in deliveries]
    if plan.is_failing:
        error = "answered 503: The warehouse has moved."
        await store.end_deliveries(
            tx, ids, status="failed", attempts=MAX_ATTEMPTS, response_status=503, error=error,
            response_body="The warehouse has moved.",
        )  # fmt: skip
        return
    repeated = ids[7::19]
    for some, attempts in ((repeated, 2), ([id_ for id_ in ids if id_ not in repeated], 1)):
        await store.end_deliveries(
            tx, some, status="delivered", attempts=attempts, response_status=200, error=None,
            response_body='{"received":true}',
        )  # fmt: skip
