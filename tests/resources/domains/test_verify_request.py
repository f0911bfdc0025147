"""POST /v1/domains/{id}/verify: what it asks for. The check itself is a worker's."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from resources.domains.env import Env
from sqlalchemy import select

from waypost.resources.domains.model import CHECK_JOB
from waypost.worker import jobs


async def check_of(env: Env, domain: dict[str, Any]) -> Any:
    """Return the row of the domain's job."""
    async with env.deps.db.read() as tx:
        return (await tx.execute(select(jobs.jobs).where(jobs.jobs.c.id == UUID(domain["id"])))).one()


async def test_requests_a_check(env: Env) -> None:
    made = await env.make()
    env.clock.move(timedelta(minutes=1))
    answer = await env.ask("POST", f"/{made['id']}/verify")
    assert answer.status_code == 202
    assert answer.json()["data"] == made | {"status": "verifying", "updated_at": "2030-01-01T12:01:00.000000Z"}
    assert (await env.find(made)).json() == answer.json()
    assert (await check_of(env, made)).run_at == env.clock()
    assert env.published == []


async def test_asking_again_leaves_the_check_under_way_alone(env: Env) -> None:
    made = await env.make()
    first = await env.ask("POST", f"/{made['id']}/verify")
    before = await check_of(env, made)
    env.clock.move(timedelta(seconds=5))
    again = await env.ask("POST", f"/{made['id']}/verify")
    assert (again.status_code, again.json()) == (202, first.json())
    assert await check_of(env, made) == before


@pytest.mark.parametrize("status", ["verified", "failed"])
async def test_what_was_checked_is_checked_again(env: Env, status: str) -> None:
    """A live one stays so, and what was found last is shown meanwhile."""
    made, at = await env.make(), env.clock()
    is_served = status == "verified"
    await env.set(made, status=status, is_served=is_served, error="No record.", failures=1)
    async with env.deps.db.write() as tx:
        later = at + timedelta(days=1)
        await jobs.enqueue(tx, CHECK_JOB, {}, now=at, run_at=later, rank=1, id_=UUID(made["id"]))
    shown = (await env.ask("POST", f"/{made['id']}/verify")).json()["data"]
    assert (shown["status"], shown["error"]) == ("verifying", "No record.")
    row, check = await env.row(made), await check_of(env, made)
    assert (row.is_served, row.failures, check.run_at, check.rank) == (is_served, 1, at, 0)


async def test_another_account_s_is_not_there(env: Env) -> None:
    made = await env.make()
    assert (await env.ask("POST", f"/{made['id']}/verify", env.bob)).status_code == 404
    assert (await env.ask("POST", "/1/verify")).status_code == 404
    assert (await env.find(made)).json()["data"] == made
