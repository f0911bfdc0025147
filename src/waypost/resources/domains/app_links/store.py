"""SQL of app links."""

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import bindparam, delete, select

from waypost.database import Database, Tx
from waypost.kit.ids import new_id
from waypost.redirect.route import APPLE_PATH, GOOGLE_PATH
from waypost.resources.domains.app_links.model import AppLinksTexts, domain_app_links
from waypost.resources.domains.details import DomainDetails
from waypost.resources.domains.model import domains

APP_LINKS = DomainDetails(domain_app_links, AppLinksTexts)
_FIND_OF_HOST = (
    select(*(domain_app_links.c[name] for name in AppLinksTexts._fields))
    .join(domains, domains.c.id == domain_app_links.c.domain_id)
    .where(domains.c.hostname == bindparam("hostname"), domains.c.is_served)
)


async def save(tx: Tx, domain_id: UUID, texts: AppLinksTexts) -> None:
    """Replace the documents of a locked domain, whose host the caller publishes."""
    if not any(texts):
        await tx.execute(delete(domain_app_links).where(domain_app_links.c.domain_id == domain_id))
        return
    await APP_LINKS.save(tx, domain_id, texts, version=new_id())


async def find_app_links(db: Database, host: bytes) -> Mapping[bytes, bytes]:
    """Return the documents of a served host by path, for redirects. Raises Unavailable."""
    async with db.point_read() as tx:
        row = (await tx.execute(_FIND_OF_HOST, {"hostname": host.decode("ascii")})).one_or_none()
    texts = zip((APPLE_PATH, GOOGLE_PATH), row or (), strict=False)
    return {path: text.encode() for path, text in texts if text is not None}
