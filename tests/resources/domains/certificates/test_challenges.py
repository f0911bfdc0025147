"""Proofs are read on any host, by who knows their token, and nothing else is text there."""

import httpx
import pytest
from sqlalchemy import insert
from starlette.applications import Starlette

from waypost.database import Database
from waypost.resources.domains import tls_api
from waypost.resources.domains.model import acme_challenges

PATH = "/.well-known/acme-challenge/"
TOKEN = "LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0"


@pytest.fixture
def client(db: Database, clock) -> httpx.AsyncClient:
    app = Starlette(routes=[tls_api.challenge_route(db)])
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://nobody.example")


async def test_serves_a_challenge_by_its_token(client: httpx.AsyncClient, db: Database, clock) -> None:
    row = {"token": TOKEN, "key_authorization": f"{TOKEN}.thumbprint", "created_at": clock.now}
    async with db.write() as tx:
        await tx.execute(insert(acme_challenges), row)
    answer = await client.get(PATH + TOKEN)
    assert (answer.status_code, answer.text) == (200, f"{TOKEN}.thumbprint")
    assert answer.headers["cache-control"] == "no-store"
    for other in ("", "other", TOKEN.lower(), TOKEN + "/", "a" * 129, "%00", "..%2f" + TOKEN, "' OR 1=1 --"):
        answer = await client.get(PATH + other)
        assert (answer.status_code, answer.content) == (404, b"")
