"""GET /v1/pixels/{id}/results"""

from uuid import UUID

from people import START
from resources.links.env import Env
from resources.pixels.asking import ask, make

from waypost.resources.pixels.events.model import EventResults, add_results

NOTHING = {"sent": 0, "rejected": 0, "dropped": 0, "sent_at": None, "reason": None, "reason_at": None}


async def test_returns_the_results_of_events(env: Env) -> None:
    made = await make(env)
    assert (await ask(env, "GET", f"/{made['id']}/results")).json() == {"data": NOTHING}
    async with env.deps.db.write() as tx:
        await add_results(tx, UUID(made["id"]), EventResults(sent=3, sent_at=START))
        await add_results(tx, UUID(made["id"]), EventResults(rejected=2, reason="400: no such pixel", reason_at=START))
    at = made["created_at"]
    reported = {"sent": 3, "rejected": 2, "dropped": 0, "sent_at": at, "reason": "400: no such pixel", "reason_at": at}
    answer = await ask(env, "GET", f"/{made['id']}/results")
    assert (answer.status_code, answer.json()) == (200, {"data": reported})
    assert list(answer.json()["data"]) == list(NOTHING)


async def test_not_another_accounts(env: Env) -> None:
    made = await make(env)
    assert (await ask(env, "GET", f"/{made['id']}/results", env.bob)).status_code == 404
