"""The memory of user agents: each is decided once, and nobody can fill it."""

from waypost.redirect import state
from waypost.redirect.state import BotCache


class Judge:
    def __init__(self) -> None:
        self.asked: list[bytes] = []

    def __call__(self, agent: bytes) -> bool:
        self.asked.append(agent)
        return b"Bot" in agent


def test_asks_once_for_each_user_agent() -> None:
    judge = Judge()
    bots = BotCache(judge)
    assert judge.asked == [b""]
    assert [bots[b"ABot"], bots[b"Firefox"], bots[b"ABot"], bots[b""]] == [True, False, True, False]
    assert judge.asked == [b"", b"ABot", b"Firefox"]


def test_a_flood_does_not_evict_frequent_user_agents(monkeypatch) -> None:
    monkeypatch.setattr(state, "_GENERATION_SIZE", 10)
    judge = Judge()
    bots = BotCache(judge)
    for number in range(1000):
        assert bots[b"ABot"]
        assert not bots[b"made up %d" % number]
        assert len(bots) + len(bots._old) <= 20
    assert judge.asked.count(b"ABot") == 1
    assert len(judge.asked) == 1002


def test_does_not_cache_a_long_user_agent() -> None:
    judge = Judge()
    bots = BotCache(judge)
    assert [bots[b"x" * 1022 + b"Bot"] for _ in range(3)] == [True] * 3
    assert [len(agent) for agent in judge.asked] == [0, 1025, 1025, 1025]
    assert (list(bots), bots._old) == ([b""], {})
