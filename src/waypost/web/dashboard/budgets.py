"""Rate limits of signed-in users, per minute."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self
from uuid import UUID

from waypost.auth import FileLimiter, Limiter
from waypost.kit.errors import RateLimited

_PAGES = 600
_EXPENSIVE = 20


@dataclass(frozen=True, slots=True)
class Budgets:
    """Per account: for all pages together, and for each kind of action that costs more than a page."""

    pages: Limiter
    expensive: Limiter

    @classmethod
    def open(cls, data_dir: Path) -> Self:
        """Shared by all processes on this machine with the same data directory."""
        run = data_dir / "run"
        pages = FileLimiter(run / "limits-pages", limit=_PAGES, slots=4_096)
        return cls(pages, FileLimiter(run / "limits-expensive", limit=_EXPENSIVE, slots=8_192))

    async def limit_page(self, account_id: UUID) -> None:
        """Raises RateLimited."""
        await _take(self.pages, account_id.bytes)

    async def limit_expensive(self, account_id: UUID, what: str) -> None:
        """Raises RateLimited."""
        await _take(self.expensive, account_id.bytes + what.encode())


async def _take(budget: Limiter, key: bytes) -> None:
    taken = await budget.take(key)
    if not taken.allowed:
        raise RateLimited(taken.retry_after)
