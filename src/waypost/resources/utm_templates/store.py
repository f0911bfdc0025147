"""SQL of campaign templates."""

from collections.abc import Sequence
from dataclasses import asdict
from uuid import UUID

from sqlalchemy import func, select

from waypost.database import Tx
from waypost.kit.errors import or_not_found
from waypost.kit.pagination import PageRequest
from waypost.resources.utm_templates.model import UtmTemplate, utm_templates

_TEMPLATES = select(*(utm_templates.c[name] for name in UtmTemplate.__dataclass_fields__))


async def count(tx: Tx, account_id: UUID) -> int:
    query = select(func.count()).select_from(utm_templates).where(utm_templates.c.account_id == account_id)
    return (await tx.execute(query)).scalar_one()


async def list_page(tx: Tx, account_id: UUID, request: PageRequest) -> Sequence[UtmTemplate]:
    """Return the templates of the page by name."""
    query = _TEMPLATES.where(utm_templates.c.account_id == account_id).order_by(utm_templates.c.name)
    return [UtmTemplate(*row) for row in await tx.execute(query.limit(request.per_page).offset(request.offset))]


async def get(tx: Tx, account_id: UUID, template_id: UUID) -> UtmTemplate:
    """Raises NotFound."""
    query = _TEMPLATES.where(utm_templates.c.id == template_id, utm_templates.c.account_id == account_id)
    return or_not_found(await tx.find(UtmTemplate, query))


async def is_taken(tx: Tx, account_id: UUID, name: str, *, by_other_than: UUID | None = None) -> bool:
    query = select(utm_templates.c.id).where(utm_templates.c.account_id == account_id, utm_templates.c.name == name)
    return await tx.scalar(query) not in {None, by_other_than}


async def add(tx: Tx, template: UtmTemplate) -> None:
    await tx.execute(utm_templates.insert(), asdict(template))


async def save(tx: Tx, template: UtmTemplate) -> None:
    await tx.execute(utm_templates.update().where(utm_templates.c.id == template.id), asdict(template))


async def delete(tx: Tx, template_id: UUID) -> None:
    await tx.execute(utm_templates.delete().where(utm_templates.c.id == template_id))
