"""Create, change, delete and list pixels. Each function opens its own transaction; nothing slow runs inside."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Literal
from uuid import UUID

from waypost import audit
from waypost.accounts import Caller, lock_account
from waypost.audit import Item
from waypost.context import Context
from waypost.database import Ciphertext, DecryptionFailed
from waypost.kit.errors import Invalid, Problems
from waypost.kit.ids import new_id
from waypost.kit.pagination import Page, PageRequest
from waypost.resources.pixels import events, store
from waypost.resources.pixels.events.model import EventResults, find_results
from waypost.resources.pixels.model import Pixel, pixels
from waypost.resources.pixels.schemas import NewPixel, PixelChange, PixelFields

MAX_PIXELS = 200
"""Per account."""
MAX_COUNTED_LINKS = 1_000
TOO_MANY = f"An account may have at most {MAX_PIXELS} pixels. Delete one that is no longer needed."
BROWSER_ONLY = "Only a pixel with an access token has server-side events."

TokenState = Literal["set", "not set", "unreadable"]
"""unreadable: it was encrypted with a secret key that the service no longer has."""

_DETACH_BATCH = 2_000
_PENDING = timedelta(minutes=1)
"""For so long, the page waits for the result of a test event."""
_SECRETS = ("pixel_id", "access_token")
_FIELDS_OF_ROUTES = frozenset({"platform", "pixel_id"})


async def create(context: Context, caller: Caller, new: NewPixel, problems: Problems) -> Pixel:
    """`problems`: those already found in the input. Raises Invalid with these and all others together."""
    account = caller.account.id
    new.check_required(problems)
    if problems:  # report this one, too; otherwise the check in the transaction is enough
        async with context.db.read() as tx:
            if await store.count(tx, account) >= MAX_PIXELS:
                problems.add("name", TOO_MANY)
    if problems or new.platform is None or new.name is None:
        raise Invalid(problems.errors)
    now = context.clock()
    pixel = Pixel(new_id(), account, new.platform, new.name, now, now)
    secrets = {name: _encrypted(context, pixel.id, name, new) for name in _SECRETS}
    async with caller.commit(context.db) as tx:
        await lock_account(tx, account)
        if await store.count(tx, account) >= MAX_PIXELS:
            raise Invalid({"name": [TOO_MANY]})
        await store.add(tx, pixel, secrets)
        details = {"platform": pixel.platform}
        await audit.record(tx, caller.actor, "pixel.created", now, _item_of(pixel), details=details)
    return pixel


async def send_test(context: Context, caller: Caller, pixel_id: UUID, *, ip: str, user_agent: str) -> UUID:
    """Send a page view of the caller to the platform, and return the id of the event.

    Raises NotFound, and Invalid for a pixel without a token.
    """
    now = context.clock()
    async with caller.commit(context.db) as tx:
        pixel = await store.get(tx, caller.account.id, pixel_id)
        if not await events.find_with_server_events(tx, [pixel_id]):
            raise Invalid({"body": [BROWSER_ONLY]})
        view = events.PageView(str(new_id()), int(now.timestamp()), context.base_url, ip, user_agent, "")
        event = events.PixelEvent(new_id(), pixel_id, pixel.platform, view)
        await events.record_all(tx, [event], now=now)
        await audit.record(tx, caller.actor, "pixel.tested", now, _item_of(pixel))
    return event.id


async def is_pending(context: Context, pixel_id: UUID, event_id: UUID) -> bool:
    """Return whether the event, which was recorded just now, has no result yet."""
    async with context.db.read() as tx:
        return await events.is_pending(tx, pixel_id, event_id, since=context.clock() - _PENDING)


async def change(context: Context, caller: Caller, pixel_id: UUID, requested: PixelChange, problems: Problems) -> Pixel:
    """Fields that are not sent do not change. Raises NotFound before it validates the input.

    A secret that is sent counts as changed: a comparison would have to decrypt the stored one.
    """
    await get(context, caller, pixel_id)
    requested.check_required(problems)
    problems.raise_if_any()
    sent = requested.model_fields_set
    secrets = {name: _encrypted(context, pixel_id, name, requested) for name in _SECRETS if name in sent}
    async with context.db.write() as tx:
        before = await store.lock(tx, caller.account.id, pixel_id)
        caller.require_current(before)
        after = replace(before, platform=requested.platform or before.platform, name=requested.name or before.name)
        if after == before and not secrets:
            return before
        if after.platform != before.platform:  # one platform's token must not go to another
            secrets.setdefault("access_token", None)
        after = replace(after, updated_at=context.clock())
        await store.save(tx, after, secrets)
        changes = audit.compare(before, after, ignored=["updated_at"]) | audit.compare_secrets(secrets)
        await audit.record(tx, caller.actor, "pixel.updated", after.updated_at, _item_of(after), changes=changes)
        if _FIELDS_OF_ROUTES & sent:
            await context.routes.pixel_changed(tx, pixel_id)
    return after


async def delete(context: Context, caller: Caller, pixel_id: UUID) -> None:
    """Delete the pixel, and then the rows that attach it to links, in short transactions.

    Rows of a deleted pixel are ignored: the first commit removes it from all links.
    """
    async with context.db.write() as tx:
        pixel = await store.lock(tx, caller.account.id, pixel_id)
        caller.require_current(pixel)
        await context.routes.pixel_changed(tx, pixel_id)
        await store.delete(tx, pixel_id)
        is_more_left = await store.detach(tx, pixel_id, _DETACH_BATCH)
        await audit.record(tx, caller.actor, "pixel.deleted", context.clock(), _item_of(pixel))
    while is_more_left:
        async with context.db.write() as tx:
            is_more_left = await store.detach(tx, pixel_id, _DETACH_BATCH)


async def get(context: Context, caller: Caller, pixel_id: UUID) -> Pixel:
    async with context.db.read() as tx:
        return await store.get(tx, caller.account.id, pixel_id)


async def get_results(context: Context, caller: Caller, pixel_id: UUID) -> EventResults:
    """Return the results of the pixel's server-side events."""
    async with context.db.read() as tx:
        await store.get(tx, caller.account.id, pixel_id)
        return await find_results(tx, pixel_id)


async def check_token(context: Context, caller: Caller, pixel_id: UUID) -> TokenState:
    async with context.db.read() as tx:
        token = await store.find_token(tx, caller.account.id, pixel_id)
    try:
        return "set" if token and context.key_ring.decrypt(pixels.c.access_token, pixel_id, token) else "not set"
    except DecryptionFailed:
        return "unreadable"


async def list_pixels(context: Context, caller: Caller, request: PageRequest) -> Page[Pixel]:
    async with context.db.read() as tx:
        items, total = await store.list_page(tx, caller.account.id, request)
    return Page(items, total, request)


async def count_links_per_pixel(context: Context, pixel_ids: Sequence[UUID]) -> Mapping[UUID, int]:
    """Count the links of each pixel, up to MAX_COUNTED_LINKS + 1."""
    async with context.db.read() as tx:
        return await store.count_links_per_pixel(tx, pixel_ids, MAX_COUNTED_LINKS + 1)


def _item_of(pixel: Pixel) -> Item:
    return Item(pixel.id, pixel.name)


def _encrypted(context: Context, pixel_id: UUID, name: str, fields: PixelFields) -> Ciphertext | None:
    text = getattr(fields, name)
    return None if text is None else context.key_ring.encrypt(pixels.c[name], pixel_id, text)
