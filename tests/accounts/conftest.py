import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from argon2 import PasswordHasher
from contexts import new_context
from people import Person, new_client, new_person

from waypost.accounts.keys.api import ENDPOINTS
from waypost.accounts.sign_in import passwords
from waypost.database import Database
from waypost.kit.clock import now


@pytest.fixture(autouse=True)
def _cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth of the time. What a hash costs is tested in `test_hash_password.py`."""
    hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(passwords, "_hasher", hasher)
    monkeypatch.setattr(passwords, "DUMMY_HASH", hasher.hash("of nobody"))


@pytest.fixture
async def client(db: Database, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    context = new_context(db, now, shared_domain="go.test")
    async with new_client(db, tmp_path, (context, ENDPOINTS)) as client:
        yield client


@pytest.fixture
async def alice(db: Database) -> Person:
    return await new_person(db, "alice", plan="trial")


@pytest.fixture
async def bob(db: Database) -> Person:
    return await new_person(db, "bob", scopes=["pixels:read"])


@pytest.fixture
async def source(sqlite_template: Path, tmp_path: Path) -> AsyncIterator[Database]:
    """Another installation."""
    shutil.copy(sqlite_template, tmp_path / "source.db")
    database = Database(f"sqlite:///{tmp_path / 'source.db'}")
    yield database
    await database.close()
