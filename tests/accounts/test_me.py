import httpx
from people import Person

from waypost.accounts import SCOPES


async def test_shows_the_account_plan_and_key(client: httpx.AsyncClient, alice: Person) -> None:
    answer = await client.get("/api/v1/me", headers=alice.headers)
    assert answer.status_code == 200
    assert answer.json() == {
        "data": {
            "id": str(alice.account_id),
            "name": "alice",
            "email": "alice@example.com",
            "created_at": "2030-01-01T12:00:00.000000Z",
            "plan": {
                "type": "trial",
                "status": None,
                "active": True,
                "trial_ends_at": "2030-01-15T12:00:00.000000Z",
                "renews_at": None,
            },
            "token": {
                "id": str(alice.key_id),
                "name": "tests",
                "prefix": alice.key[:12],
                "scopes": list(SCOPES),
                "last_used_at": None,
                "expires_at": None,
                "created_at": "2030-01-01T12:00:00.000000Z",
            },
            "limits": {"requests_per_minute": 60},
            "shared_domain": "go.test",
        }
    }


async def test_any_scope_is_sufficient(client: httpx.AsyncClient, bob: Person) -> None:
    me = (await client.get("/api/v1/me", headers=bob.headers)).json()["data"]
    assert me["email"] == "bob@example.com"
    assert me["token"]["scopes"] == ["pixels:read"]


async def test_a_request_without_a_key_is_refused(client: httpx.AsyncClient) -> None:
    assert (await client.get("/api/v1/me")).status_code == 401
