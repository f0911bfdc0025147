"""Looks at a receiver before it is subscribed: does its host have addresses, and are all of them public?

Sends nothing to it. Every delivery looks again, at the address it connects to.
"""

from uuid import UUID

from waypost.kit.fair_queue import FairQueue
from waypost.kit.urls import Url
from waypost.outbound import Outbound

AT_ONCE = 32
PER_ACCOUNT = 4


class Receivers:
    def __init__(self, outbound: Outbound) -> None:
        self._outbound = outbound
        self._look_ups = FairQueue(AT_ONCE, each=PER_ACCOUNT)

    async def look(self, url: Url, *, account: UUID) -> None:
        """Raises NotPublic, Unreachable; Unavailable when too many of the account's wait before it."""
        async with self._look_ups.slot(account):
            await self._outbound.resolve(url)
