"""Looks at a receiver before it is subscribed: does its host have addresses, and are all of them public?

Sends nothing to it. Every delivery looks again, at the address it connects to.
"""

from uuid import UUID

from waypost.kit.urls import Url
from waypost.outbound import Outbound
from waypost.outbound.turns import Allowance, Turns

PATIENCE = 10.0  # seconds of waiting for one's turn
PER_ACCOUNT = 4


class Receivers:
    def __init__(self, outbound: Outbound) -> None:
        self._outbound = outbound
        self._accounts = Turns(PER_ACCOUNT)

    async def look(self, url: Url, *, account: UUID) -> None:
        """Raises NotPublic, Unreachable; Unavailable when too many of the account's wait before it."""
        async with self._accounts.take(account, Allowance(PATIENCE)):
            await self._outbound.resolve(url)
