"""Caches which user agents are bots.

Bounded in entries and bytes: a client may send a new user agent with every request.
"""

from collections.abc import Callable

_MAX_LENGTH = 1024  # bytes; longer user agents are not cached
_HALF = 4_000  # entries of a generation


class BotCache(dict[bytes, bool]):
    """`bots[user_agent]` costs one dictionary look-up for a known user agent, as nearly every visit has one.

    Two generations: a full young one becomes the old one, and a hit in the old one moves back. So a flood of invented
    user agents does not evict the real ones.
    """

    def __init__(self, is_bot: Callable[[bytes], bool]) -> None:
        super().__init__({b"": is_bot(b"")})  # the first call loads the patterns: before any visitor waits for it
        self._is_bot = is_bot
        self._old: dict[bytes, bool] = {}

    def __missing__(self, agent: bytes) -> bool:
        if len(agent) > _MAX_LENGTH:
            return self._is_bot(agent)
        known = self._old.pop(agent, None)
        if known is None:
            known = self._is_bot(agent)
        if len(self) >= _HALF:
            self._old = dict(self)
            self.clear()
        self[agent] = known
        return known
