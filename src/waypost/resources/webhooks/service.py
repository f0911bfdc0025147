"""Operations on subscriptions and their deliveries. Each opens its own transactions, and nothing slow runs inside."""

import secrets
from collections.abc import Mapping, Sequence
from uuid import UUID

from waypost.auth import Caller, lock_account
from waypost.database import Database
from waypost.kit.errors import Invalid, Problems
from waypost.kit.ids import new_id
from waypost.kit.pagination import MAX_PER_PAGE, Page, PageRequest
from waypost.kit.urls import BadUrl, Url, canonical
from waypost.outbound import NotPublic, Unreachable
from waypost.resources.webhooks import outbox, queue, schemas, store
from waypost.resources.webhooks.deps import Deps
from waypost.resources.webhooks.model import TEST, Delivery, DeliveryFilter, Exchange, Webhook, webhooks

MAX_WEBHOOKS = 20
"""Of an account."""
MAX_SCANNED = 5_000
"""Deliveries that are read for a page with filters."""
NOT_PUBLIC = "The URL does not lead to a public address. Use one that anybody can reach."
UNREACHABLE = "No address of the URL's host could be found. Check its spelling and its DNS records, and try again."
TOO_MANY = f"An account may have at most {MAX_WEBHOOKS} webhooks. Delete one that is not needed any more."


async def create(deps: Deps, caller: Caller, new: schemas.NewWebhook, problems: Problems) -> tuple[Webhook, str]:
    """The subscription and its secret, which is never shown again.

    `problems`: errors already found in the input. Invalid is raised with all of them.
    """
    account = caller.account.id
    new.check_required(problems)
    parsed = _parse(new.url, problems)
    async with deps.db.read() as tx:  # avoids expensive checks for one too many; the transaction of the write decides
        if await store.count(tx, account) >= MAX_WEBHOOKS:
            problems.add("url", TOO_MANY)
    url = await _check_receiver(deps, account, parsed, problems)
    now, secret = deps.clock(), f"whsec_{secrets.token_urlsafe(32)}"
    webhook = Webhook(new_id(), account, url, new.event_types or [], now, now)
    ciphertext = deps.keys.encrypt(webhooks.c.secret, webhook.id, secret)
    async with deps.db.write() as tx:
        await lock_account(tx, account)
        if await store.count(tx, account) >= MAX_WEBHOOKS:
            raise Invalid({"url": [TOO_MANY]})
        await store.add(tx, webhook, ciphertext)
    return webhook, secret


async def find(deps: Deps, caller: Caller, webhook_id: UUID) -> Webhook:
    async with deps.db.read() as tx:
        return await store.find(tx, caller.account.id, webhook_id)


async def browse(deps: Deps, caller: Caller, request: PageRequest) -> Page[Webhook]:
    async with deps.db.read() as tx:
        found, total = await store.page(tx, caller.account.id, request)
    return Page(found, total, request)


async def delete(deps: Deps, caller: Caller, webhook_id: UUID) -> None:
    """Also cancels its pending deliveries. The outcome of an attempt in progress is not saved.

    Deliveries of a deleted subscription are not claimed. If very many are pending, `retention` cancels the rest.
    """
    async with deps.db.write() as tx:
        await store.remove(tx, caller.account.id, webhook_id)
        await queue.lock(tx)
        await store.cancel(tx, webhook_id)  # after the deletion: before, another process could still record deliveries


async def browse_deliveries(
    deps: Deps, caller: Caller, webhook_id: UUID, filters: DeliveryFilter, request: PageRequest
) -> Page[Delivery]:
    async with deps.db.read() as tx:
        await store.find(tx, caller.account.id, webhook_id)
        found, total = await store.page_of_deliveries(tx, webhook_id, filters, request)
    return Page(found, total, request)


async def read_log(
    deps: Deps, caller: Caller, webhook_id: UUID, filters: DeliveryFilter, *, before: UUID | None, at_most: int
) -> tuple[list[Delivery], UUID | None]:
    """(deliveries before `before`, newest first; the `before` of the next page, if there is one)."""
    async with deps.db.read() as tx:
        await store.find(tx, caller.account.id, webhook_id)
        return await store.log_before(tx, webhook_id, filters, before, at_most=at_most, scan_at_most=MAX_SCANNED)


async def latest_deliveries(deps: Deps, found: Sequence[Webhook]) -> Mapping[UUID, Delivery]:
    """The newest delivery of each subscription that has any."""
    async with deps.db.read() as tx:
        return await store.latest(tx, [webhook.id for webhook in found])


async def find_delivery(
    deps: Deps, caller: Caller, webhook_id: UUID, delivery_id: UUID
) -> tuple[Webhook, Delivery, Exchange]:
    """With request body and answer."""
    async with deps.db.read() as tx:
        webhook = await store.find(tx, caller.account.id, webhook_id)
        delivery = await store.find_delivery(tx, webhook_id, delivery_id)
        return webhook, delivery, await store.exchange_of(tx, webhook_id, delivery_id)


async def redeliver(deps: Deps, caller: Caller, webhook_id: UUID, delivery_id: UUID) -> Delivery:
    """Send it again with the same id and body, immediately; with five new attempts if it had ended."""
    async with deps.db.write() as tx:
        await store.hold(tx, caller.account.id, webhook_id)
        await store.make_due(tx, webhook_id, delivery_id, deps.clock())
        return await store.find_delivery(tx, webhook_id, delivery_id)


async def send_test(deps: Deps, caller: Caller, webhook_id: UUID) -> Delivery:
    """Record a test delivery, whatever the subscription subscribes to."""
    async with deps.db.write() as tx:
        webhook = await store.hold(tx, caller.account.id, webhook_id)
        data = {"webhook_id": str(webhook.id)}
        event = outbox.WebhookEvent(TEST, webhook.account_id, new_id(), deps.clock(), data)
        return await store.find_delivery(tx, webhook.id, await outbox.record_for(tx, event, webhook.id))


async def export(db: Database, account_id: UUID) -> list[schemas.WebhookJson]:
    """The webhooks of an account, as the API shows them."""
    async with db.read() as tx:
        found, _ = await store.page(tx, account_id, PageRequest(1, MAX_PER_PAGE))
    return [schemas.to_json(each) for each in found]


def _parse(text: str | None, problems: Problems) -> Url | None:
    """None when it is missing or wrong."""
    if text is None:
        return None
    try:
        url = canonical(text, schemes=("https",))
    except BadUrl as fault:
        problems.add("url", str(fault))
        return None
    if len(url.text) > schemas.MAX_URL:
        problems.add("url", schemas.TOO_LONG)
        return None
    return url


async def _check_receiver(deps: Deps, account: UUID, url: Url | None, problems: Problems) -> str:
    """The URL to store. Its host is looked up only if there are no other errors. Raises Invalid with all of them."""
    if url is not None and (url.is_ip or not problems):
        try:
            await deps.receivers.check(url, account=account)
        except NotPublic:
            problems.add("url", NOT_PUBLIC)
        except Unreachable:
            problems.add("url", UNREACHABLE)
    problems.raise_if_any()
    return url.text if url else ""
