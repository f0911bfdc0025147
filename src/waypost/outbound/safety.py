"""Whether a URL is known to be dangerous: the operator's blocklist first, then a provider. Decides nothing else."""

from collections.abc import Sequence

from waypost.kit.urls import Url
from waypost.outbound.blocklist import Blocklist
from waypost.outbound.safe_browsing import SafeBrowsing


class Safety:
    def __init__(self, blocklist: Blocklist | None = None, provider: SafeBrowsing | None = None) -> None:
        self._blocklist = blocklist
        self._provider = provider

    async def is_unsafe(self, urls: Sequence[Url]) -> bool:
        if self._blocklist:
            for url in urls:
                if await self._blocklist.has(url):
                    return True
        return await self._provider.has(urls) if self._provider else False
