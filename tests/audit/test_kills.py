"""A process that is killed at any point leaves a change with its entry, or neither."""

import asyncio
import os
import signal
from contextlib import aclosing
from typing import Any

from people import START
from sqlalchemy import select
from statements import watched

from waypost.accounts import create_account
from waypost.audit import Actor
from waypost.audit.model import audit_entries
from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.resources.domains import service
from waypost.resources.domains.model import domains

ACCOUNT = new_id()


class Opened:
    def __init__(self, url: str) -> None:
        self.db = Database(url)

    async def aclose(self) -> None:
        await self.db.close()


async def prepare(url: str) -> None:
    async with aclosing(Opened(url)) as opened:
        values = {"email": "a@example.com", "name": "A", "plan": "lifetime", "trial_days": 0, "account_id": ACCOUNT}
        await create_account(opened.db, now=START, **values)


async def register(url: str, hostname: str) -> None:
    async with aclosing(Opened(url)) as opened:
        await service.register(opened.db.write(), Actor.command(ACCOUNT, "a test"), hostname, own_hosts=[], now=START)


async def find(url: str, hostname: str) -> tuple[bool, int]:
    """Return whether the domain is there, and the number of its entries."""
    async with aclosing(Opened(url)) as opened, opened.db.read() as tx:
        found = await tx.scalar(select(domains.c.id).where(domains.c.hostname == hostname))
        entries = await tx.scalars(select(audit_entries.c.id).where(audit_entries.c.item == hostname))
        return found is not None, len(entries.all())


def register_in_a_process(url: str, hostname: str, kill_at: int) -> bool:
    """Return whether the process lived. It kills itself before or after a statement, or before a commit."""
    process = os.fork()
    if process:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    steps = 0

    def step(*_: Any) -> None:
        nonlocal steps
        steps += 1
        if steps == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        with watched(step, step):
            asyncio.run(register(url, hostname))
    finally:
        os._exit(0)


def test_a_change_and_its_entry_are_one(database_url: str) -> None:
    asyncio.run(prepare(database_url))
    kills = 0
    while not register_in_a_process(database_url, f"go{kills}.brand.test", kills + 1):
        assert asyncio.run(find(database_url, f"go{kills}.brand.test")) in {(False, 0), (True, 1)}
        kills += 1
    assert asyncio.run(find(database_url, f"go{kills}.brand.test")) == (True, 1)
    assert kills > 10
