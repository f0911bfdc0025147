"""The verbs of codes: find one, set its style, and find what a picture of it holds."""

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
        return _there(await store.find(tx, caller.account.id, link_id))


async def set_style(deps: Deps, caller: Caller, link_id: UUID, wanted: NewStyle, problems: Problems) -> QrCode:
    """What `wanted` does not send is the default again. Raises NotFound before it looks at the input."""
    await find(deps, caller, link_id)
    problems.raise_if_any()
    now = deps.clock()
    async with deps.db.write() as tx:
        code = _there(await store.find(tx, caller.account.id, link_id))
        await store.set_style(tx, link_id, wanted.code_style, now)
    return replace(code, style=wanted.code_style, updated_at=now)


async def target_of(deps: Deps, code: UUID) -> tuple[UUID, CodeTarget]:
    """The account that has the link, and where the code leads. Raises NotFound once the link is deleted."""
    async with deps.db.point_read() as tx:
        return _there(await store.target(tx, link_id_of(code)))


def _there(found: T | None) -> T:
    if found is None:
        raise NotFound
    return found
