"""Adds links without visits to their destinations."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from waypost.database import Tx
from waypost.kit.clock import now
from waypost.kit.errors import Problems
from waypost.resources.links import Link, Routes
from waypost.resources.links.aliases import Alias
from waypost.resources.links.apply import apply
from waypost.resources.links.rules import LinkPlan


@dataclass
class _Deps:
    routes: Routes = field(default_factory=lambda: Routes(lambda _: None, now))
    reserved: Collection[str] = ()


async def add_links(tx: Tx, links: Sequence[Link], aliases: Mapping[UUID, Sequence[Alias]] | None = None) -> None:
    """All are of one account. `aliases`: by link."""
    plans = [LinkPlan(None, link, aliases=(aliases or {}).get(link.id, ())) for link in links]
    await apply(_Deps(), tx, links[0].account_id, plans, Problems())
