"""Parses the mail settings: the URL of the server, and the sender. Errors never contain their values."""

from dataclasses import dataclass
from email.headerregistry import Address
from email.utils import parseaddr
from typing import Literal, cast, get_args
from urllib.parse import parse_qs, unquote, urlsplit

Starttls = Literal["auto", "always", "never"]


@dataclass(frozen=True, slots=True)
class SmtpServer:
    host: str
    port: int
    is_tls: bool
    """smtps: TLS from the first byte."""
    starttls: Starttls
    user: str = ""
    password: str = ""

    def __repr__(self) -> str:
        return f"SmtpServer({self.host}:{self.port})"  # without the password


def parse_smtp_url(url: str) -> SmtpServer | None:
    """`smtp://user:password@host:port?starttls=always`. Raise ValueError, without the URL in its text."""
    if not url:
        return None
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        given = parse_qs(parts.query, keep_blank_values=True, strict_parsing=True) if parts.query else {}
    except ValueError:
        raise ValueError("must be a URL such as smtp://user:password@mail.example.com:587") from None
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    starttls = given.pop("starttls", ["always" if user else "auto"])[-1]
    if parts.scheme not in {"smtp", "smtps"} or not host or given or parts.path not in {"", "/"}:
        raise ValueError("must be smtp://HOST or smtps://HOST, with an optional ?starttls=")
    if starttls not in get_args(Starttls):
        raise ValueError("starttls must be auto, always or never")
    is_tls = parts.scheme == "smtps"
    return SmtpServer(
        host, port or (465 if is_tls else 587 if user else 25), is_tls, cast(Starttls, starttls), user, password
    )


def parse_sender(text: str) -> Address:
    """`Waypost <noreply@example.com>`. Raise ValueError."""
    name, address = parseaddr(text)
    try:
        if "@" in address and (text + name).isprintable():
            return Address(display_name=name, addr_spec=address)
    except ValueError:  # not an email address
        pass
    raise ValueError("must be an email address such as noreply@example.com")
