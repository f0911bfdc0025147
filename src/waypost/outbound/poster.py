"""Posts to the same few receivers over and over."""

from collections.abc import Mapping

from waypost.kit.urls import Url
from waypost.outbound.client import Answer, Outbound


class Poster:
    def __init__(self, outbound: Outbound) -> None:
        self._outbound = outbound

    async def post(
        self, url: Url, *, headers: Mapping[str, str], body: bytes, deadline: float, max_body: int
    ) -> Answer:
        """One POST and its whole answer within `deadline` seconds. Raises NotPublic, Unreachable."""
        return await self._outbound.request(
            "POST", url, headers=headers, body=body, deadline=deadline, max_body=max_body
        )

    async def close(self) -> None:
        """Ends what is kept open."""
