"""R8: `kill -9` of who delivers, at each point of a delivery's way: nothing is lost, or sent without being counted.

Rounds: WEBHOOK_KILL_ROUNDS, 25 in `make test-slow`.
"""

import asyncio
import itertools
import os
import signal
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import forked
import pytest
from resources.webhooks.receiver import Receiver
from resources.webhooks.scripted import Subscription, deliveries, queue_up, subscribe
from sqlalchemy import update

from waypost.database import Database, KeyRing
from waypost.kit.clock import now
from waypost.resources.webhooks.model import webhook_deliveries

ROUNDS = int(os.environ.get("WEBHOOK_KILL_ROUNDS", "4"))
POINTS = ("before claim", "after claim", "after send", "before mark")
A_ROUND = 120
"""Deliveries of a round: more than are begun in it, so that no round runs out of them."""
BEGUN = 60
SUBSCRIPTIONS = 10
EACH = A_ROUND * ROUNDS // SUBSCRIPTIONS
KEY = "the key of the kill loop"
MORTAL = Path(__file__).parents[1] / "worker" / "apps" / "mortal_deliverer.py"


def work(database_url: str, receiver: Receiver, point: str = "never") -> int:
    """The process's exit code."""
    arguments = [database_url, str(receiver.ca_file), KEY, point, str(BEGUN)]
    return forked.run(arguments, program=MORTAL).returncode


async def let_leases_run_out(db: Database) -> set[UUID]:
    """The deliveries whose attempts were under way."""
    table, past = webhook_deliveries, now() - timedelta(seconds=1)
    leased = update(table).where(table.c.leased_until.is_not(None)).values(leased_until=past, next_attempt_at=past)
    async with db.write() as tx:
        return set((await tx.execute(leased.returning(table.c.id))).scalars())


@pytest.mark.timeout(300 + 20 * ROUNDS)
async def test_no_delivery_is_lost_or_uncounted_after_kill(db: Database, database_url: str, tmp_path: Path) -> None:
    under_way = set[UUID]()
    with Receiver(tmp_path) as receiver:
        several = [await new_subscription(db, receiver, f"/{number}") for number in range(SUBSCRIPTIONS)]
        ids = {id_ for each in several for id_ in await queue_up(db, each, EACH, at=now())}
        for point in itertools.islice(itertools.cycle(POINTS), ROUNDS):
            assert await asyncio.to_thread(work, database_url, receiver, point) == -signal.SIGKILL
            interrupted = await let_leases_run_out(db)
            assert interrupted, point
            under_way |= interrupted
        assert await asyncio.to_thread(work, database_url, receiver) == 0
        hold(await deliveries(db), receiver, ids, under_way)
        secrets = {f"/{number}": each.secret for number, each in enumerate(several)}
        assert all(each.is_signed_with(secrets[each.path]) for each in receiver.received())


def hold(rows: Sequence[Any], receiver: Receiver, ids: set[UUID], under_way: set[UUID]) -> None:
    bodies: dict[UUID, list[bytes]] = defaultdict(list)
    for each in receiver.received():
        bodies[UUID(each.headers["X-Delivery-Id"])].append(each.body)
    assert {row.id for row in rows} == set(bodies) == ids
    assert Counter(row.status for row in rows) == {"delivered": len(ids)}
    for row in rows:
        assert set(bodies[row.id]) == {row.body.encode()}
        assert len(bodies[row.id]) <= row.attempts <= 5
        assert row.attempts == 1 or row.id in under_way
    assert {id_ for id_, reported in bodies.items() if len(reported) > 1} <= under_way


async def new_subscription(db: Database, receiver: Receiver, path: str) -> Subscription:
    return await subscribe(db, path.strip("/"), url=receiver.url(path), keys=KeyRing([KEY]))
