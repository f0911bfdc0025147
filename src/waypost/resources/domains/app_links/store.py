"""SQL of app links. The caller has locked the domain, and publishes its host after a change."""

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import bindparam, delete, select

from waypost.database import Database, Tx, upsert
from waypost.kit.ids import new_id
from waypost.redirect.route import APPLE_PATH, GOOGLE_PATH
from waypost.resources.domains.app_links.model import AppLinksTexts, domain_app_links
from waypost.resources.domains.model import domains

_TEXTS = tuple(domain_app_links.c[name] for name in AppLinksTexts._fields)
_FIND_OF_HOST = (
    select(*_TEXTS)
    .join(domains, domains.c.id == domain_app_links.c.domain_id)
    .where(domains.c.hostname == bindparam("hostname"), domains.c.is_served)
)


async def find(tx: Tx, domain_id: UUID) -> AppLinksTexts:
    row = (await tx.execute(select(*_TEXTS).where(domain_app_links.c.domain_id == domain_id))).one_or_none()
    return AppLinksTexts(*row) if row else AppLinksTexts()


async def save(tx: Tx, domain_id: UUID, texts: AppLinksTexts) -> None:
    """Replace the documents of the domain."""
    if not any(texts):
        await delete_of_domain(tx, domain_id)
        return
    row = {"domain_id": domain_id, "version": new_id(), **texts._asdict()}
    statement = upsert(tx, domain_app_links).values(row)
    await tx.execute(statement.on_conflict_do_update(index_elements=[domain_app_links.c.domain_id], set_=row))


async def delete_of_domain(tx: Tx, domain_id: UUID) -> None:
    await tx.execute(delete(domain_app_links).where(domain_app_links.c.domain_id == domain_id))


async def find_app_links(db: Database, host: bytes) -> Mapping[bytes, bytes]:
    """Return the documents of a served host by path, for redirects. Raises Unavailable."""
    async with db.point_read() as tx:
        row = (await tx.execute(_FIND_OF_HOST, {"hostname": host.decode("ascii")})).one_or_none()
    texts = zip((APPLE_PATH, GOOGLE_PATH), row or (), strict=False)
    return {path: text.encode() for path, text in texts if text is not None}
