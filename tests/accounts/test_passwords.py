"""Passwords: verification, weak new passwords, constant cost and the queue."""

import asyncio
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from argon2 import PasswordHasher, extract_parameters

from waypost.accounts import SignInClient, hash_password
from waypost.accounts.sign_in import passwords
from waypost.kit.errors import Unavailable

VISITOR = SignInClient()
PASSWORD = "four plain words suffice"


async def test_verifies_a_password() -> None:
    stored = await hash_password(PASSWORD)
    assert await passwords.verify(PASSWORD, stored, VISITOR)
    assert not await passwords.verify(f"{PASSWORD}.", stored, VISITOR)
    assert not await passwords.verify("", stored, VISITOR)
    assert not await passwords.verify(PASSWORD, "not a hash", VISITOR)
    assert not passwords.is_outdated(stored)
    assert passwords.is_outdated(PasswordHasher(time_cost=1, memory_cost=8 * 1024, parallelism=1).hash("x"))


async def test_unicode_spellings_of_a_password_are_equal() -> None:
    assert await passwords.verify(
        "cafe\u0301 cafe\u0301 noir", await hash_password("caf\u00e9 caf\u00e9 noir"), VISITOR
    )


async def test_a_missing_hash_costs_the_same_and_never_matches() -> None:
    assert extract_parameters(passwords.DUMMY_HASH) == extract_parameters(await hash_password("x"))
    tried: list[str] = []
    real = passwords._matches
    passwords._matches = lambda text, stored: tried.append(stored) or real(text, stored)  # type: ignore[func-returns-value]
    try:
        assert not await passwords.verify("x", None, VISITOR)
    finally:
        passwords._matches = real
    assert tried == [passwords.DUMMY_HASH]


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
def test_weak_new_passwords_are_refused(password: str, *, is_refused: bool) -> None:
    assert bool(passwords.find_problem(password, "ada@example.com", "Ada Lovelace")) is is_refused


@pytest.fixture
async def held(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator["Held"]:
    with ThreadPoolExecutor(passwords.MAX_CONCURRENT) as threads:
        held = Held()
        monkeypatch.setattr(passwords, "_threads", threads)
        monkeypatch.setattr(passwords, "_matches", held.matches)
        yield held
        held.release.set()


class Held:
    """Passwords that are being compared until `release` is set."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.order: list[str] = []

    def matches(self, text: str, _: str) -> bool:
        self.order.append(text)
        return self.release.wait(60)

    async def send(self, visitor: SignInClient, text: str = "x") -> asyncio.Task[bool]:
        task = asyncio.create_task(passwords.verify(text, "stored", visitor))
        await asyncio.sleep(0)  # it is in the queue now
        return task


def unknown_client(n: int) -> SignInClient:
    return SignInClient(n.to_bytes(4))


async def test_a_flood_is_refused_instead_of_queued(held: Held) -> None:
    """Nobody waits for longer than it takes to try those that are let in."""
    let_in = range(passwords.MAX_CONCURRENT + passwords.MAX_UNKNOWN_WAITING)
    waiting = [await held.send(unknown_client(n)) for n in let_in]
    with pytest.raises(Unavailable):
        await passwords.verify("x", None, unknown_client(len(let_in)))
    waiting.append(await held.send(SignInClient(b"owner", is_known=True), "the owner's"))
    held.release.set()
    assert all(await asyncio.gather(*waiting))
    assert held.order.index("the owner's") <= 2 * passwords.MAX_CONCURRENT, (
        "known clients do not wait for the queue of unknown ones"
    )


async def test_one_client_does_not_delay_others(held: Held) -> None:
    """R14: sixty concurrent attempts of one client do not delay others or make them fail."""
    waiting = [
        await held.send(unknown_client(1)) for _ in range(passwords.MAX_CONCURRENT + passwords.MAX_WAITING_PER_CLIENT)
    ]
    with pytest.raises(Unavailable):
        await passwords.verify("x", None, unknown_client(1))
    waiting.append(await held.send(unknown_client(2), "another's"))
    held.release.set()
    assert all(await asyncio.gather(*waiting))
    assert held.order.index("another's") <= 2 * passwords.MAX_CONCURRENT
