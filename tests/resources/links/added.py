"""Adds links without visits to their destinations."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import cast
from uuid import UUID

from waypost.context import Context
from waypost.database import Tx
from waypost.kit.clock import now
from waypost.kit.errors import Problems
from waypost.kit.slug_style import DEFAULT_SLUGS
from waypost.resources.links import Link, Routes
from waypost.resources.links.aliases import Alias
from waypost.resources.links.apply import apply
from waypost.resources.links.rules import LinkPlan

_CONTEXT = cast(
    Context,
    SimpleNamespace(routes=Routes(lambda _: None, now), reserved=frozenset(), clock=now, slug_style=DEFAULT_SLUGS),
)


async def add_links(tx: Tx, links: Sequence[Link], aliases: Mapping[UUID, Sequence[Alias]] | None = None) -> None:
    """All are of one account. `aliases`: by link."""
    plans = [LinkPlan(None, link, aliases=(aliases or {}).get(link.id, ())) for link in links]
    await apply(_CONTEXT, tx, links[0].account_id, plans, Problems())
