"""A checker beside the domains API, with a scripted name server and whatever answers over TLS."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from resources.domains.env import TARGET, Env
from servers import ALLOW, NameServer, name_server
from sqlalchemy import select

from waypost.database import Tx
from waypost.outbound import DnsRecords, TlsProbe
from waypost.resources.domains.checks import Checker, delete_expired
from waypost.resources.domains.model import CHECK_JOB
from waypost.worker.jobs import Job, JobRunner, jobs
from waypost.worker.loop import WorkerLoop

A_DAY = timedelta(days=1)


def new_runner(env: Env, checker: Checker) -> JobRunner:
    return JobRunner(CHECK_JOB.queue, {CHECK_JOB: checker.check}, clock=env.deps.clock)


@dataclass
class Checking:
    env: Env
    names: NameServer
    checker: Checker
    runner: JobRunner
    loop: WorkerLoop[Any, Any]
    changes: list[tuple[str, bool]] = field(default_factory=list)
    """Calls of `set_served`."""

    async def note(self, _tx: Tx, hostname: str, *, is_served: bool) -> None:
        self.changes.append((hostname, is_served))

    async def ask(self, domain: dict[str, Any]) -> None:
        answer = await self.env.ask("POST", f"/{domain['id']}/verify")
        assert (answer.status_code, answer.json()["data"]["status"]) == (202, "verifying")

    async def run(self) -> bool:
        """Until all that is due has been checked. False when nothing was."""
        began = False
        while await self.loop.step():
            began = True
        return began

    def replace(self, checker: Checker) -> None:
        self.checker, self.runner = checker, new_runner(self.env, checker)
        self.loop = WorkerLoop(self.env.deps.db, self.runner)

    async def claim(self, limit: int = 16) -> list[Job]:
        async with self.env.deps.db.write() as tx:
            return await self.runner.claim(tx, limit)

    async def finish(self, job: Job) -> None:
        """Run a job that was claimed."""
        outcome = await self.runner.run(job)
        async with self.env.deps.db.write() as tx:
            await self.runner.settle(tx, [outcome])

    async def job(self, domain: dict[str, Any]) -> Any:
        """Return the row of the domain's job, or None."""
        async with self.env.deps.db.read() as tx:
            return (await tx.execute(select(jobs).where(jobs.c.id == UUID(domain["id"])))).one_or_none()

    async def check_at(self, domain: dict[str, Any]) -> datetime | None:
        job = await self.job(domain)
        return job and job.run_at

    async def expire(self) -> bool:
        return await delete_expired(self.env.deps)

    async def verify(self, domain: dict[str, Any]) -> Any:
        await self.ask(domain)
        await self.run()
        return await self.env.row(domain)

    async def live(self, hostname: str = "go.brand.test") -> dict[str, Any]:
        """A domain that has been verified by CNAME."""
        domain = await self.env.make(hostname)
        self.names.has(hostname, [TARGET], kind="CNAME")
        assert (await self.verify(domain)).is_served
        return domain

    async def a_day_later(self, domain: dict[str, Any]) -> Any:
        self.env.clock.move(A_DAY)
        assert await self.run()
        return await self.env.row(domain)

    async def mails(self) -> list[Any]:
        async with self.env.deps.db.read() as tx:
            return [row.payload for row in await tx.execute(select(jobs).where(jobs.c.name == "mail.send"))]


@contextlib.asynccontextmanager
async def open_checking(env: Env) -> AsyncIterator[Checking]:
    async with name_server() as names:
        probe = TlsProbe(allow=ALLOW, dns_servers=[names.address])
        checker = Checker(env.deps, DnsRecords([names.address]), probe)
        runner = new_runner(env, checker)
        checking = Checking(env, names, checker, runner, WorkerLoop(env.deps.db, runner))
        yield checking
        await checking.loop.close()
