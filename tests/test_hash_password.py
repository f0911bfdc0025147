import asyncio

from argon2 import PasswordHasher, extract_parameters
from argon2.low_level import Type

from waypost.accounts import hash_password


async def test_hashes_with_argon2id() -> None:
    first, second = await asyncio.gather(hash_password("correct horse"), hash_password("correct horse"))
    assert first != second
    assert PasswordHasher().verify(first, "correct horse")


async def test_hashes_with_the_required_cost() -> None:
    parameters = extract_parameters(await hash_password("x"))
    assert parameters.type is Type.ID
    assert parameters.memory_cost >= 19 * 1024
    assert parameters.time_cost >= 2
