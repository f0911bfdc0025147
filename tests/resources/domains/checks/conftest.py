from collections.abc import AsyncIterator

import pytest
from resources.domains.checks.checking import Checking, open_checking
from resources.domains.env import Env


@pytest.fixture
async def checking(env: Env) -> AsyncIterator[Checking]:
    async with open_checking(env) as opened:
        yield opened
