"""Get codes and set their style. Functions with `deps` open their own transaction."""

from dataclasses import asdict, replace
from uuid import UUID

from sqlalchemy import bindparam, func, select, text

from waypost import audit
from waypost.accounts import Caller
from waypost.audit import Item
from waypost.database import Id, Instant, Tx
from waypost.kit.errors import NotFound, Problems
from waypost.resources.links import SHORT_LINKS
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.model import CodeTarget, QrCode, link_id_of, qr_scans, qr_styles
from waypost.resources.qrcodes.schemas import NewStyle
from waypost.resources.qrcodes.style import CodeStyle

_links = SHORT_LINKS.c
_MATCH_LINK = (_links.id == bindparam("link_id")) & _links.deleted_at.is_(None)
_STYLE = tuple(CodeStyle.__dataclass_fields__)
_FIND = (
    select(
        *(_links.id, _links.hostname, _links.slug, _links.created_at),
        *(qr_styles.c[name] for name in _STYLE),
        *(qr_styles.c.updated_at, func.coalesce(qr_scans.c.scans, 0)),
    )
    .select_from(SHORT_LINKS)
    .outerjoin(qr_styles, qr_styles.c.link_id == _links.id)
    .outerjoin(qr_scans, qr_scans.c.link_id == _links.id)
    .where(_MATCH_LINK, _links.account_id == bindparam("account_id"))
)
_FIND_TARGET = select(_links.account_id, _links.hostname, _links.slug).where(_MATCH_LINK)

_COLUMNS = ("link_id", *_STYLE, "updated_at")
_SET = text(
    f"INSERT INTO qr_styles ({', '.join(_COLUMNS)}) VALUES ({', '.join(f':{name}' for name in _COLUMNS)})"  # noqa: S608
    f" ON CONFLICT (link_id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS[1:])}"
).bindparams(bindparam("link_id", type_=Id), bindparam("updated_at", type_=Instant))


async def get(deps: Deps, caller: Caller, link_id: UUID) -> QrCode:
    """Return the code of a link. Raises NotFound, also for a deleted link and for one of another account."""
    async with deps.db.point_read() as tx:
        return await _get(tx, caller, link_id)


async def set_style(deps: Deps, caller: Caller, link_id: UUID, new: NewStyle, problems: Problems) -> QrCode:
    """Set the style. Omitted fields get their defaults. Raises NotFound before Invalid."""
    await get(deps, caller, link_id)
    problems.raise_if_any()
    style, now = new.code_style, deps.clock()
    async with caller.commit(deps.db) as tx:
        code = await _get(tx, caller, link_id)
        await tx.execute(_SET, {"link_id": link_id, "updated_at": now} | asdict(style))
        if changes := audit.compare(code.style, style):
            item = Item(link_id, code.target.short_url(deps.shared_domain))
            await audit.record(tx, caller.actor, "qr_code.updated", now, item, changes=changes)
    return replace(code, style=style, updated_at=now)


async def find_target(deps: Deps, code_id: UUID) -> tuple[UUID, CodeTarget]:
    """Return the account that has the link, and the link in the code. Raises NotFound if the link is deleted."""
    async with deps.db.point_read() as tx:
        row = (await tx.execute(_FIND_TARGET, {"link_id": link_id_of(code_id)})).one_or_none()
    if row is None:
        raise NotFound
    account_id, hostname, slug = row
    return account_id, CodeTarget(hostname, slug)


async def _get(tx: Tx, caller: Caller, link_id: UUID) -> QrCode:
    row = (await tx.execute(_FIND, {"link_id": link_id, "account_id": caller.account.id})).one_or_none()
    if row is None:
        raise NotFound
    _, hostname, slug, created_at, *style, updated_at, scans = row
    code_style = CodeStyle(*style) if updated_at else CodeStyle()
    return QrCode(link_id, CodeTarget(hostname, slug), code_style, scans, created_at, updated_at or created_at)
