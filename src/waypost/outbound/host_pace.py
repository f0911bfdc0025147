"""Limits how often background requests go to the same host."""

import asyncio

INTERVAL = 1.0  # seconds
_MANY = 10_000


class HostPace:
    """Lets one request begin in each interval, of each host. For one event loop."""

    def __init__(self, interval: float = INTERVAL) -> None:
        self._interval = interval
        self._free_at: dict[str, float] = {}

    async def wait(self, host: str) -> None:
        now = asyncio.get_running_loop().time()
        if len(self._free_at) > _MANY:
            self._free_at = {host: at for host, at in self._free_at.items() if at > now}
        begins = max(now, self._free_at.get(host, now))
        self._free_at[host] = begins + self._interval
        await asyncio.sleep(begins - now)
