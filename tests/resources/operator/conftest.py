from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from browsing import WebApp, open_place

from waypost.accounts.sign_in import passwords


@pytest.fixture(autouse=True)
def _cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(passwords, "_hasher", hasher)
    monkeypatch.setattr(passwords, "DUMMY_HASH", hasher.hash("of nobody"))


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path, contact_email="abuse@example.com", shared_domain="go.test") as opened:
        yield opened
