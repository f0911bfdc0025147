"""What all parts of an archive's import need."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from waypost.database import Tx
from waypost.resources.imports import rules, store
from waypost.resources.imports.archive.references import References
from waypost.resources.imports.deps import Deps

SOURCE = "waypost"
Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Context:
    deps: Deps
    account_id: UUID
    references: References
    by: str
    """Who imports."""

    def key_of(self, link_id: UUID) -> UUID:
        return rules.key_of(self.account_id, SOURCE, str(link_id))

    async def find_own_ids(self, tx: Tx, ids: Iterable[UUID]) -> dict[UUID, UUID]:
        """Return the ids that links of the file have here."""
        keys = {self.key_of(id_): id_ for id_ in set(ids)}
        found = await store.find_links(tx, self.account_id, list(keys))
        return {keys[key]: link_id for key, (link_id, _) in found.items()}
