"""Which user agents are bots', remembered: who decides is handed in and asked about each once.

The memory is bounded in entries and in bytes, for whoever likes can send a new one with every request.
"""

from collections.abc import Callable

_LONGEST = 1024  # bytes; a longer one is decided each time anew
_HALF = 4_000  # entries of a generation


class BotCache(dict[bytes, bool]):
    """`agents[user_agent]`: one look-up in a dictionary where it is known, which is what nearly every visit costs.

    Two generations: when the young one is full it becomes the old one, and who is seen again comes back from it. So a
    flood of invented agents does not make us forget the real ones.
    """

    def __init__(self, is_bot: Callable[[bytes], bool]) -> None:
        super().__init__({b"": is_bot(b"")})  # whoever decides may have to get ready first: not while a visitor waits
        self._is_bot = is_bot
        self._old: dict[bytes, bool] = {}

    def __missing__(self, agent: bytes) -> bool:
        if len(agent) > _LONGEST:
            return self._is_bot(agent)
        known = self._old.pop(agent, None)
        if known is None:
            known = self._is_bot(agent)
        if len(self) >= _HALF:
            self._old = dict(self)
            self.clear()
        self[agent] = known
        return known
