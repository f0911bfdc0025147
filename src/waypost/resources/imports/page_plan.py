"""What becomes of one page of a source. A plan that is only shown is not applied."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from waypost.database import Tx
from waypost.resources.imports.report import Cursor, PageReport


async def _prepare_nothing() -> None:
    pass


async def _apply_nothing(_: Tx) -> None:
    pass


@dataclass(slots=True)
class PagePlan:
    following: Cursor = field(default_factory=dict)
    """Where the next page begins."""
    done: PageReport = field(default_factory=PageReport)
    """What it counts and reports. `apply` adds what only it finds out."""
    prepare: Callable[[], Awaitable[None]] = _prepare_nothing
    """Does what takes long, before the transaction."""
    apply: Callable[[Tx], Awaitable[None]] = _apply_nothing
    """Raises Outdated."""
    total: int | None = None
    """How many links the source says it has."""
    hosts: Mapping[str, int] = field(default_factory=dict)
    """Number of links of each hostname of the source."""
    expected_clicks: int = 0
    """Those that are imported after the links of the page."""


class Outdated(Exception):
    """A slug or an alias was taken, or a link was changed, after the plan was made: plan again."""
