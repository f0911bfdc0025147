"""Operations on webhooks and their deliveries. Each opens its own transactions, and nothing slow runs inside."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit
from uuid import UUID

from waypost import audit
from waypost.accounts import Caller, lock_account
from waypost.audit import Item
from waypost.kit.errors import Invalid, Problems
from waypost.kit.fields import MAX_URL
from waypost.kit.ids import new_id
from waypost.kit.pagination import Page, PageRequest
from waypost.kit.signing import new_secret
from waypost.kit.urls import BadUrl, Url
from waypost.outbound import NotPublic, Unreachable
from waypost.resources.webhooks import outbox, queue, schemas, store
from waypost.resources.webhooks.deps import Deps
from waypost.resources.webhooks.model import TEST, Delivery, DeliveryBodies, DeliveryFilter, Webhook, webhooks

MAX_WEBHOOKS = 20
"""Maximum per account."""
MAX_SCANNED = 5_000
"""Maximum of deliveries that are read for a page with filters."""
NOT_PUBLIC = "This URL is not on the public internet. Use a URL that is reachable from the internet."
UNREACHABLE = "The URL's host was not found in DNS. Check its spelling, and try again."
TOO_MANY = f"An account may have at most {MAX_WEBHOOKS} webhooks. Delete one that is not needed any more."


async def create(deps: Deps, caller: Caller, new: schemas.NewWebhook, problems: Problems) -> tuple[Webhook, str]:
    """Return the webhook and its secret, which is never shown again.

    `problems`: errors already found in the input. Raises Invalid with all of them.
    """
    account = caller.account.id
    new.check_required(problems)
    url = _parse(deps, new.url, problems)
    async with deps.db.read() as tx:  # avoids the expensive check; the transaction below counts again
        if await store.count(tx, account) >= MAX_WEBHOOKS:
            problems.add("url", TOO_MANY)
    text = await _check_receiver(deps, account, url, problems)
    now, secret = deps.clock(), new_secret()
    webhook = Webhook(new_id(), account, text, new.event_types or [], now, now)
    ciphertext = deps.key_ring.encrypt(webhooks.c.secret, webhook.id, secret)
    async with caller.commit(deps.db) as tx:
        await lock_account(tx, account)
        if await store.count(tx, account) >= MAX_WEBHOOKS:
            raise Invalid({"url": [TOO_MANY]})
        await store.add(tx, webhook, ciphertext)
        details = {"events": webhook.event_types}
        await audit.record(tx, caller.actor, "webhook.created", now, _item_of(webhook), details=details)
    return webhook, secret


async def get(deps: Deps, caller: Caller, webhook_id: UUID) -> Webhook:
    """Raises NotFound."""
    async with deps.db.read() as tx:
        return await store.get(tx, caller.account.id, webhook_id)


async def list_webhooks(deps: Deps, caller: Caller, request: PageRequest) -> Page[Webhook]:
    async with deps.db.read() as tx:
        webhooks_of_page, total = await store.list_page(tx, caller.account.id, request)
    return Page(webhooks_of_page, total, request)


async def delete(deps: Deps, caller: Caller, webhook_id: UUID) -> None:
    """Delete it and cancel its pending deliveries. The outcome of an attempt in progress is not saved.

    Deliveries of a deleted webhook are not claimed. If very many are pending, `retention` cancels the rest.
    """
    async with deps.db.write() as tx:
        webhook = await store.lock(tx, caller.account.id, webhook_id)
        caller.require_current(webhook)
        await store.delete_webhook(tx, caller.account.id, webhook_id)
        await queue.lock_deliveries(tx)
        await store.cancel_deliveries(tx, webhook_id)  # after the deletion: from then on, nothing records deliveries
        await audit.record(tx, caller.actor, "webhook.deleted", deps.clock(), _item_of(webhook))


async def list_deliveries(
    deps: Deps, caller: Caller, webhook_id: UUID, filters: DeliveryFilter, request: PageRequest
) -> Page[Delivery]:
    async with deps.db.read() as tx:
        await store.get(tx, caller.account.id, webhook_id)
        deliveries, total = await store.list_deliveries_page(tx, webhook_id, filters, request)
    return Page(deliveries, total, request)


async def list_deliveries_before(
    deps: Deps, caller: Caller, webhook_id: UUID, filters: DeliveryFilter, *, before: UUID | None, limit: int
) -> tuple[list[Delivery], UUID | None]:
    """Return deliveries before `before`, newest first, and the `before` of the next page if there is one."""
    async with deps.db.read() as tx:
        await store.get(tx, caller.account.id, webhook_id)
        return await store.list_deliveries_before(tx, webhook_id, filters, before, limit=limit, max_scanned=MAX_SCANNED)


async def find_newest_deliveries(
    deps: Deps, webhook_ids: Sequence[UUID], count: int
) -> Mapping[UUID, Sequence[Delivery]]:
    """Return up to `count` deliveries of each webhook, newest first."""
    async with deps.db.read() as tx:
        return await store.find_newest_deliveries(tx, webhook_ids, count)


async def get_delivery(
    deps: Deps, caller: Caller, webhook_id: UUID, delivery_id: UUID
) -> tuple[Webhook, Delivery, DeliveryBodies]:
    """Raises NotFound."""
    async with deps.db.read() as tx:
        webhook = await store.get(tx, caller.account.id, webhook_id)
        delivery = await store.get_delivery(tx, webhook_id, delivery_id)
        return webhook, delivery, await store.get_bodies(tx, webhook_id, delivery_id)


async def redeliver(deps: Deps, caller: Caller, webhook_id: UUID, delivery_id: UUID) -> Delivery:
    """Send it immediately with the same id and body. If it had ended, it gets five new attempts. Raises NotFound."""
    async with caller.commit(deps.db) as tx:
        webhook, now = await store.lock(tx, caller.account.id, webhook_id), deps.clock()
        await store.make_due(tx, webhook_id, delivery_id, now)
        delivery = await store.get_delivery(tx, webhook_id, delivery_id)
        details = {"delivery": str(delivery.id), "event": delivery.event}
        await audit.record(tx, caller.actor, "delivery.redelivered", now, _item_of(webhook), details=details)
        return delivery


async def send_test(deps: Deps, caller: Caller, webhook_id: UUID) -> Delivery:
    """Record a test delivery, whatever the webhook subscribes to. Raises NotFound."""
    async with caller.commit(deps.db) as tx:
        webhook = await store.lock(tx, caller.account.id, webhook_id)
        data, now = {"webhook_id": str(webhook.id)}, deps.clock()
        event = outbox.WebhookEvent(TEST, webhook.account_id, new_id(), now, data)
        await audit.record(tx, caller.actor, "webhook.tested", now, _item_of(webhook))
        return await store.get_delivery(tx, webhook.id, await outbox.record_for(tx, event, webhook.id))


def _item_of(webhook: Webhook) -> Item:
    """Without path and query of the URL, in which some receivers expect a secret."""
    return Item(webhook.id, urlsplit(webhook.url).netloc)


def _parse(deps: Deps, text: str | None, problems: Problems) -> Url | None:
    """Return None if it is missing or invalid."""
    if text is None:
        return None
    try:
        url = deps.receiver_checker.canonical(text)
    except BadUrl as error:
        problems.add("url", str(error))
        return None
    if len(url.text) > MAX_URL:
        problems.add("url", schemas.TOO_LONG)
        return None
    return url


async def _check_receiver(deps: Deps, account: UUID, url: Url | None, problems: Problems) -> str:
    """Return the URL to store. Looks its host up only if there are no other errors. Raises Invalid with all of them."""
    if url is not None and (url.is_ip or not problems):
        try:
            await deps.receiver_checker.check(url, account=account)
        except NotPublic:
            problems.add("url", NOT_PUBLIC)
        except Unreachable:
            problems.add("url", UNREACHABLE)
    problems.raise_if_any()
    return url.text if url else ""
