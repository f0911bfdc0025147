"""SQL of the appearance of domains."""

from sqlalchemy import bindparam, select

from waypost.database import Database
from waypost.kit.colors import contrast
from waypost.redirect import Appearance
from waypost.redirect.route import LOGO_PATH
from waypost.resources.domains.appearance.model import DomainAppearance, domain_appearances
from waypost.resources.domains.details import DomainDetails
from waypost.resources.domains.logos.model import logos
from waypost.resources.domains.model import domains

APPEARANCES = DomainDetails(domain_appearances, DomainAppearance)
_COLUMNS = tuple(domain_appearances.c[name] for name in DomainAppearance._fields)
_OF_HOST = domains.c.hostname == bindparam("hostname"), domains.c.is_served
_FIND_OF_HOST = (
    select(*_COLUMNS, logos.c.name.label("logo"), logos.c.width, logos.c.height, logos.c.color.label("logo_color"))
    .select_from(domains)
    .outerjoin(domain_appearances, domains.c.id == domain_appearances.c.domain_id)
    .outerjoin(logos, domains.c.id == logos.c.owner_id)
    .where(*_OF_HOST)
)
_FIND_LOGO = select(logos.c.content).join(domains, domains.c.id == logos.c.owner_id).where(*_OF_HOST)
_LIGHT = 2.0
"""The contrast with white below which a logo counts as light."""


async def find_appearance(db: Database, host: bytes) -> Appearance:
    """Return that of a served host, for redirects. Raises Unavailable."""
    async with db.point_read() as tx:
        row = (await tx.execute(_FIND_OF_HOST, {"hostname": host.decode("ascii")})).one_or_none()
    if row is None:
        return Appearance()
    *values, name, width, height, color = row
    appearance = DomainAppearance(*values).of_pages
    return with_logo(appearance, f"/{LOGO_PATH.decode()}?{name[:8]}", width, height, color) if name else appearance


def with_logo(appearance: Appearance, url: str, width: int, height: int, color: str | None) -> Appearance:
    """`color`: of the logo, None if it has a background."""
    is_light = color is not None and contrast(color, "#ffffff") < _LIGHT
    return appearance._replace(logo_url=url, logo_width=width, logo_height=height, is_logo_light=is_light)


async def find_logo(db: Database, host: bytes) -> bytes:
    """Return the logo of a served host, for redirects. Empty if there is none. Raises Unavailable."""
    async with db.point_read() as tx:
        row = (await tx.execute(_FIND_LOGO, {"hostname": host.decode("ascii")})).one_or_none()
    return bytes(row.content) if row else b""
