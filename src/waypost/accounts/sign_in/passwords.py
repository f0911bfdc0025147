"""Passwords: argon2id in threads, few at the same time, because each takes 19 MiB and a core.

Without a stored hash a fixed one is verified, so that the time does not reveal whether there is an account.
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

from waypost.accounts.model import SignInClient
from waypost.kit.fair_queue import FairQueue

T = TypeVar("T")

MAX_CONCURRENT = 2
MAX_UNKNOWN_WAITING = 40  # about two seconds of work; a longer queue would let a flood of guesses delay all sign-ins
MAX_WAITING_PER_CLIENT = 8
MAX_KNOWN_WAITING = 20
MIN_LENGTH, MAX_LENGTH = 10, 1_024  # characters
UNKNOWN_CLIENT = SignInClient()
DUMMY_HASH = "$argon2id$v=19$m=19456,t=2,p=1$k52hN5sRuQpMk0Bwm6P6Gw$kybiBYwgiG5RXlp6T0plh7pBdwRA6GyNatXK+cvyVYo"
"""Hash of an unknown password, as slow to verify as any other."""

_hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
_threads = ThreadPoolExecutor(MAX_CONCURRENT, thread_name_prefix="password")  # starts no thread before the first hash
_unknown = FairQueue(
    MAX_CONCURRENT, per_key=MAX_CONCURRENT, max_waiting=MAX_UNKNOWN_WAITING, max_waiting_per_key=MAX_WAITING_PER_CLIENT
)
_all = FairQueue(
    MAX_CONCURRENT,
    per_key=MAX_CONCURRENT,
    max_waiting=MAX_KNOWN_WAITING + MAX_CONCURRENT,
    max_waiting_per_key=MAX_WAITING_PER_CLIENT,
)


def find_problem(text: str, *others: str) -> str | None:
    """Return why a new password is refused, or None. `others`: texts that it must not equal, such as the email."""
    if len(text) < MIN_LENGTH:
        return f"The password must have at least {MIN_LENGTH} characters."
    if len(text) > MAX_LENGTH:
        return f"The password must have at most {MAX_LENGTH:,} characters."
    folded = text.casefold()
    if folded in {other.casefold() for other in others} or folded in {other.partition("@")[0] for other in others}:
        return "The password must not be your name or email."
    if len(set(folded)) < 4 or folded in _common_passwords():
        return "This password is too common. Choose another one."
    return None


async def hash_password(text: str, client: SignInClient = UNKNOWN_CLIENT) -> str:
    """Hash a password in a thread. Raises Unavailable if the queue is full."""
    async with slot(client):
        return await _in_thread(lambda: _hasher.hash(_normalize(text)))


async def verify(text: str, stored: str | None, client: SignInClient) -> bool:
    """Verify a password; as slow if nothing is stored. Raises Unavailable if the queue is full."""
    async with slot(client):
        return await verify_in_slot(text, stored)


async def verify_in_slot(text: str, stored: str | None) -> bool:
    """Verify a password like `verify`, for a caller that has a slot."""
    is_match = await _in_thread(lambda: _matches(text[:MAX_LENGTH], stored or DUMMY_HASH))
    return is_match and stored is not None and len(text) <= MAX_LENGTH


@contextlib.asynccontextmanager
async def slot(client: SignInClient) -> AsyncIterator[None]:
    """Wait for one of the slots. At most MAX_CONCURRENT unknown clients are in the queue of known ones.

    Raises Unavailable if the queue is full.
    """
    if client.is_known:
        async with _all.slot(client.id):
            yield
    else:
        async with _unknown.slot(client.id), _all.slot(UNKNOWN_CLIENT):
            yield


def is_outdated(stored: str) -> bool:
    """Whether the hash has other parameters, so that the password should be hashed again."""
    return _hasher.check_needs_rehash(stored)


def _matches(text: str, stored: str) -> bool:
    try:
        return _hasher.verify(stored, _normalize(text))
    except (VerificationError, InvalidHashError):
        return False


def _normalize(text: str) -> str:
    """Normalize the encoding of letters, which differs among keyboards."""
    return unicodedata.normalize("NFKC", text)


async def _in_thread(work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(_threads, work)


@cache
def _common_passwords() -> frozenset[str]:
    return frozenset((files("waypost.accounts.sign_in") / "common_passwords" / "passwords.txt").read_text().split())
