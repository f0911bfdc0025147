"""What a domain may have in a further table: at most one row, whose columns are the fields of a named tuple."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

from sqlalchemy import Table, select

from waypost.accounts import Caller
from waypost.context import Context
from waypost.database import Tx, upsert
from waypost.kit.errors import NotFound
from waypost.resources.domains import store
from waypost.resources.domains.model import Domain


class _NamedTuple(Protocol):
    def _asdict(self) -> dict[str, Any]: ...


T = TypeVar("T", bound=_NamedTuple)


@dataclass(frozen=True, slots=True)
class DomainDetails(Generic[T]):
    table: Table
    new: Callable[..., T]
    """Makes the named tuple. Without values, it is that of a domain without a row."""

    async def find(self, tx: Tx, domain_id: UUID) -> T:
        columns = (self.table.c[name] for name in self.new()._asdict())
        found = await tx.find(self.new, select(*columns).where(self.table.c.domain_id == domain_id))
        return self.new() if found is None else found

    async def get(self, context: Context, caller: Caller, domain_id: UUID) -> T:
        """Raises NotFound."""
        return (await self.get_with_domain(context, caller, domain_id))[1]

    async def get_with_domain(self, context: Context, caller: Caller, domain_id: UUID) -> tuple[Domain, T]:
        """Raises NotFound."""
        async with context.db.read() as tx:
            return await store.get(tx, caller.account.id, domain_id), await self.find(tx, domain_id)

    async def save(self, tx: Tx, domain_id: UUID, values: T, **others: Any) -> None:
        """Save them for a locked domain, whose host the caller publishes. `others`: further columns."""
        row = {"domain_id": domain_id, **values._asdict(), **others}
        statement = upsert(tx, self.table).values(row)
        await tx.execute(statement.on_conflict_do_update(index_elements=[self.table.c.domain_id], set_=row))

    async def add(self, tx: Tx, account_id: UUID, domain_id: UUID, values: T, **others: Any) -> str | None:
        """Save them for a domain that has none. Return its hostname, to publish, if it has them now."""
        try:
            domain = await store.get_for_update(tx, account_id, domain_id)
        except NotFound:  # deleted meanwhile
            return None
        if await self.find(tx, domain_id) != self.new():
            return None
        await self.save(tx, domain_id, values, **others)
        return domain.hostname
