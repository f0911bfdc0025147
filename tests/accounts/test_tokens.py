from datetime import timedelta

import httpx
from people import START, Person, new_key

from waypost.accounts import revoke_key
from waypost.database import Database


async def test_lists_keys_newest_first(client: httpx.AsyncClient, db: Database, alice: Person, bob: Person) -> None:
    later = START + timedelta(seconds=1)
    second = await new_key(db, alice.account_id, scopes=["links:read"], now=later, expires_at=START + timedelta(days=1))
    await revoke_key(db, second.key_id, now=later)
    answer = await client.get("/api/v1/tokens", headers=alice.headers)
    assert answer.status_code == 200
    newest, oldest = answer.json()["data"]
    assert newest == {
        "id": str(second.key_id),
        "name": "tests",
        "prefix": second.key[:12],
        "scopes": ["links:read"],
        "last_used_at": None,
        "expires_at": "2030-01-02T12:00:00.000000Z",
        "revoked_at": "2030-01-01T12:00:01.000000Z",
        "created_at": "2030-01-01T12:00:01.000000Z",
    }
    assert oldest["id"] == str(alice.key_id)


async def test_the_key_text_is_never_shown(client: httpx.AsyncClient, alice: Person) -> None:
    answer = await client.get("/api/v1/tokens", headers=alice.headers)
    assert alice.key not in answer.text
    assert "digest" not in answer.text


async def test_any_scope_is_sufficient(client: httpx.AsyncClient, bob: Person) -> None:
    assert len((await client.get("/api/v1/tokens", headers=bob.headers)).json()["data"]) == 1
