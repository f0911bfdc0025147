"""Records the events of a batch of clicks, for webhooks and the platforms of pixels, when the clicks are stored."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from uuid import UUID

from waypost.database import Database, Tx
from waypost.kit.clock import from_microseconds
from waypost.resources import links, webhooks
from waypost.resources.clicks.intake.build import IntakeSettings
from waypost.resources.clicks.intake.enrich import WebhookCounts
from waypost.resources.clicks.model import HUMAN, Click
from waypost.resources.clicks.schemas import PixelFiredJson, to_event_json
from waypost.resources.pixels import events


async def count_webhooks(db: Database, accounts: Collection[bytes]) -> Mapping[bytes, WebhookCounts]:
    """Leave out accounts without webhooks for these events."""
    ids = {UUID(bytes=account) for account in accounts}
    async with db.read() as tx:
        clicked = await webhooks.find_subscribed_webhooks(tx, "link.clicked", ids, lock=False)
        fired = await webhooks.find_subscribed_webhooks(tx, "pixel.fired", ids, lock=False)
    accounts_with_webhooks = clicked.keys() | fired.keys()
    return {
        account.bytes: WebhookCounts(len(clicked.get(account, ())), len(fired.get(account, ())))
        for account in accounts_with_webhooks
    }


async def record_events(tx: Tx, clicks: Sequence[Click], settings: IntakeSettings, *, now: datetime) -> None:
    """Leave out bots and prefetches."""
    human = [click for click in clicks if click.kind == HUMAN]
    await _record_deliveries(tx, "link.clicked", human, _click_events)
    with_pixels = [click for click in human if click.pixels]
    if with_pixels:
        await _record_deliveries(tx, "pixel.fired", with_pixels, _pixel_events)
        await _record_platform_events(tx, with_pixels, settings, now)


async def _record_deliveries(
    tx: Tx, event_type: str, clicks: Sequence[Click], new_events: Callable[[Click], Iterator[webhooks.WebhookEvent]]
) -> None:
    accounts = {UUID(bytes=account) for account in {click.account_id for click in clicks}}
    webhook_ids = await webhooks.find_subscribed_webhooks(tx, event_type, accounts)
    if webhook_ids:
        subscribed = {account.bytes for account in webhook_ids}
        recorded = (event for click in clicks if click.account_id in subscribed for event in new_events(click))
        await webhooks.record_all(tx, recorded, webhook_ids)


async def _record_platform_events(tx: Tx, clicks: Sequence[Click], settings: IntakeSettings, now: datetime) -> None:
    """Leave out deleted links: they have no URL any more."""
    with_events = await events.find_with_server_events(tx, {pixel for click in clicks for _, pixel in click.pixels})
    if not with_events:
        return
    matching = [click for click in clicks if any(pixel in with_events for _, pixel in click.pixels)]
    urls = await _urls(tx, {UUID(bytes=click.link_id) for click in matching}, settings)
    with_url = ((click, url) for click in matching if (url := urls.get(UUID(bytes=click.link_id))))
    recorded = (event for click, url in with_url for event in _platform_events(click, url, with_events))
    await events.record_all(tx, recorded, now=now)


async def _urls(tx: Tx, link_ids: Collection[UUID], settings: IntakeSettings) -> dict[UUID, str]:
    names = await links.find_names(tx, None, link_ids, shared_domain=settings.shared_domain)
    return {link: f"{settings.scheme}://{name}" for link, (name, _) in names.items()}


def _click_events(click: Click) -> Iterator[webhooks.WebhookEvent]:
    account, source = UUID(bytes=click.account_id), UUID(bytes=click.id)
    yield webhooks.WebhookEvent("link.clicked", account, source, from_microseconds(click.at), to_event_json(click))


def _pixel_events(click: Click) -> Iterator[webhooks.WebhookEvent]:
    account, at = UUID(bytes=click.account_id), from_microseconds(click.at)
    for platform, pixel in click.pixels:
        data: PixelFiredJson = {
            "pixel_id": str(pixel),
            "platform": platform,
            "link_id": str(UUID(bytes=click.link_id)),
            "visit_id": str(UUID(bytes=click.id)),
        }
        yield webhooks.WebhookEvent("pixel.fired", account, _event_id(click, pixel), at, data)


def _platform_events(click: Click, url: str, with_events: Collection[UUID]) -> Iterator[events.PixelEvent]:
    visit, seconds = str(UUID(bytes=click.id)), click.at // 1_000_000
    page_view = events.PageView(visit, seconds, url, click.ip, click.user_agent, click.referrer)
    for platform, pixel in click.pixels:
        if pixel in with_events:
            yield events.PixelEvent(_event_id(click, pixel), pixel, platform, page_view)


def _event_id(click: Click, pixel: UUID) -> UUID:
    """Return an id that starts with the click's time, as all ids do."""
    return UUID(bytes=click.id[:6] + blake2b(click.id + pixel.bytes, digest_size=10).digest())
