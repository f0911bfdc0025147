"""The statements on codes: a link, and beside it what there is of its code."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, func, select, text

from waypost.database import Id, Instant, PointRead, Tx
from waypost.resources.links.model import ALIVE, HOSTNAME, links
from waypost.resources.qrcodes.model import CodeTarget, QrCode, qr_looks, qr_scans
from waypost.resources.qrcodes.style import CodeStyle

_LINK, _LOOK = slice(4), slice(4, 10)
_ONE = (
    select(
        *(links.c.id, HOSTNAME, links.c.slug, links.c.created_at),
        *(qr_looks.c[name] for name in CodeStyle.__dataclass_fields__),
        *(qr_looks.c.updated_at, func.coalesce(qr_scans.c.scans, 0)),
    )
    .select_from(links)
    .outerjoin(qr_looks, qr_looks.c.link_id == links.c.id)
    .outerjoin(qr_scans, qr_scans.c.link_id == links.c.id)
    .where(links.c.id == bindparam("link_id"), links.c.account_id == bindparam("account_id"), ALIVE)
)
_TARGET = select(links.c.account_id, HOSTNAME, links.c.slug).where(links.c.id == bindparam("link_id"), ALIVE)

_NAMES = ("link_id", *CodeStyle.__dataclass_fields__, "updated_at")
_SET = text(
    f"INSERT INTO qr_looks ({', '.join(_NAMES)}) VALUES ({', '.join(f':{name}' for name in _NAMES)})"  # noqa: S608
    f" ON CONFLICT (link_id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _NAMES[1:])}"
).bindparams(bindparam("link_id", type_=Id), bindparam("updated_at", type_=Instant))


async def find(tx: Tx | PointRead, account_id: UUID, link_id: UUID) -> QrCode | None:
    """The code of a link that is there."""
    row = (await tx.execute(_ONE, {"link_id": link_id, "account_id": account_id})).one_or_none()
    return None if row is None else _code(row)


async def target(tx: Tx | PointRead, link_id: UUID) -> tuple[UUID, CodeTarget] | None:
    """The account that has the link, and where its code leads."""
    row = (await tx.execute(_TARGET, {"link_id": link_id})).one_or_none()
    return None if row is None else (row[0], CodeTarget(*row[1:]))


async def set_style(tx: Tx, link_id: UUID, style: CodeStyle, at: datetime) -> None:
    await tx.execute(_SET, {"link_id": link_id, "updated_at": at} | asdict(style))


def _code(row: Sequence[Any]) -> QrCode:
    link_id, hostname, slug, created_at = row[_LINK]
    *_, updated_at, scans = row
    style = CodeStyle(*row[_LOOK]) if updated_at else CodeStyle()
    return QrCode(link_id, CodeTarget(hostname, slug), style, scans, created_at, updated_at or created_at)
