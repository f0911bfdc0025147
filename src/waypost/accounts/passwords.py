"""Passwords: argon2id off the event loop, few at once because each one fills 19 MiB and a core."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from argon2 import PasswordHasher

AT_ONCE = 2

_hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
_threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="password")  # starts no thread before the first hash


async def hash_password(text: str) -> str:
    return await asyncio.get_running_loop().run_in_executor(_threads, _hasher.hash, text)
