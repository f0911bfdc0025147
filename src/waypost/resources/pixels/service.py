"""Operations on pixels. Each opens its own transaction, and nothing slow runs inside."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from waypost.auth import Caller, lock_account
from waypost.database import Ciphertext, Database
from waypost.kit.errors import Invalid, Problems
from waypost.kit.ids import new_id
from waypost.kit.pagination import Page, PageRequest
from waypost.resources.pixels import store
from waypost.resources.pixels.deps import Deps
from waypost.resources.pixels.events.model import EventResults, find_results
from waypost.resources.pixels.model import Pixel, pixels
from waypost.resources.pixels.schemas import NewPixel, PixelChange, PixelFields, PixelJson, to_json

MAX_PIXELS = 200
"""Of an account."""
DETACHED_AT_ONCE = 2_000
COUNTED_TO = 1_000
REQUIRED = "This field is required."
NOT_NULL = "This may not be null."
TOO_MANY = f"An account may have at most {MAX_PIXELS} pixels. Delete one that is not needed any more."

_NEVER_NULL = ("platform", "name", "pixel_id")
_SECRETS = ("pixel_id", "access_token")
_FIRED = frozenset({"platform", "pixel_id"})


async def create(deps: Deps, caller: Caller, new: NewPixel, problems: Problems) -> Pixel:
    """`problems`: errors already found in the input. Invalid is raised with all of them."""
    account = caller.account.id
    for name in _NEVER_NULL:
        if getattr(new, name) is None and name not in problems:
            problems.add(name, REQUIRED)
    if problems:  # reported together; without others, the transaction of the write decides
        async with deps.db.read() as tx:
            if await store.count(tx, account) >= MAX_PIXELS:
                problems.add("name", TOO_MANY)
    if problems or new.platform is None or new.name is None:
        raise Invalid(problems.errors)
    now = deps.clock()
    pixel = Pixel(new_id(), account, new.platform, new.name, now, now)
    secrets = {name: _encrypted(deps, pixel.id, name, new) for name in _SECRETS}
    async with deps.db.write() as tx:
        await lock_account(tx, account)
        if await store.count(tx, account) >= MAX_PIXELS:
            raise Invalid({"name": [TOO_MANY]})
        await store.add(tx, pixel, secrets)
    return pixel


async def change(deps: Deps, caller: Caller, pixel_id: UUID, requested: PixelChange, problems: Problems) -> Pixel:
    """Fields that are not sent do not change. Raises NotFound before it validates the input.

    A secret that is sent counts as changed: a comparison would have to decrypt the stored one.
    """
    await find(deps, caller, pixel_id)
    sent = requested.model_fields_set
    for name in _NEVER_NULL:
        if name in sent and getattr(requested, name) is None:
            problems.add(name, NOT_NULL)
    problems.raise_if_any()
    secrets = {name: _encrypted(deps, pixel_id, name, requested) for name in _SECRETS if name in sent}
    async with deps.db.write() as tx:
        before = await store.find_for_change(tx, caller.account.id, pixel_id)
        after = replace(before, platform=requested.platform or before.platform, name=requested.name or before.name)
        if after == before and not secrets:
            return before
        if after.platform != before.platform:  # one platform's token must not go to another
            secrets.setdefault("access_token", None)
        after = replace(after, updated_at=deps.clock())
        await store.save(tx, after, secrets)
        notify = await deps.invalidate_pixel(tx, pixel_id) if _FIRED & sent else None
    if notify:
        notify()
    return after


async def delete(deps: Deps, caller: Caller, pixel_id: UUID) -> None:
    """The first commit removes it from all links; the rows that attached it are deleted in short transactions."""
    async with deps.db.write() as tx:
        await store.find_for_change(tx, caller.account.id, pixel_id)
        notify = await deps.invalidate_pixel(tx, pixel_id)
        await store.remove(tx, pixel_id)
        is_more_left = await store.detach(tx, pixel_id, DETACHED_AT_ONCE)
    notify()
    while is_more_left:
        async with deps.db.write() as tx:
            is_more_left = await store.detach(tx, pixel_id, DETACHED_AT_ONCE)


async def find(deps: Deps, caller: Caller, pixel_id: UUID) -> Pixel:
    async with deps.db.read() as tx:
        return await store.find(tx, caller.account.id, pixel_id)


async def results(deps: Deps, caller: Caller, pixel_id: UUID) -> EventResults:
    """Of its server-side events."""
    async with deps.db.read() as tx:
        await store.find(tx, caller.account.id, pixel_id)
        return await find_results(tx, pixel_id)


async def browse(deps: Deps, caller: Caller, request: PageRequest) -> Page[Pixel]:
    async with deps.db.read() as tx:
        found, total = await store.page(tx, caller.account.id, request)
    return Page(found, total, request)


async def count_links(deps: Deps, found: Sequence[Pixel]) -> Mapping[UUID, int]:
    """The number of links that each pixel is attached to, at most COUNTED_TO + 1."""
    async with deps.db.read() as tx:
        return await store.links_counts(tx, [pixel.id for pixel in found], COUNTED_TO + 1)


async def export(db: Database, account_id: UUID) -> list[PixelJson]:
    """The pixels of an account, as the API shows them."""
    async with db.read() as tx:
        found, _ = await store.page(tx, account_id, PageRequest(1, MAX_PIXELS))
    return [to_json(each) for each in found]


async def delete_all_for(db: Database, account_id: UUID) -> None:
    """All at once: they are few."""
    async with db.write() as tx:
        await store.remove_all(tx, account_id)


def _encrypted(deps: Deps, pixel_id: UUID, name: str, fields: PixelFields) -> Ciphertext | None:
    text = getattr(fields, name)
    return None if text is None else deps.keys.encrypt(pixels.c[name], pixel_id, text)
