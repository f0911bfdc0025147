"""A scripted mail server on loopback that speaks SMTP as RFC 5321 has it, with STARTTLS and AUTH PLAIN."""

import asyncio
import base64
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Self


@dataclass
class MailServer:
    """`answers`: what is said to a command in place of the usual, such as {"RCPT": "550 no such user"}."""

    tls: ssl.SSLContext | None = None
    is_tls: bool = False
    """From the first byte."""
    user: str = ""
    password: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)
    envelopes: list[tuple[str, Sequence[str]]] = field(default_factory=list)
    mails: list[EmailMessage] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self.tls if self.is_tls else None)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._talk(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_secret = self.is_tls
        sender, recipients = "", list[str]()
        writer.write(b"220 mail.test ESMTP\r\n")
        while line := (await reader.readline()).decode().rstrip("\r\n"):
            verb = line.split()[0].upper()
            self.commands.append(line)
            if verb in self.answers:
                answer = self.answers[verb]
            elif verb == "EHLO":
                offers = ["mail.test", *(["STARTTLS"] if self.tls and not is_secret else []), "AUTH PLAIN", "8BITMIME"]
                answer = "\r\n".join([*(f"250-{offer}" for offer in offers), "250 SMTPUTF8"])
            elif verb == "STARTTLS" and self.tls:
                writer.write(b"220 go ahead\r\n")
                await writer.drain()
                await writer.start_tls(self.tls)
                is_secret = True
                continue
            elif verb == "AUTH":
                given = base64.b64decode(line.split()[2]).decode()
                answer = "235 welcome" if given == f"\0{self.user}\0{self.password}" else "535 not you"
            elif verb == "MAIL":
                sender, recipients, answer = line[len("MAIL FROM:<") :].partition(">")[0], [], "250 ok"
            elif verb == "RCPT":
                recipients.append(line[len("RCPT TO:<") :].partition(">")[0])
                answer = "250 ok"
            elif verb == "DATA":
                writer.write(b"354 go on\r\n")
                body = await reader.readuntil(b"\r\n.\r\n")
                text = b"\r\n".join(part.removeprefix(b".") for part in body[:-3].split(b"\r\n"))
                self.mails.append(message_from_bytes(text, policy=policy.default))  # type: ignore[arg-type]
                self.envelopes.append((sender, recipients))
                answer = "250 queued"
            else:
                answer = "221 bye" if verb == "QUIT" else "502 not known"
            writer.write(f"{answer}\r\n".encode())
            if verb == "QUIT":
                return
