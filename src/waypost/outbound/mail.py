"""Mail, through the operator's own server. Without one it is shown in the log, so that nothing is lost in silence.

Sends no password over a connection that others can read, unless the operator says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from pathlib import Path
from typing import Literal, cast, get_args
from urllib.parse import parse_qs, unquote, urlsplit

import aiosmtplib
import structlog

from waypost.kit.clock import Clock
from waypost.kit.errors import SettingsError
from waypost.outbound.client import trusting
from waypost.outbound.errors import Unreachable
from waypost.outbound.records import plain

TIMEOUT = 20.0  # seconds of each step
Starttls = Literal["auto", "always", "never"]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Server:
    host: str
    port: int
    is_tls: bool
    """From the first byte: smtps."""
    starttls: Starttls
    user: str = ""
    password: str = ""

    def __repr__(self) -> str:
        return f"Server({self.host}:{self.port})"  # without the password, wherever it may be printed


def server_of(url: str) -> Server | None:
    """`smtp://user:password@host:port?starttls=always`. Raises SettingsError, with no word of the URL in its text."""
    if not url:
        return None
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        given = parse_qs(parts.query, keep_blank_values=True, strict_parsing=True) if parts.query else {}
    except ValueError:
        raise SettingsError("WAYPOST_SMTP_URL: is no URL such as smtp://user:password@mail.example.com:587") from None
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    starttls = given.pop("starttls", ["always" if user else "auto"])[-1]
    if parts.scheme not in {"smtp", "smtps"} or not host or given or parts.path not in {"", "/"}:
        raise SettingsError("WAYPOST_SMTP_URL: must be smtp:// or smtps://, a host, and at most ?starttls=")
    if starttls not in get_args(Starttls):
        raise SettingsError("WAYPOST_SMTP_URL: starttls must be auto, always or never")
    is_tls = parts.scheme == "smtps"
    return Server(
        host, port or (465 if is_tls else 587 if user else 25), is_tls, cast(Starttls, starttls), user, password
    )


def sender_of(text: str) -> Address:
    """`Waypost <noreply@example.com>`. Raises SettingsError."""
    name, address = parseaddr(text)
    try:
        if "@" in address and (text + name).isprintable():
            return Address(display_name=name, addr_spec=address)
    except ValueError:  # its parts can be no address's
        pass
    raise SettingsError("WAYPOST_MAIL_FROM: must be an address such as noreply@example.com")


class Mailer:
    def __init__(self, url: str, sender: str, ca_file: Path | None = None, *, clock: Clock) -> None:
        """`sender`: `Waypost <noreply@example.com>`. Raises SettingsError."""
        self._server = server_of(url)
        self._sender = sender_of(sender)
        self._tls = trusting(ca_file)
        self._clock = clock

    async def send(self, mail: Mapping[str, str], *, unique: str) -> None:
        """`mail`: `to`, `subject` and `text`, which is plain. `unique`: the same when the same mail is sent again.

        Raises Unreachable.
        """
        if self._server is None:
            log.info("mail not sent: there is no WAYPOST_SMTP_URL", **mail)
            return
        try:
            await self._deliver(self._server, self._message(mail, unique))
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            raise Unreachable(f"mail: {_reason(error)}") from None  # its own text may hold more than is good

    def _message(self, mail: Mapping[str, str], unique: str) -> EmailMessage:
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = self._sender, mail["to"], mail["subject"]
        message["Date"] = format_datetime(self._clock())
        message["Message-ID"] = f"<{unique}@{self._sender.domain}>"
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(mail["text"])
        return message

    async def _deliver(self, server: Server, message: EmailMessage) -> None:
        upgrade = {"auto": None, "always": True, "never": False}[server.starttls]
        await aiosmtplib.send(
            message,
            hostname=server.host,
            port=server.port,
            username=server.user or None,
            password=server.password or None,
            use_tls=server.is_tls,
            start_tls=False if server.is_tls else upgrade,
            tls_context=self._tls,
            timeout=TIMEOUT,
        )


def _reason(error: Exception) -> str:
    if isinstance(error, aiosmtplib.SMTPAuthenticationError):
        return f"the server refused user name and password ({error.code})"
    if isinstance(error, aiosmtplib.SMTPRecipientsRefused):
        return f"the server refused the recipient ({', '.join(str(each.code) for each in error.recipients)})"
    if isinstance(error, aiosmtplib.SMTPResponseException):
        return plain(f"the server answered {error.code} {error.message}")
    if isinstance(error, TimeoutError):
        return "timed out"
    return plain(str(error)) or "the connection broke off"
