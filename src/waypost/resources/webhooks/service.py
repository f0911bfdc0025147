"""The verbs of subscriptions and of their deliveries' log. Each opens its own transaction; nothing slow is inside."""

import secrets
from collections.abc import Mapping, Sequence
from typing import TypeVar
from uuid import UUID

from waypost.auth import Caller, lock_account
from waypost.kit.errors import Invalid, NotFound, Problems
from waypost.kit.ids import new_id
from waypost.kit.pagination import Page, PageRequest
from waypost.kit.urls import BadUrl, Url, canonical
from waypost.outbound import NotPublic, Unreachable
from waypost.resources.webhooks import outbox, store
from waypost.resources.webhooks.delivery import queue
from waypost.resources.webhooks.deps import Deps
from waypost.resources.webhooks.model import TEST, Delivery, Exchange, Webhook, webhooks
from waypost.resources.webhooks.schemas import MAX_URL, TOO_LONG, NewWebhook
from waypost.resources.webhooks.store import DeliveryFilter

MOST = 20
"""Subscriptions of an account."""
LOOKED_THROUGH = 5_000
"""Deliveries, for a page of those that fit filters."""
REQUIRED = "This field is required."
NOT_PUBLIC = "The URL does not lead to a public address. Use one that anybody can reach."
UNREACHABLE = "No address of the URL's host could be found. Check its spelling and its DNS records, and try again."
TOO_MANY = f"An account may have at most {MOST} webhooks. Delete one that is not needed any more."

T = TypeVar("T")


async def create(deps: Deps, caller: Caller, new: NewWebhook, problems: Problems) -> tuple[Webhook, str]:
    """The subscription and its secret, which nothing shows again.

    `problems`: the faults already found in the input; Invalid is raised with these and all others together.
    """
    account = caller.account.id
    for name in ("url", "event_types"):
        if getattr(new, name) is None and name not in problems:
            problems.add(name, REQUIRED)
    read = _read(new.url, problems)
    await _there_is_room(deps, account, problems)
    url = await _looked_at(deps, account, read, problems)
    now, secret = deps.clock(), f"whsec_{secrets.token_urlsafe(32)}"
    webhook = Webhook(new_id(), account, url, new.event_types or [], now, now)
    sealed = deps.keys.seal(webhooks.c.secret, webhook.id, secret)
    async with deps.db.write() as tx:
        await lock_account(tx, account)
        if await store.count(tx, account) >= MOST:
            raise Invalid({"url": [TOO_MANY]})
        await store.add(tx, webhook, sealed)
    return webhook, secret


async def find(deps: Deps, caller: Caller, webhook_id: UUID) -> Webhook:
    async with deps.db.read() as tx:
        return _there(await store.find(tx, caller.account.id, webhook_id))


async def browse(deps: Deps, caller: Caller, request: PageRequest) -> Page[Webhook]:
    async with deps.db.read() as tx:
        found, total = await store.page(tx, caller.account.id, request)
    return Page(found, total, request)


async def delete(deps: Deps, caller: Caller, webhook_id: UUID) -> None:
    """What is pending is cancelled with it; what comes of an attempt under way is not noted.

    Of a subscription that is gone nothing is claimed; where very many are pending, `leftovers` cancels the rest.
    """
    async with deps.db.write() as tx:
        if not await store.remove(tx, caller.account.id, webhook_id):
            raise NotFound
        await queue.lock(tx)
        await store.cancel(tx, webhook_id)  # only now: until it was gone, somebody could still record for it


async def browse_deliveries(
    deps: Deps, caller: Caller, webhook_id: UUID, wanted: DeliveryFilter, request: PageRequest
) -> Page[Delivery]:
    async with deps.db.read() as tx:
        _there(await store.find(tx, caller.account.id, webhook_id))
        found, total = await store.page_of_deliveries(tx, webhook_id, wanted, request)
    return Page(found, total, request)


async def read_log(
    deps: Deps, caller: Caller, webhook_id: UUID, wanted: DeliveryFilter, *, before: UUID | None, at_most: int
) -> tuple[list[Delivery], UUID | None]:
    """(deliveries before `before`, newest first; where the next page begins, if there is one), however long the log."""
    async with deps.db.read() as tx:
        _there(await store.find(tx, caller.account.id, webhook_id))
        return await store.log_before(tx, webhook_id, wanted, before, at_most=at_most, among=LOOKED_THROUGH)


async def latest_deliveries(deps: Deps, found: Sequence[Webhook]) -> Mapping[UUID, Delivery]:
    """Of each of the caller's subscriptions the newest, if there is one."""
    async with deps.db.read() as tx:
        return await store.latest(tx, [webhook.id for webhook in found])


async def find_delivery(
    deps: Deps, caller: Caller, webhook_id: UUID, delivery_id: UUID
) -> tuple[Webhook, Delivery, Exchange]:
    """With what was sent and answered."""
    async with deps.db.read() as tx:
        webhook = _there(await store.find(tx, caller.account.id, webhook_id))
        delivery = _there(await store.find_delivery(tx, webhook_id, delivery_id))
        return webhook, delivery, _there(await store.exchange_of(tx, webhook_id, delivery_id))


async def redeliver(deps: Deps, caller: Caller, webhook_id: UUID, delivery_id: UUID) -> Delivery:
    """The same id and body once more, and at once; five attempts again if it had ended."""
    async with deps.db.write() as tx:
        _there(await store.hold(tx, caller.account.id, webhook_id))
        await store.make_due(tx, webhook_id, delivery_id, deps.clock())
        return _there(await store.find_delivery(tx, webhook_id, delivery_id))


async def ask_for_test(deps: Deps, caller: Caller, webhook_id: UUID) -> Delivery:
    """A delivery that tells of nothing but the subscription itself, whatever it listens to."""
    async with deps.db.write() as tx:
        webhook = _there(await store.hold(tx, caller.account.id, webhook_id))
        data = {"webhook_id": str(webhook.id)}
        event = outbox.WebhookEvent(TEST, webhook.account_id, new_id(), deps.clock(), data)
        return _there(await store.find_delivery(tx, webhook.id, await outbox.record_for(tx, event, webhook.id)))


def _there(found: T | None) -> T:
    if found is None:
        raise NotFound
    return found


def _read(text: str | None, problems: Problems) -> Url | None:
    """None when it is not sent or wrong."""
    if text is None:
        return None
    try:
        url = canonical(text, schemes=("https",))
    except BadUrl as fault:
        problems.add("url", str(fault))
        return None
    if len(url.text) > MAX_URL:
        problems.add("url", TOO_LONG)
        return None
    return url


async def _looked_at(deps: Deps, account: UUID, url: Url | None, problems: Problems) -> str:
    """As it is kept. A name is looked up only where nothing else is wrong. Raises Invalid with all that is."""
    if url is not None and (url.is_ip or not problems):
        try:
            await deps.receivers.look(url, account=account)
        except NotPublic:
            problems.add("url", NOT_PUBLIC)
        except Unreachable:
            problems.add("url", UNREACHABLE)
    problems.raise_if_any()
    return url.text if url else ""


async def _there_is_room(deps: Deps, account: UUID, problems: Problems) -> None:
    """Decides nothing, the write itself does: but nothing expensive is begun for one too many."""
    async with deps.db.read() as tx:
        if await store.count(tx, account) >= MOST:
            problems.add("url", TOO_MANY)
