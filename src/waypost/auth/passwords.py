"""Passwords: argon2id off the event loop, few at once because each one fills 19 MiB and a core.

Refuses to let anybody tell by the time whether there is an account: where there is no hash, a fixed one is tried.
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

from waypost.auth.model import PasswordClient
from waypost.kit.fair_queue import FairQueue

T = TypeVar("T")

AT_ONCE = 2
WAITING_AT_MOST = 40  # strangers, some two seconds; beyond that a flood of guesses would keep everybody waiting
WAITING_EACH = 8  # from one client
KNOWN_WAITING = 20
LEAST, MOST = 10, 1_024  # characters
UNKNOWN_CLIENT = PasswordClient()
NOBODY_S = "$argon2id$v=19$m=19456,t=2,p=1$k52hN5sRuQpMk0Bwm6P6Gw$kybiBYwgiG5RXlp6T0plh7pBdwRA6GyNatXK+cvyVYo"
"""A hash of what nobody knows, as costly to try as all others."""

_hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
_threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="password")  # starts no thread before the first hash
_strangers = FairQueue(AT_ONCE, each=AT_ONCE, waiting=WAITING_AT_MOST, waiting_each=WAITING_EACH)
_turns = FairQueue(AT_ONCE, each=AT_ONCE, waiting=KNOWN_WAITING + AT_ONCE, waiting_each=WAITING_EACH)


def fault_of(text: str, *others: str) -> str | None:
    """What is wrong with a new password, if anything. `others`: what it may not be, such as the address."""
    if not LEAST <= len(text) <= MOST:
        return f"This must have from {LEAST} to {MOST:,} characters."
    plain = text.casefold()
    if plain in {other.casefold() for other in others} or plain in {other.partition("@")[0] for other in others}:
        return "This must not be your name or address."
    if len(set(plain)) < 4 or plain in _known():
        return "This is one of the passwords that are tried first. Choose another."
    return None


async def hash_password(text: str, visitor: PasswordClient = UNKNOWN_CLIENT) -> str:
    """Raises Unavailable when too many are being tried."""
    async with slot(visitor):
        return await _in_thread(lambda: _hasher.hash(_one_spelling(text)))


async def is_right(text: str, stored: str | None, visitor: PasswordClient = UNKNOWN_CLIENT) -> bool:
    """Takes the same time where nothing is stored. Raises Unavailable when too many are being tried."""
    async with slot(visitor):
        return await matches(text, stored)


async def matches(text: str, stored: str | None) -> bool:
    """`is_right` for who has a turn already."""
    is_same = await _in_thread(lambda: _matches(text[:MOST], stored or NOBODY_S))
    return is_same and stored is not None and len(text) <= MOST


@contextlib.asynccontextmanager
async def slot(visitor: PasswordClient) -> AsyncIterator[None]:
    """Strangers queue among themselves first, so that the known wait for no more than AT_ONCE of them.

    Raises Unavailable when too many are waiting.
    """
    if visitor.is_known:
        async with _turns.slot(visitor.client):
            yield
    else:
        async with _strangers.slot(visitor.client), _turns.slot(UNKNOWN_CLIENT):
            yield


def is_outdated(stored: str) -> bool:
    """Whether it was made by an earlier rule, so that the password should be hashed anew while it is known."""
    return _hasher.check_needs_rehash(stored)


def _matches(text: str, stored: str) -> bool:
    try:
        return _hasher.verify(stored, _one_spelling(text))
    except (VerificationError, InvalidHashError):
        return False


def _one_spelling(text: str) -> str:
    """Keyboards differ in how they write the same letter."""
    return unicodedata.normalize("NFKC", text)


async def _in_thread(work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(_threads, work)


@cache
def _known() -> frozenset[str]:
    return frozenset((files("waypost.auth") / "common_passwords" / "passwords.txt").read_text().split())
