"""Passwords: argon2id in threads, few at the same time, because each takes 19 MiB and a core.

Where there is no hash, a fixed one is verified, so that the time does not reveal whether there is an account.
"""

import asyncio
import contextlib
import unicodedata
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from waypost.auth.model import SignInClient
from waypost.kit.fair_queue import FairQueue

T = TypeVar("T")

AT_ONCE = 2
MAX_UNKNOWN_WAITING = 40  # about two seconds of work; a longer queue would let a flood of guesses delay everybody
MAX_WAITING_PER_CLIENT = 8
MAX_KNOWN_WAITING = 20
MIN_LENGTH, MAX_LENGTH = 10, 1_024  # characters
UNKNOWN_CLIENT = SignInClient()
DUMMY_HASH = "$argon2id$v=19$m=19456,t=2,p=1$k52hN5sRuQpMk0Bwm6P6Gw$kybiBYwgiG5RXlp6T0plh7pBdwRA6GyNatXK+cvyVYo"
"""Of an unknown password, as expensive to verify as any other hash."""

_hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
_threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="password")  # starts no thread before the first hash
_unknown = FairQueue(AT_ONCE, each=AT_ONCE, waiting=MAX_UNKNOWN_WAITING, waiting_each=MAX_WAITING_PER_CLIENT)
_all = FairQueue(AT_ONCE, each=AT_ONCE, waiting=MAX_KNOWN_WAITING + AT_ONCE, waiting_each=MAX_WAITING_PER_CLIENT)


def find_problem(text: str, *others: str) -> str | None:
    """Why a new password is refused, if it is. `others`: what it may not be, such as the email."""
    if not MIN_LENGTH <= len(text) <= MAX_LENGTH:
        return f"The password must have {MIN_LENGTH} to {MAX_LENGTH:,} characters."
    plain = text.casefold()
    if plain in {other.casefold() for other in others} or plain in {other.partition("@")[0] for other in others}:
        return "The password must not be your name or email."
    if len(set(plain)) < 4 or plain in _common_passwords():
        return "This password is too common. Choose another one."
    return None


async def hash_password(text: str, client: SignInClient = UNKNOWN_CLIENT) -> str:
    """Raises Unavailable when the queue is full."""
    async with slot(client):
        return await _in_thread(lambda: _hasher.hash(_normalized(text)))


async def verify(text: str, stored: str | None, client: SignInClient) -> bool:
    """Takes the same time where nothing is stored. Raises Unavailable when the queue is full."""
    async with slot(client):
        return await verify_in_slot(text, stored)


async def verify_in_slot(text: str, stored: str | None) -> bool:
    """For a caller who has a slot."""
    is_same = await _in_thread(lambda: _matches(text[:MAX_LENGTH], stored or DUMMY_HASH))
    return is_same and stored is not None and len(text) <= MAX_LENGTH


@contextlib.asynccontextmanager
async def slot(client: SignInClient) -> AsyncIterator[None]:
    """Unknown clients queue among themselves first, so that known ones wait for at most AT_ONCE of them.

    Raises Unavailable when the queue is full.
    """
    if client.is_known:
        async with _all.slot(client.id):
            yield
    else:
        async with _unknown.slot(client.id), _all.slot(UNKNOWN_CLIENT):
            yield


def is_outdated(stored: str) -> bool:
    """Whether it was hashed with other parameters, so that it should be hashed again while the password is known."""
    return _hasher.check_needs_rehash(stored)


def _matches(text: str, stored: str) -> bool:
    try:
        return _hasher.verify(stored, _normalized(text))
    except (VerificationError, InvalidHashError):
        return False


def _normalized(text: str) -> str:
    """Keyboards differ in how they encode the same letter."""
    return unicodedata.normalize("NFKC", text)


async def _in_thread(work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(_threads, work)


@cache
def _common_passwords() -> frozenset[str]:
    return frozenset((files("waypost.auth") / "common_passwords" / "passwords.txt").read_text().split())
