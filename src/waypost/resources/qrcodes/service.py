"""The verbs of codes: find a code, set its style, find its target."""

from dataclasses import replace
from typing import TypeVar
from uuid import UUID

from waypost.auth import Caller
from waypost.kit.errors import NotFound, Problems
from waypost.resources.qrcodes import store
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.model import CodeTarget, QrCode, link_id_of
from waypost.resources.qrcodes.schemas import NewStyle

T = TypeVar("T")


async def find(deps: Deps, caller: Caller, link_id: UUID) -> QrCode:
    async with deps.db.point_read() as tx:
        return _found(await store.find(tx, caller.account.id, link_id))


async def set_style(deps: Deps, caller: Caller, link_id: UUID, new: NewStyle, problems: Problems) -> QrCode:
    """Fields that `new` omits get their defaults. Raises NotFound before Invalid."""
    await find(deps, caller, link_id)
    problems.raise_if_any()
    now = deps.clock()
    async with deps.db.write() as tx:
        code = _found(await store.find(tx, caller.account.id, link_id))
        await store.set_style(tx, link_id, new.code_style, now)
    return replace(code, style=new.code_style, updated_at=now)


async def find_target(deps: Deps, code_id: UUID) -> tuple[UUID, CodeTarget]:
    """The account that has the link, and where the code leads. Raises NotFound once the link is deleted."""
    async with deps.db.point_read() as tx:
        return _found(await store.find_target(tx, link_id_of(code_id)))


def _found(value: T | None) -> T:
    if value is None:
        raise NotFound
    return value
