"""A mail is sent if and only if what it tells of is committed, and again until it is taken."""

from datetime import timedelta

import pytest
from people import FakeClock
from smtp import MailServer
from sqlalchemy import select

from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.outbound import Mailer
from waypost.worker import mail
from waypost.worker.loop import JobRunner
from waypost.worker.model import jobs

MAIL = {"to": "alice@example.com", "subject": "Hello", "text": "Hello, Alice!\n"}


async def test_it_works(db: Database) -> None:
    clock = FakeClock()
    with pytest.raises(ZeroDivisionError):
        async with db.write() as tx:
            await mail.send_later(tx, **MAIL, now=clock(), account_id=new_id())
            raise ZeroDivisionError
    async with db.write() as tx:
        await mail.send_later(tx, **MAIL, now=clock(), account_id=new_id())
    async with MailServer(answers={"MAIL": "451 not now"}) as server:
        sending = mail.Sending(Mailer(f"smtp://127.0.0.1:{server.port}", "w@example.com", clock=clock).send)
        runner = JobRunner(db, {mail.JOB: sending}, clock=clock, at_once=1)
        assert await runner.step()
        await runner.drain()
        async with db.read() as tx:
            [job] = await tx.execute(select(jobs))
        assert job.error == "Unreachable: mail: the server answered 451 not now"
        server.answers = {}
        clock.move(timedelta(hours=1))
        assert await runner.step()
        await runner.drain()
        [sent] = server.mails
        assert (sent["Subject"], sent["Message-ID"]) == ("Hello", f"<{job.id}@example.com>")
        assert not await runner.step()
