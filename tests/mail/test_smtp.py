"""Emails arrive complete, passwords stay secret, and errors do not contain them."""

import asyncio
import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme
from smtp import MailServer

from waypost.mail import smtp
from waypost.mail.smtp import Mailer
from waypost.outbound import Unreachable
from waypost.resources.statistics_reports.model import QUEUE
from waypost.settings.mail_server import parse_sender, parse_smtp_url

MAIL = {"to": "alice@example.com", "subject": "Grüße …", "text": "Hello,\n\n.\n.a line with a dot, and ümläuts\n"}
SECRET = "p@ss/wörd"  # in the URL percent-encoded
USER = "us%40er:p%40ss%2Fw%C3%B6rd@"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def tls(authority: trustme.CA, tmp_path: Path) -> ssl.SSLContext:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


async def send(url: str, ca_file: Path | None = None, message: dict[str, str] = MAIL) -> None:
    server, sender = parse_smtp_url(url), parse_sender("Wäypost <noreply@example.com>")
    mailer = Mailer(server, sender, ca_file, clock=lambda: datetime(2030, 1, 1, tzinfo=UTC))
    await mailer.send(message, unique="1234")


async def test_sends_a_mail() -> None:
    async with MailServer() as server:
        await send(f"smtp://127.0.0.1:{server.port}")
    [mail] = server.mails
    assert server.envelopes == [("noreply@example.com", ["alice@example.com"])]
    assert (mail["From"], mail["To"]) == ("Wäypost <noreply@example.com>", "alice@example.com")
    assert (mail["Subject"], mail["Message-ID"]) == ("Grüße …", "<1234@example.com>")
    assert (mail["Date"], mail["Auto-Submitted"]) == ("Tue, 01 Jan 2030 00:00:00 +0000", "auto-generated")
    assert mail.get_content().replace("\r\n", "\n") == MAIL["text"]


@pytest.mark.parametrize(
    ("scheme", "query"), [("smtps", ""), ("smtp", ""), ("smtp", "?starttls=auto")], ids=["smtps", "always", "auto"]
)
async def test_passwords_go_over_tls(tls: ssl.SSLContext, tmp_path: Path, scheme: str, query: str) -> None:
    async with MailServer(tls=tls, is_tls=scheme == "smtps", user="us@er", password=SECRET) as server:
        await send(f"{scheme}://{USER}127.0.0.1:{server.port}{query}", tmp_path / "ca.pem")
    assert len(server.mails) == 1
    assert ("STARTTLS" in server.commands) == (scheme == "smtp")


async def test_the_deadline_is_a_total(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line is quick; the greeting never ends."""
    monkeypatch.setattr(smtp, "DEADLINE", 0.3)

    ended = asyncio.Event()

    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not writer.is_closing():
            writer.write(b"220-mail.test\r\n")
            await asyncio.sleep(0.01)
        ended.set()

    async with await asyncio.start_server(greet, "127.0.0.1") as server:
        with pytest.raises(Unreachable, match="mail: timed out"):
            await send("smtp://127.0.0.1:{1}".format(*server.sockets[0].getsockname()))
        await ended.wait()


@pytest.mark.parametrize("limit", ["TIMEOUT", "DEADLINE"])
async def test_an_email_with_a_file_may_take_longer(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(smtp, limit, 0.0)
    async with MailServer() as server:
        with pytest.raises(Unreachable, match="mail: timed out"):
            await send(f"smtp://127.0.0.1:{server.port}")
        await send(f"smtp://127.0.0.1:{server.port}", message=MAIL | {"csv": "a,ä\r\n", "csv_name": "links.csv"})
    [[file]] = [list(message.iter_attachments()) for message in server.mails]
    assert (file.get_filename(), file.get_content()) == ("links.csv", "a,ä\r\n")
    assert smtp.FILE_TIMEOUT < smtp.FILE_DEADLINE < QUEUE.timeout.total_seconds()


async def test_no_password_in_the_open(tls: ssl.SSLContext) -> None:
    async with MailServer(user="us@er", password=SECRET) as server:
        with pytest.raises(Unreachable, match="mail: "):
            await send(f"smtp://{USER}127.0.0.1:{server.port}")
        assert not any("AUTH" in command for command in server.commands)
        await send(f"smtp://{USER}127.0.0.1:{server.port}?starttls=never")  # unless the operator says so
    async with MailServer(tls=tls) as server:
        with pytest.raises(Unreachable, match="mail: "):
            await send(f"smtp://127.0.0.1:{server.port}")  # an authority that we do not know
        assert server.mails == []


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({"RCPT": "550 \x1b[1mno such user"}, "mail: the server rejected the recipient (550)"),
        ({"MAIL": "451 later " + "x" * 300}, "mail: the server responded 451 later xxx"),
        ({"AUTH": "535 not you"}, "mail: the server rejected the user name and password (535)"),
    ],
    ids=["recipient", "later", "password"],
)
async def test_refusals(tls: ssl.SSLContext, tmp_path: Path, answers: dict[str, str], reason: str) -> None:
    async with MailServer(tls=tls, is_tls=True, user="us@er", password="other", answers=answers) as server:
        with pytest.raises(Unreachable) as caught:
            credentials = USER if "AUTH" in answers else ""
            await send(f"smtps://{credentials}127.0.0.1:{server.port}", tmp_path / "ca.pem")
    assert caught.value.reason.startswith(reason)
    assert caught.value.reason.isprintable()
    assert len(caught.value.reason) < 220
    assert SECRET not in caught.value.reason


async def test_nobody_there() -> None:
    async with MailServer() as gone:
        pass
    with pytest.raises(Unreachable, match="mail: "):
        await send(f"smtp://127.0.0.1:{gone.port}")


async def test_a_line_break_adds_no_header() -> None:
    async with MailServer() as server:
        with pytest.raises(Unreachable):
            await send(f"smtp://127.0.0.1:{server.port}", message={**MAIL, "subject": "a\r\nBcc: eve@example.com"})
    assert server.mails == []


@pytest.mark.parametrize(
    "url",
    [
        "http://host",
        "smtp://",
        "mail.test",
        "smtp://h/path",
        "smtp://h?x=1",
        "smtp://h?starttls=no",
        "smtp://h:x",
        "smtp://[::1",
    ],
)
def test_bad_settings(url: str) -> None:
    with pytest.raises(ValueError, match="must be") as caught:
        parse_smtp_url(url.replace("://", "://user:hidden@", 1))
    assert "hidden" not in str(caught.value)
    for sender in ("", "nobody", "a@b\r\nBcc: eve@example.com"):
        with pytest.raises(ValueError, match="must be an email address"):
            parse_sender(sender)


def test_ports() -> None:
    urls = ("smtp://h", "smtp://u:p@h", "smtps://h", "smtp://h:2525")
    assert [server.port for url in urls if (server := parse_smtp_url(url))] == [25, 587, 465, 2525]
    assert "hidden" not in repr(parse_smtp_url("smtp://user:hidden@h"))
