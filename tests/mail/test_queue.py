"""A mail is sent if and only if its transaction commits, and retried until it is accepted."""

import os
from datetime import timedelta
from pathlib import Path

import pytest
import structlog
from claimed import claimed
from people import FakeClock
from smtp import MailServer
from sqlalchemy import select

from waypost import mail
from waypost.composition import mail_sender
from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.settings import Settings
from waypost.worker.jobs import SHORT, JobRunner, jobs, wait_after
from waypost.worker.loop import WorkerLoop

MAIL = {"to": "alice@example.com", "subject": "Hello", "text": "Hello, Alice!\n"}


async def test_sends_a_committed_mail_and_retries_a_refused_one(db: Database) -> None:
    clock = FakeClock()
    with pytest.raises(ZeroDivisionError):
        async with db.write() as tx:
            await mail.send_later(tx, "requested", **MAIL, now=clock(), owner_id=new_id())
            raise ZeroDivisionError
    async with db.write() as tx:
        await mail.send_later(tx, "requested", **MAIL, now=clock(), owner_id=new_id())
    async with MailServer(answers={"MAIL": "451 not now"}) as server:
        settings = Settings(smtp_url=f"smtp://127.0.0.1:{server.port}", mail_from="w@example.com")
        sending = mail.handler(mail_sender(settings))
        loop = WorkerLoop(db, JobRunner(SHORT, {mail.JOB: sending}, clock=clock))
        assert await loop.step()
        await loop.close()
        async with db.read() as tx:
            [job] = await tx.execute(select(jobs))
        assert job.error == "Unreachable: mail: the server responded 451 not now"
        server.answers = {}
        clock.move(timedelta(hours=1))
        assert await loop.step()
        await loop.close()
        [sent] = server.mails
        assert (sent["Subject"], sent["Message-ID"]) == ("Hello", f"<{job.id}@example.com>")
        assert not await loop.step()


def test_emails_outlast_an_outage_of_the_mail_server() -> None:
    tried_for = sum((wait_after(attempt) for attempt in range(1, mail.JOB.max_attempts)), timedelta())
    assert timedelta(hours=47) < tried_for <= timedelta(hours=48)


NOT_SENT = {"event": "email not sent: WAYPOST_SMTP_URL is not set", "log_level": "info"}
TOLD = {name: MAIL[name] for name in ("to", "subject")}


async def test_without_a_server_it_is_a_private_file_that_the_log_names(tmp_path: Path) -> None:
    clock = FakeClock()
    directory = mail.MailDirectory(tmp_path / "mail", clock=clock)
    with structlog.testing.capture_logs() as logs:
        await directory.write(MAIL, unique="1")
    file = tmp_path / "mail" / "1.txt"
    assert logs == [{**NOT_SENT, **TOLD, "file": str(file)}]
    assert file.read_text() == "To: alice@example.com\nSubject: Hello\n\nHello, Alice!\n"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


async def test_such_files_are_removed_once_no_link_in_them_works(tmp_path: Path) -> None:
    clock = FakeClock()
    for name, age in (("old", timedelta(days=9)), ("young", timedelta(days=7))):
        at = (clock() - age).timestamp()
        (tmp_path / f"{name}.txt").touch()
        os.utime(tmp_path / f"{name}.txt", (at, at))
    await mail.MailDirectory(tmp_path, clock=clock).write(MAIL, unique="new")
    assert {path.stem for path in tmp_path.iterdir()} == {"young", "new"}


@pytest.mark.parametrize("is_terminal", [True, False])
async def test_without_a_server_it_is_shown_on_a_terminal_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)
    sending = mail.handler(mail_sender(Settings(data_dir=tmp_path)))
    job = claimed(mail.JOB, MAIL)
    with structlog.testing.capture_logs() as logs:
        await sending(job)
    shown = {"text": MAIL["text"]} if is_terminal else {"file": str(tmp_path / "mail" / f"{job.id}.txt")}
    assert logs == [{**NOT_SENT, **TOLD, **shown}]
