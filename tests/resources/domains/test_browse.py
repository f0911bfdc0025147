"""GET /v1/domains and GET /v1/domains/{id}"""

from datetime import timedelta

from resources.domains.env import Env


async def test_lists_domains_newest_first(env: Env) -> None:
    made = []
    for number in range(3):
        made.append(await env.make(f"go{number}.test"))
        env.clock.move(timedelta(seconds=number))  # the first two at the same moment
    await env.make("of-bob.test", env.bob)
    listed = (await env.ask("GET", "?per_page=2")).json()
    assert listed["data"] == [made[2], made[1]]
    assert listed["meta"]["total"] == 3
    assert listed["links"]["next"] == "http://app.test/api/v1/domains?per_page=2&page=2"
    assert (await env.ask("GET", "?per_page=2&page=2")).json()["data"] == [made[0]]
    assert (await env.ask("GET", "", env.bob)).json()["meta"]["total"] == 1
    assert (await env.ask("GET", "?page=x")).status_code == 422


async def test_what_checks_found_is_shown(env: Env) -> None:
    made = await env.make()
    at = env.clock()
    found = {"status": "failed", "last_checked_at": at, "verified_at": at, "error": "There is no record."}
    await env.set(made, **found, tls_status="active", tls_expires_at=at, tls_error="It ends soon.", links_count=7)
    at = "2030-01-01T12:00:00.000000Z"
    assert (await env.find(made)).json()["data"] == made | {
        **found,
        "last_checked_at": at,
        "verified_at": at,
        "links_count": 7,
        "tls": {"status": "active", "expires_at": at, "error": "It ends soon."},
    }


async def test_another_account_s_looks_like_none(env: Env) -> None:
    made = await env.make()
    missing = made | {"id": "01a1fbb2-2855-72ee-8e77-c161c4205e89"}
    foreign, none = await env.find(made, env.bob), await env.find(missing)
    assert (foreign.status_code, foreign.content) == (none.status_code, none.content)
    assert foreign.status_code == 404
