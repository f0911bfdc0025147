"""R13, R16: the order of checks, and what each refusal costs."""

from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

import httpx
import pytest
from endpoints import THING, THINGS
from people import BASE_URL, KEY_RING, START, FakeClock, Person, new_client, new_key, new_person

from waypost import accounts
from waypost.accounts import RateLimiters, list_keys, revoke_key, set_plan
from waypost.accounts.keys import format as key_format
from waypost.database import Database
from waypost.web import Guard, new_api


async def spend(client: httpx.AsyncClient, person: Person, times: int = 60) -> httpx.Response:
    for _ in range(times):
        answer = await client.get(THING, headers=person.headers)
    return answer


def response(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_allows_a_key_with_the_scope(client: httpx.AsyncClient, alice: Person) -> None:
    answer = await client.get(THING, headers=alice.headers)
    assert answer.status_code == 200
    assert answer.headers["X-RateLimit-Limit"] == "60"
    assert answer.headers["X-RateLimit-Remaining"] == "59"


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Basic YTpi",
        "wp_live_x",
        "Bearer wp_live_x",
        "Bearer {a well-formed key}",
        "Bearer \xff",
    ],
)
async def test_refuses_unusable_keys(client: httpx.AsyncClient, authorization: str | None) -> None:
    text = authorization and authorization.replace("{a well-formed key}", key_format.generate())
    headers = {} if text is None else {"Authorization": text.encode("latin-1")}
    answer = await client.get(THING, headers=headers)
    assert response(answer) == (401, "unauthenticated")
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert "X-RateLimit-Limit" not in answer.headers


async def test_a_revoked_key_comes_before_the_plan(client: httpx.AsyncClient, db: Database) -> None:
    bob = await new_person(db, "bob", plan="none")
    assert response(await client.get(THING, headers=bob.headers)) == (402, "payment_required")
    await revoke_key(db, bob.key_id, now=START)
    assert response(await client.get(THING, headers=bob.headers)) == (401, "unauthenticated")


async def test_a_key_expires_on_time(client: httpx.AsyncClient, db: Database, alice: Person, clock: FakeClock) -> None:
    brief = await new_key(db, alice.account_id, expires_at=START + timedelta(minutes=1))
    clock.move(timedelta(seconds=59))
    assert (await client.get(THING, headers=brief.headers)).status_code == 200
    clock.move(timedelta(seconds=1))
    assert response(await client.get(THING, headers=brief.headers)) == (401, "unauthenticated")


async def test_a_trial_ends_on_time(client: httpx.AsyncClient, db: Database, clock: FakeClock) -> None:
    carol = await new_person(db, "carol", plan="trial")
    assert (await client.get(THING, headers=carol.headers)).status_code == 200
    clock.move(timedelta(days=14))
    assert response(await client.get(THING, headers=carol.headers)) == (402, "payment_required")


async def test_checks_the_plan_before_the_scope(client: httpx.AsyncClient, db: Database) -> None:
    bob = await new_person(db, "bob", plan="past_due", scopes=["pixels:read"])
    answer = await client.get(THING, headers=bob.headers)
    assert response(answer) == (402, "payment_required")
    assert "X-RateLimit-Limit" not in answer.headers
    await set_plan(db, bob.account_id, "subscription", now=START, trial_days=14)
    assert response(await client.get(THING, headers=bob.headers)) == (403, "forbidden")


async def test_checks_the_scope_before_the_rate_limit(client: httpx.AsyncClient, bob: Person) -> None:
    await spend(client, bob)
    assert response(await client.post("/api/v1/things", headers=bob.headers)) == (403, "forbidden")
    assert response(await client.get(THING, headers=bob.headers)) == (429, "rate_limited")


async def test_checks_the_rate_limit_before_the_endpoint(client: httpx.AsyncClient, alice: Person) -> None:
    assert (await spend(client, alice)).headers["X-RateLimit-Remaining"] == "0"
    for answer in (
        await client.get("/api/v1/things/7", headers=alice.headers),
        await client.post("/api/v1/things", headers=alice.headers, content=b"{"),
    ):
        assert response(answer) == (429, "rate_limited")
        assert answer.json()["error"]["message"] == "Too many requests."
        assert 1 <= int(answer.headers["Retry-After"]) <= 60
        assert answer.headers["X-RateLimit-Remaining"] == "0"


@pytest.mark.parametrize("text", ["7", "my-slug", "urn:uuid:01a1fbb0-9c64-766d-a0c1-63dfc9473774", "%00", "0" * 32])
async def test_an_invalid_id_counts_against_the_rate_limit(client: httpx.AsyncClient, alice: Person, text: str) -> None:
    answer = await client.get(f"/api/v1/things/{text}", headers=alice.headers)
    assert response(answer) == (404, "not_found")
    assert answer.headers["X-RateLimit-Remaining"] == "59"
    assert response(await client.get(f"/api/v1/things/{text}")) == (401, "unauthenticated")


async def test_failed_requests_count_against_the_rate_limit(client: httpx.AsyncClient, alice: Person) -> None:
    bad = await client.post("/api/v1/things", headers=alice.headers, content=b"{")
    broken = await client.get("/api/v1/broken", headers=alice.headers)
    assert (response(bad), response(broken)) == ((422, "validation_error"), (500, "server_error"))
    assert [each.headers["X-RateLimit-Remaining"] for each in (bad, broken)] == ["59", "58"]


async def test_each_key_has_its_own_rate_limit(client: httpx.AsyncClient, db: Database, alice: Person) -> None:
    second = await new_key(db, alice.account_id)
    await spend(client, alice)
    assert (await client.get(THING, headers=second.headers)).headers["X-RateLimit-Remaining"] == "59"


async def test_checks_path_and_method_before_the_key(client: httpx.AsyncClient) -> None:
    assert response(await client.get("/api/v1/nothing")) == (404, "not_found")
    assert response(await client.get("/api/v1/things/")) == (404, "not_found")
    assert response(await client.delete(THING)) == (405, "method_not_allowed")


async def test_throttles_unknown_callers_by_ip_address(
    client: httpx.AsyncClient, db: Database, tmp_path: Path, alice: Person
) -> None:
    for _ in range(600):
        assert (await client.get(THING, headers={"Authorization": "Bearer wp_live_x"})).status_code == 401
    refused = await client.get(THING)
    assert response(refused) == (429, "rate_limited")
    assert int(refused.headers["Retry-After"]) >= 1
    assert "X-RateLimit-Limit" not in refused.headers
    assert (await client.get(THING, headers=alice.headers)).headers["X-RateLimit-Remaining"] == "59"


async def test_refuses_plain_http(db: Database, tmp_path: Path, alice: Person) -> None:
    async with new_client(db, tmp_path, THINGS, base_url="https://app.test") as secure:
        plain = await secure.get(f"http://app.test{THING}", headers=alice.headers)
        spoofed = await secure.get(f"http://app.test{THING}", headers={**alice.headers, "X-Forwarded-Proto": "https"})
        assert response(plain) == response(spoofed) == (400, "http_error")
        good = await secure.get(THING, headers=alice.headers)
    assert good.headers["X-RateLimit-Remaining"] == "59"


async def test_writes_the_last_use_later(db: Database, limiters: RateLimiters, alice: Person, clock: FakeClock) -> None:
    guard = Guard(db, limiters, KEY_RING, base_url=BASE_URL, clock=clock)
    transport = httpx.ASGITransport(new_api(guard, [THINGS]))
    async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as client:
        await client.get(THING, headers=alice.headers)
    assert (await list_keys(db, alice.account_id))[0].last_used_at is None
    await guard.flush()
    assert (await list_keys(db, alice.account_id))[0].last_used_at == START


@pytest.mark.parametrize(
    ("first", "second", "status"),
    [
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", 429),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", 401),
        ("192.0.2.1", "192.0.2.1", 429),
        ("192.0.2.1", "192.0.2.2", 401),
        ("192.0.2.1", "::ffff:192.0.2.1", 429),
    ],
)
async def test_counts_one_ipv6_network_as_one_caller(
    db: Database, limiters: RateLimiters, monkeypatch: pytest.MonkeyPatch, first: str, second: str, status: int
) -> None:
    monkeypatch.setattr(accounts, "UNKNOWN_PER_MINUTE", 1)
    app = new_api(Guard(db, limiters, KEY_RING, base_url=BASE_URL), [THINGS])
    answers = []
    for address in (first, second):
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app, client=(address, 1)), base_url=BASE_URL
        ) as client:
            answers.append(await client.get(THING))
    assert [answer.status_code for answer in answers] == [401, status]


async def test_a_second_header_cannot_spoof_the_ip_address(
    db: Database, limiters: RateLimiters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy writes `Forwarded` and passes on `X-Forwarded-For` as it came, which nobody here can know."""
    monkeypatch.setattr(accounts, "UNKNOWN_PER_MINUTE", 1)
    guard = Guard(db, limiters, KEY_RING, base_url=BASE_URL, trusted=[ip_network("10.0.0.0/8")])
    app = new_api(guard, [THINGS])
    transport = httpx.ASGITransport(app, client=("10.0.0.1", 1))
    async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as client:
        spoofed = [{"Forwarded": "for=192.0.2.1", "X-Forwarded-For": f"198.51.100.{n}"} for n in range(2)]
        answers = [await client.get(THING, headers=headers) for headers in spoofed]
    assert [answer.status_code for answer in answers] == [401, 429]


async def test_a_visitor_behind_a_proxy_cannot_claim_https(db: Database, limiters: RateLimiters, alice: Person) -> None:
    base_url, trusted = "https://app.test", [ip_network("10.0.0.0/8")]
    app = new_api(Guard(db, limiters, KEY_RING, base_url=base_url, trusted=trusted), [THINGS])
    transport = httpx.ASGITransport(app, client=("10.0.0.1", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://app.test") as client:
        headers = {**alice.headers, "Forwarded": "for=192.0.2.1;proto=http", "X-Forwarded-Proto": "https"}
        assert response(await client.get(THING, headers=headers)) == (400, "http_error")
