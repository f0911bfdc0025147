"""Mail through the operator's SMTP server. Sends no password over an unencrypted connection unless configured to."""

import asyncio
from base64 import b64decode
from collections.abc import Mapping
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path

import aiosmtplib

from waypost.kit.clock import Clock
from waypost.mail.queue import IMAGE_ID
from waypost.outbound.client import tls_context
from waypost.outbound.dns_lookup import printable
from waypost.outbound.errors import Unreachable
from waypost.settings.mail_server import SmtpServer

TIMEOUT = 20.0  # seconds per step
DEADLINE = 60.0  # seconds in total: a server could send line after line
FILE_TIMEOUT, FILE_DEADLINE = 60.0, 90.0  # of an email with a file: one step is its upload and the check for viruses


class Mailer:
    def __init__(self, server: SmtpServer, sender: Address, ca_file: Path | None = None, *, clock: Clock) -> None:
        self._server = server
        self._sender = sender
        self._tls = tls_context(ca_file)
        self._clock = clock

    async def send(self, mail: Mapping[str, str], *, unique: str) -> None:
        """`mail`: see `SendMail`. `unique`: the same when a mail is retried. Raises Unreachable."""
        step, total = (FILE_TIMEOUT, FILE_DEADLINE) if mail.get("csv") else (TIMEOUT, DEADLINE)
        try:
            async with asyncio.timeout(total):
                await self._deliver(await asyncio.to_thread(self._message, mail, unique), step)
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            raise Unreachable(f"mail: {_reason(error)}") from None  # its own text may contain secrets

    def _message(self, mail: Mapping[str, str], unique: str) -> EmailMessage:
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = self._sender, mail["to"], mail["subject"]
        message["Date"] = format_datetime(self._clock())
        message["Message-ID"] = f"<{unique}@{self._sender.domain}>"
        message["Auto-Submitted"] = "auto-generated"
        if url := mail.get("unsubscribe_url"):  # RFC 8058
            message["List-Unsubscribe"], message["List-Unsubscribe-Post"] = f"<{url}>", "List-Unsubscribe=One-Click"
        message.set_content(mail["text"])
        if html := mail.get("html"):
            message.add_alternative(html, subtype="html", cte="quoted-printable")
        if image := mail.get("image"):
            *_, part = message.iter_parts()
            part.add_related(b64decode(image), "image", "png", cid=f"<{IMAGE_ID}>", filename=f"{IMAGE_ID}.png")
        if csv := mail.get("csv"):
            name, charset = mail["csv_name"], {"charset": "utf-8"}
            message.add_attachment(csv.encode(), "text", "csv", filename=name, params=charset)
        return message

    async def _deliver(self, message: EmailMessage, step: float) -> None:
        server = self._server
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
            timeout=step,
        )


def _reason(error: Exception) -> str:
    if isinstance(error, aiosmtplib.SMTPAuthenticationError):
        return f"the server rejected the user name and password ({error.code})"
    if isinstance(error, aiosmtplib.SMTPRecipientsRefused):
        return f"the server rejected the recipient ({', '.join(str(recipient.code) for recipient in error.recipients)})"
    if isinstance(error, aiosmtplib.SMTPResponseException):
        return printable(f"the server responded {error.code} {error.message}")
    if isinstance(error, TimeoutError):
        return "timed out"
    return printable(str(error)) or "the connection was cut off"
