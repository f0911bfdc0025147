"""`waypost report send`, as an operator runs it."""

import asyncio
from pathlib import Path

from people import new_person
from smtp import MailServer
from test_cli import Waypost

from waypost.database import Database

TO = ("--account", "alice@example.com", "--to", "Boss@Example.com")


async def test_sends_a_report_now(tmp_path: Path, sqlite_template: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "waypost.db").write_bytes(sqlite_template.read_bytes())
    db = Database(f"sqlite:///{tmp_path / 'data' / 'waypost.db'}")
    await new_person(db, "alice")
    await db.close()
    waypost = Waypost(tmp_path)
    waypost.environment |= {"WAYPOST_BASE_URL": "https://go.test", "WAYPOST_SECRET_KEY": "k" * 40}
    async with MailServer() as server:

        async def send(*options: str, code: int = 0) -> str:
            return (await asyncio.to_thread(waypost, "report", "send", *options, code=code)).stderr

        assert "WAYPOST_SMTP_URL is not set" in await send(*TO, code=2)
        waypost.environment["WAYPOST_SMTP_URL"] = f"smtp://127.0.0.1:{server.port}"
        assert (await send(*TO)).endswith(" sent to boss@example.com.\n")
        assert "Report of 1–" in await send(*TO, "--period", "month")  # noqa: RUF001
        assert (
            await send(*TO[:2], "--to", "nobody", code=2)
            == "--to: This must be an email address, such as ann@example.com.\n"
        )
        assert "There is no account" in await send("--account", "x@example.com", *TO[2:], code=1)
        server.answers = {"RCPT": "550 no"}
        refused = await send(*TO, code=1)
        assert refused == "The report was not sent: the server rejected the recipient (550).\n"
    assert [each["Subject"] for each in server.mails] == [
        "Weekly report: alice, 0 clicks",
        "Monthly report: alice, 0 clicks",
    ]
    assert all(each["From"] == "Waypost <noreply@go.test>" for each in server.mails)
