"""Passwords: what is right, what is refused as new, and that nobody's takes as long as somebody's."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from argon2 import PasswordHasher, extract_parameters

from waypost.accounts import hash_password, passwords
from waypost.kit.errors import Unavailable

PASSWORD = "four plain words suffice"


async def test_it_works() -> None:
    stored = await hash_password(PASSWORD)
    assert await passwords.is_right(PASSWORD, stored)
    assert not await passwords.is_right(f"{PASSWORD}.", stored)
    assert not await passwords.is_right("", stored)
    assert not await passwords.is_right(PASSWORD, "not a hash")
    assert not passwords.is_outdated(stored)
    assert passwords.is_outdated(PasswordHasher(time_cost=1, memory_cost=8 * 1024, parallelism=1).hash("x"))


async def test_one_that_is_written_in_another_way_is_the_same() -> None:
    assert await passwords.is_right("cafe\u0301 cafe\u0301 noir", await hash_password("caf\u00e9 caf\u00e9 noir"))


async def test_nobody_s_is_as_costly_as_anybody_s_and_never_right() -> None:
    assert extract_parameters(passwords.NOBODY_S) == extract_parameters(await hash_password("x"))
    tried: list[str] = []
    real = passwords._matches
    passwords._matches = lambda text, stored: tried.append(stored) or real(text, stored)  # type: ignore[func-returns-value]
    try:
        assert not await passwords.is_right("x", None)
    finally:
        passwords._matches = real
    assert tried == [passwords.NOBODY_S]


@pytest.mark.parametrize(
    ("password", "is_refused"),
    [
        (PASSWORD, False),
        ("x" * 9, True),
        ("short", True),
        ("abcdefghij" * 103, True),
        ("1q2w3e4r5t", True),
        ("Password123", True),
        ("abababababab", True),
        ("ada@example.com", True),
        ("ADA@example.com", True),
        ("Ada Lovelace", True),
        ("ada.lovelace", False),
    ],
)
def test_new_ones_that_would_be_guessed_are_refused(password: str, *, is_refused: bool) -> None:
    assert bool(passwords.fault_of(password, "ada@example.com", "Ada Lovelace")) is is_refused


async def test_a_flood_is_refused_instead_of_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for longer than it takes to try those that are let in."""
    loop, begun, door = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def matches(*_: str) -> bool:
        loop.call_soon_threadsafe(begun.set)
        return door.wait(60)

    with ThreadPoolExecutor(1) as threads:
        monkeypatch.setattr(passwords, "_threads", threads)
        monkeypatch.setattr(passwords, "_matches", matches)
        waiting = [asyncio.ensure_future(passwords.is_right("x", "stored"))]
        await begun.wait()
        waiting += [asyncio.ensure_future(passwords.is_right("x", None)) for _ in range(passwords.WAITING_AT_MOST)]
        await asyncio.sleep(0)  # each is in the queue now
        with pytest.raises(Unavailable):
            await passwords.is_right("x", None)
        waiting.append(asyncio.ensure_future(passwords.is_right("x", "stored", is_known=True)))  # was here before
        await asyncio.sleep(0)
        door.set()
        assert await asyncio.gather(*waiting) == [True, *[False] * passwords.WAITING_AT_MOST, True]
