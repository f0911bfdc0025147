"""The IP addresses of the host that custom domains point to, for the DNS records of domains without a CNAME record."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from waypost.kit.clock import Clock
from waypost.outbound import DnsRecords
from waypost.resources.domains import names

_DEADLINE = 3.0  # seconds: a user waits for them
_MAX_AGE = timedelta(minutes=5)
_RETRY_AFTER = timedelta(seconds=10)


class TargetAddresses:
    """Looked up once in some minutes, for all requests."""

    def __init__(self, records: DnsRecords, target: str, clock: Clock) -> None:
        self._records = records
        self._target = target
        self._clock = clock
        self._lock = asyncio.Lock()
        self._addresses: Sequence[str] = ()
        self._valid_until = clock()

    async def find(self) -> Sequence[str]:
        """Return none if they cannot be found in time."""
        if names.is_address(self._target):
            return [self._target]
        async with self._lock:
            if self._clock() >= self._valid_until:
                self._addresses = await self._look_up()
                self._valid_until = self._clock() + (_MAX_AGE if self._addresses else _RETRY_AFTER)
        return self._addresses

    async def _look_up(self) -> Sequence[str]:
        try:
            async with asyncio.timeout(_DEADLINE):
                return await self._records.addresses(self._target)
        except TimeoutError:
            return ()
