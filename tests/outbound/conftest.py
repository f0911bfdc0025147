from collections.abc import AsyncIterator

import pytest
from servers import ALLOW, NameServer, name_server

from waypost.outbound import Outbound


@pytest.fixture
async def names() -> AsyncIterator[NameServer]:
    async with name_server() as server:
        yield server


@pytest.fixture
def outbound(names: NameServer) -> Outbound:
    """Takes 127.0.0.2 for the public internet; asks the scripted name server."""
    return Outbound(allow=ALLOW, dns_servers=[names.address])
