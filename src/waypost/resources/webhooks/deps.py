"""Dependencies of webhooks, set once by the composition root."""

from dataclasses import dataclass
from uuid import UUID

from waypost.database import Database, KeyRing
from waypost.kit.clock import Clock
from waypost.kit.fair_queue import FairQueue
from waypost.kit.urls import Url
from waypost.outbound import Outbound

AT_ONCE = 32
PER_ACCOUNT = 4


class Receivers:
    """Checks the host of a new subscription: it must have IP addresses, and all of them must be public.

    Nothing is sent. Every delivery checks again the IP address that it connects to.
    """

    def __init__(self, outbound: Outbound) -> None:
        self._outbound = outbound
        self._look_ups = FairQueue(AT_ONCE, each=PER_ACCOUNT)

    async def check(self, url: Url, *, account: UUID) -> None:
        """Raises NotPublic, Unreachable; Unavailable when too many checks of the account are queued."""
        async with self._look_ups.slot(account):
            await self._outbound.resolve(url)


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    receivers: Receivers
    keys: KeyRing
    base_url: str
    clock: Clock
