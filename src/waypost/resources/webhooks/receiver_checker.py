"""Checks the host of a new webhook: it must have IP addresses, and all of them must be public.

Nothing is sent. Every delivery checks again the IP address that it connects to.
"""

from uuid import UUID

from waypost.kit.fair_queue import FairQueue
from waypost.kit.urls import Url
from waypost.outbound import Outbound

MAX_CONCURRENT = 32
PER_ACCOUNT = 4


class ReceiverChecker:
    def __init__(self, outbound: Outbound) -> None:
        self._outbound = outbound
        self._lookups = FairQueue(MAX_CONCURRENT, per_key=PER_ACCOUNT)

    def canonical(self, text: str) -> Url:
        """Raises BadUrl."""
        return self._outbound.canonical(text, schemes=("https",))

    async def check(self, url: Url, *, account: UUID) -> None:
        """Raises NotPublic and Unreachable, and Unavailable if too many checks of the account are queued."""
        async with self._lookups.slot(account):
            await self._outbound.resolve(url)
