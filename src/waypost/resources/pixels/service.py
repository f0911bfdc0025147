"""The verbs of pixels. Each opens its own transaction; nothing slow is inside."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from waypost.auth import Caller, lock_account
from waypost.database import Sealed
from waypost.kit.errors import Invalid, NotFound, Problems
from waypost.kit.ids import new_id
from waypost.kit.pagination import Page, PageRequest
from waypost.resources.pixels import store
from waypost.resources.pixels.deps import Deps
from waypost.resources.pixels.events.results import EventResults, results_of
from waypost.resources.pixels.model import Pixel, pixels
from waypost.resources.pixels.schemas import NewPixel, PixelChange, PixelFields

MOST = 200
"""Pixels of an account."""
DETACHED_AT_ONCE = 2_000
COUNTED_TO = 1_000
REQUIRED = "This field is required."
NOT_NULL = "This may not be null."
TOO_MANY = f"An account may have at most {MOST} pixels. Delete one that is not needed any more."

_NEVER_NULL = ("platform", "name", "pixel_id")
_SECRETS = ("pixel_id", "access_token")
_FIRED = frozenset({"platform", "pixel_id"})


async def create(deps: Deps, caller: Caller, new: NewPixel, problems: Problems) -> Pixel:
    """`problems`: the faults already found in the input; Invalid is raised with these and all others together."""
    account = caller.account.id
    for name in _NEVER_NULL:
        if getattr(new, name) is None and name not in problems:
            problems.add(name, REQUIRED)
    await _there_is_room(deps, account, problems)
    if problems or new.platform is None or new.name is None:
        raise Invalid(problems.errors)
    now = deps.clock()
    pixel = Pixel(new_id(), account, new.platform, new.name, now, now)
    secrets = {name: _sealed(deps, pixel.id, name, new) for name in _SECRETS}
    async with deps.db.write() as tx:
        await lock_account(tx, account)
        if await store.count(tx, account) >= MOST:
            raise Invalid({"name": [TOO_MANY]})
        await store.add(tx, pixel, secrets)
    return pixel


async def change(deps: Deps, caller: Caller, pixel_id: UUID, wanted: PixelChange, problems: Problems) -> Pixel:
    """Fields that `wanted` does not send stay as they are. Raises NotFound before it looks at the input.

    A secret that is sent counts as changed: to compare it would be to open the one that is kept.
    """
    await find(deps, caller, pixel_id)
    sent = wanted.model_fields_set
    for name in _NEVER_NULL:
        if name in sent and getattr(wanted, name) is None:
            problems.add(name, NOT_NULL)
    problems.raise_if_any()
    secrets = {name: _sealed(deps, pixel_id, name, wanted) for name in _SECRETS if name in sent}
    async with deps.db.write() as tx:
        before = _there(await store.find_for_change(tx, caller.account.id, pixel_id))
        after = replace(before, platform=wanted.platform or before.platform, name=wanted.name or before.name)
        if after == before and not secrets:
            return before
        if after.platform != before.platform:  # one platform's token is not sent to another
            secrets.setdefault("access_token", None)
        after = replace(after, updated_at=deps.clock())
        await store.save(tx, after, secrets)
        publish = await deps.pixel_changed(tx, pixel_id) if _FIRED & sent else _nothing
    publish()
    return after


async def delete(deps: Deps, caller: Caller, pixel_id: UUID) -> None:
    """From the first commit on it is on no link; the rows that attached it then go in short transactions."""
    async with deps.db.write() as tx:
        _there(await store.find_for_change(tx, caller.account.id, pixel_id))
        publish = await deps.pixel_changed(tx, pixel_id)
        await store.remove(tx, pixel_id)
        is_more_left = await store.detach(tx, pixel_id, DETACHED_AT_ONCE)
    publish()
    while is_more_left:
        async with deps.db.write() as tx:
            is_more_left = await store.detach(tx, pixel_id, DETACHED_AT_ONCE)


async def find(deps: Deps, caller: Caller, pixel_id: UUID) -> Pixel:
    async with deps.db.read() as tx:
        return _there(await store.find(tx, caller.account.id, pixel_id))


async def results(deps: Deps, caller: Caller, pixel_id: UUID) -> EventResults:
    """What became of its server-side events."""
    async with deps.db.read() as tx:
        _there(await store.find(tx, caller.account.id, pixel_id))
        return await results_of(tx, pixel_id)


async def browse(deps: Deps, caller: Caller, request: PageRequest) -> Page[Pixel]:
    async with deps.db.read() as tx:
        found, total = await store.page(tx, caller.account.id, request)
    return Page(found, total, request)


async def count_links(deps: Deps, found: Sequence[Pixel]) -> Mapping[UUID, int]:
    """How many links each of the caller's is attached to; what is above COUNTED_TO is told as one more than that."""
    async with deps.db.read() as tx:
        return await store.links_counts(tx, [pixel.id for pixel in found], COUNTED_TO + 1)


def _there(found: Pixel | None) -> Pixel:
    if found is None:
        raise NotFound
    return found


def _sealed(deps: Deps, pixel_id: UUID, name: str, fields: PixelFields) -> Sealed | None:
    text = getattr(fields, name)
    return None if text is None else deps.keys.seal(pixels.c[name], pixel_id, text)


async def _there_is_room(deps: Deps, account: UUID, problems: Problems) -> None:
    """Only for telling it beside other faults; without other faults the write itself decides."""
    if problems:
        async with deps.db.read() as tx:
            if await store.count(tx, account) >= MOST:
                problems.add("name", TOO_MANY)


def _nothing() -> None:
    """No link fires anything else."""
