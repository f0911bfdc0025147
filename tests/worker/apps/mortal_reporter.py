"""A process that sends a report that is due, and kills itself before or after the mail server has accepted it."""

import asyncio
import os
import signal
import sys

from waypost.composition import mail_sender, new_context
from waypost.database import Database
from waypost.kit.clock import now
from waypost.resources.statistics_reports.model import QUEUE, SEND_JOB
from waypost.resources.statistics_reports.sender import ReportSender
from waypost.resources.statistics_reports.unsubscribing import UnsubscribeUrls
from waypost.settings import Settings
from waypost.worker.jobs import JobRunner
from waypost.worker.loop import WorkerLoop

URL, SMTP_URL, POINT = sys.argv[1:]


async def main():
    db = Database(URL)
    settings = Settings(smtp_url=SMTP_URL, mail_from="w@example.com")
    accepted, context = mail_sender(settings), new_context(settings, db, lambda _: None)

    async def send(message, *, unique):
        for point in ("before", "after"):
            if point == POINT:
                os.kill(os.getpid(), signal.SIGKILL)
            if point == "before":
                await accepted(message, unique=unique)

    reports = ReportSender(context, send, UnsubscribeUrls("http://app.test", [b"key"]))
    loop = WorkerLoop(db, JobRunner(QUEUE, {SEND_JOB: reports.send_due}, clock=now))
    while await loop.step():
        pass
    await loop.close()
    await db.close()


asyncio.run(main())
