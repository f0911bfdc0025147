"""What an installation lacks, or opens, before others use it.

`waypost doctor` reports all of it. The log of a start and the file of the first start have what needs attention.
Nothing is sent to find it out.
"""

import contextlib
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from waypost.kit.clock import Clock
from waypost.kit.proxies import is_loopback, parse_ip
from waypost.kit.urls import is_public_name
from waypost.settings import Settings

_MAX_BACKUP_AGE = timedelta(days=8)
_ELSEWHERE = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Addresses of documentation. A route to them is one to the internet."""


@dataclass(frozen=True)
class Finding:
    check: str
    state: Literal["ok", "warning", "failed"]
    message: str
    advice: str = ""
    """What to do. Of what is ok: before others use the service."""


def last_backup(data_dir: Path) -> Path:
    """The file whose time is that of the last backup."""
    return data_dir / "last-backup"


def base_url(settings: Settings, _now: Clock) -> Finding:
    scheme, url = urlsplit(settings.base_url).scheme, settings.base_url
    if scheme == "http" and settings.tls:
        advice = "Set WAYPOST_BASE_URL to an https:// URL, unless only custom domains need HTTPS."
        return Finding("base URL", "warning", f"WAYPOST_TLS obtains no certificate for {url}", advice)
    if _is_local(settings):
        advice = "Only this machine can open it and its short links. Set WAYPOST_BASE_URL before you share them."
        return Finding("base URL", "ok", url, advice)
    if scheme == "http":
        advice = "Use a TLS proxy or WAYPOST_TLS, and set WAYPOST_BASE_URL to an https:// URL."
        return Finding("base URL", "warning", f"{url} sends API keys unencrypted", advice)
    if not (settings.tls or settings.trusted_proxies):
        advice = "Add the proxy that serves HTTPS to WAYPOST_TRUSTED_PROXIES, and let it send X-Forwarded-Proto."
        return Finding("base URL", "warning", f"no trusted proxy reports that requests to {url} use HTTPS", advice)
    return Finding("base URL", "ok", url)


def sign_up(settings: Settings, _now: Clock) -> Finding:
    message = f"everyone can create an account at {settings.base_url}" if settings.signup == "open" else settings.signup
    if settings.signup == "open" and "signup" not in settings.model_fields_set and _is_public(_host(settings)):
        advice = "Set WAYPOST_SIGNUP=invite or closed; or open, if everyone may."
        return Finding("sign-up", "warning", message, advice)
    return Finding("sign-up", "ok", message)


def email(settings: Settings, _now: Clock) -> Finding:
    if settings.mail_server:
        return Finding("email", "ok", "sent by WAYPOST_SMTP_URL")
    advice = "Set WAYPOST_SMTP_URL: without it nobody can reset a password by email."
    return Finding("email", "ok" if _is_local(settings) else "warning", "not sent, but written to files", advice)


def backup(settings: Settings, now: Clock) -> Finding:
    """Check the last backup. Those of PostgreSQL are unknown here."""
    if not settings.database.startswith("sqlite"):
        return Finding("backup", "ok", "the database is backed up by pg_dump, which is not checked")
    try:
        age = now() - datetime.fromtimestamp(last_backup(settings.data_dir).stat().st_mtime, UTC)
    except OSError:
        age = None
    message = "there is none" if age is None else f"the last one is {age.days} days old"
    if age is not None and age <= _MAX_BACKUP_AGE:
        return Finding("backup", "ok", message)
    other = f"After a backup by another program: touch {last_backup(settings.data_dir)}"
    advice = f"Run waypost backup FILE each day. {other}"
    return Finding("backup", "ok" if _is_local(settings) else "warning", message, advice)


def internet(settings: Settings, _now: Clock) -> Finding:
    if settings.proxy:
        return Finding("internet", "ok", f"through the proxy {settings.proxy.address}")
    if any(_has_route(family, address) for family, address in _ELSEWHERE.items()):
        return Finding("internet", "ok", "this machine has a route to it")
    advice = (
        ""
        if settings.destination_check == "lenient"
        else "Set WAYPOST_DESTINATION_CHECK=lenient to create links nevertheless."
    )
    return Finding("internet", "warning" if advice else "ok", "this machine has no route to it", advice)


def outbound(settings: Settings, _now: Clock) -> Finding:
    through = f", through the proxy {settings.proxy.address}" if settings.proxy else ""
    is_trusted = settings.proxy is not None and settings.proxy.resolves_names
    if is_trusted:
        through += ", which decides which addresses names lead to"
    if settings.outbound_allow:
        allowed = ", ".join(map(str, settings.outbound_allow))
        advice = "Remove WAYPOST_OUTBOUND_ALLOW unless users need links to these networks and hosts."
        return Finding("outbound", "warning", f"every user can reach destinations in {allowed}{through}", advice)
    if is_trusted:
        advice = "Have the proxy refuse private addresses, or remove ?resolve=proxy from WAYPOST_OUTBOUND_PROXY."
        return Finding("outbound", "warning", f"public addresses and names{through}", advice)
    return Finding("outbound", "ok", f"public addresses only{through}")


CHECKS: tuple[tuple[tuple[str, ...], Callable[[Settings, Clock], Finding]], ...] = (
    (("base_url", "tls", "trusted_proxies"), base_url),
    (("base_url", "signup"), sign_up),
    (("base_url", "smtp_url"), email),
    (("base_url", "data_dir", "database_url"), backup),
    (("outbound_proxy", "destination_check"), internet),
    (("outbound_allow", "outbound_proxy"), outbound),
)
"""Each check, and the settings that must be valid for it."""


def _is_local(settings: Settings) -> bool:
    host = _host(settings)
    return is_loopback(host) or host.endswith(".localhost")


def _is_public(host: str) -> bool:
    address = parse_ip(host)
    return address.is_global if address else is_public_name(host)


def _host(settings: Settings) -> str:
    return urlsplit(settings.base_url).hostname or ""


def _has_route(family: socket.AddressFamily, address: str) -> bool:
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as unsent:
        unsent.connect((address, 9))  # sends nothing: it chooses a route
        return True
    return False
