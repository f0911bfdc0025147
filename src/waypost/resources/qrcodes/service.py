"""Get codes and set their style. Functions with `deps` open their own transaction."""

from dataclasses import asdict, replace
from uuid import UUID

from sqlalchemy import bindparam, func, select

from waypost import accounts, audit
from waypost.database import Tx, upsert
from waypost.kit.errors import Problems, or_not_found
from waypost.resources.domains.logos import Logo
from waypost.resources.domains.logos import store as logos
from waypost.resources.links import SHORT_LINKS, lock
from waypost.resources.qrcodes import images
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.model import CodeTarget, QrCode, link_id_of, qr_scans, qr_styles
from waypost.resources.qrcodes.schemas import NewStyle
from waypost.resources.qrcodes.style import CodeStyle

NO_LOGO = "Neither the domain nor the account has a logo. Upload one first."
NO_SPACE = "The short URL is too long for a code with a logo. Use a shorter slug, or a lower level."

_links = SHORT_LINKS.c
_MATCH_LINK = (_links.id == bindparam("link_id")) & _links.deleted_at.is_(None)
_STYLE = tuple(CodeStyle.__dataclass_fields__)
_FIND = (
    select(
        *(_links.domain_id, _links.hostname, _links.slug, _links.created_at),
        *(qr_styles.c[name] for name in _STYLE),
        *(qr_styles.c.updated_at, func.coalesce(qr_scans.c.scans, 0)),
    )
    .select_from(SHORT_LINKS)
    .outerjoin(qr_styles, qr_styles.c.link_id == _links.id)
    .outerjoin(qr_scans, qr_scans.c.link_id == _links.id)
    .where(_MATCH_LINK, _links.account_id == bindparam("account_id"))
)
_FIND_TARGET = select(_links.account_id, _links.domain_id, _links.hostname, _links.slug).where(_MATCH_LINK)


async def get(deps: Deps, caller: accounts.Caller, link_id: UUID) -> QrCode:
    """Return the code of a link. Raises NotFound, also for a deleted link and for one of another account."""
    async with deps.db.point_read() as tx:
        return await _get(tx, caller, link_id)


async def set_style(deps: Deps, caller: accounts.Caller, link_id: UUID, new: NewStyle, problems: Problems) -> QrCode:
    """Set the style. Omitted fields get their defaults. Raises NotFound and PreconditionFailed before Invalid."""
    shown = await get(deps, caller, link_id)
    caller.require_current(shown)
    check_logo(deps, shown, new.code_style, problems)
    problems.raise_if_any()
    style, now = new.code_style, deps.clock()
    async with caller.commit(deps.db) as tx:
        await lock(tx, caller.account.id, link_id)
        code = await _get(tx, caller, link_id)
        caller.require_current(code)
        row = {"link_id": link_id, **asdict(style), "updated_at": now}
        statement = upsert(tx, qr_styles).values(row)
        await tx.execute(statement.on_conflict_do_update(index_elements=[qr_styles.c.link_id], set_=row))
        if changes := audit.compare(code.style, style):
            item = audit.Item(link_id, code.target.short_url(deps.shared_domain))
            await audit.record(tx, caller.actor, "qr_code.updated", now, item, changes=changes)
    return replace(code, style=style, updated_at=now)


def check_logo(deps: Deps, code: QrCode, style: CodeStyle, problems: Problems) -> None:
    """Add a problem if there is no logo to show, or it would hide too much."""
    if not style.logo or problems:
        return
    if code.logo is None:
        problems.add("logo", NO_LOGO)
        return
    size = images.new_layout(deps, code, style).logo_size
    if not size:
        problems.add("logo", NO_SPACE)
    elif size < style.logo_size:
        problems.add("logo_size", f"A logo of this size would hide too much of the code. The largest is {size}.")


async def find_target(deps: Deps, code_id: UUID, *, has_logo: bool = False) -> tuple[UUID, CodeTarget, Logo | None]:
    """Return the account that has the link, the link in the code, and its logo. Raises NotFound for a deleted link."""
    async with deps.db.point_read() as tx:
        row = (await tx.execute(_FIND_TARGET, {"link_id": link_id_of(code_id)})).one_or_none()
        account_id, domain_id, hostname, slug = or_not_found(row)
        logo = await logos.find_of_link(tx, account_id, domain_id) if has_logo else None
    return account_id, CodeTarget(hostname, slug), logo


async def _get(tx: Tx, caller: accounts.Caller, link_id: UUID) -> QrCode:
    row = (await tx.execute(_FIND, {"link_id": link_id, "account_id": caller.account.id})).one_or_none()
    domain_id, hostname, slug, created_at, *style, updated_at, scans = or_not_found(row)
    code_style = CodeStyle(*style) if updated_at else CodeStyle()
    logo = await logos.find_of_link(tx, caller.account.id, domain_id)
    return QrCode(link_id, CodeTarget(hostname, slug), code_style, logo, scans, created_at, updated_at or created_at)
