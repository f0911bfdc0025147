"""Reads the codes of a file while it is made."""

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

from sqlalchemy import select

from waypost.database import Tx
from waypost.resources.domains.logos.store import read_of_link
from waypost.resources.links.store import find_own
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.model import SelectedCode, qr_styles
from waypost.resources.qrcodes.style import CodeStyle

_BATCH = 50


async def read_codes(deps: Deps, account: UUID, ids: Sequence[UUID]) -> AsyncIterator[SelectedCode]:
    """Yield the codes. Those of links that are deleted meanwhile are left out."""
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        async with deps.db.read_long() as tx:
            links, styles = await find_own(tx, account, set(batch)), await _find_styles(tx, batch)
            shown = {links[id_].domain_id for id_ in links if id_ in styles and styles[id_].logo}
            logos = {domain: await read_of_link(tx, account, domain) for domain in shown}
        for id_ in batch:
            if link := links.get(id_):
                style = styles.get(id_, CodeStyle())
                yield SelectedCode(link, style, logos[link.domain_id] if style.logo else None)


async def _find_styles(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, CodeStyle]:
    columns = [qr_styles.c[name] for name in CodeStyle.__dataclass_fields__]
    query = select(qr_styles.c.link_id, *columns).where(qr_styles.c.link_id.in_(ids))
    return {link_id: CodeStyle(*style) for link_id, *style in await tx.execute(query)}
