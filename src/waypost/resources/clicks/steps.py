"""What is made of a visit's raw line, one named step after the other. Pure: no step looks anything up elsewhere."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit
from uuid import UUID

from waypost.kit.clock import from_microseconds
from waypost.kit.proxies import read_forwarded, visitor_address
from waypost.redirect.spool import Visit
from waypost.resources.clicks.model import PREFETCH, Click

_PREFETCHING = (b"prefetch", b"prerender", b"preview")


@dataclass(frozen=True, slots=True)
class Rules:
    """What the operator decided."""

    trusted_proxies: Sequence[IPv4Network | IPv6Network] = ()
    ip_privacy: str = "full"
    """`full`, `truncated` or `none`."""


def address(click: Click, visit: Visit, rules: Rules) -> None:
    found = _visitor(visit, rules.trusted_proxies)
    click.ip = shortened(found, "truncated" if visit.privacy and rules.ip_privacy == "full" else rules.ip_privacy)


def kind(click: Click, visit: Visit, _rules: Rules) -> None:
    """A browser that fetches ahead, in case the visitor goes there, is not a visitor."""
    if visit.purpose and any(word in visit.purpose.lower() for word in _PREFETCHING):
        click.kind = PREFETCH


def scan(click: Click, visit: Visit, _rules: Rules) -> None:
    click.is_scan = b"r=qr" in visit.query.split(b"&")


def referrer(click: Click, visit: Visit, _rules: Rules) -> None:
    """Origin and path only: a query can carry what the visitor did not mean to tell."""
    if visit.referrer.startswith((b"http://", b"https://")):
        try:
            parts = urlsplit(_repeated(visit.referrer))
        except ValueError:
            return
        click.referrer = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def browser(click: Click, visit: Visit, _rules: Rules) -> None:
    click.user_agent = _repeated(visit.user_agent)
    click.language = _repeated(visit.language)


STEPS: tuple[Callable[[Click, Visit, Rules], None], ...] = (address, kind, scan, referrer, browser)


def click_of(visit: Visit, rules: Rules) -> Click:
    """Raises ValueError for ids that are not hexadecimal: such a line is damaged."""
    click = Click(UUID(int=int(visit.id, 16)), _link(visit.link), from_microseconds(int(visit.at)))
    for step in STEPS:
        step(click, visit, rules)
    return click


@lru_cache(10_000)
def _link(raw: bytes) -> UUID:
    return UUID(int=int(raw, 16))


def _visitor(visit: Visit, trusted: Sequence[IPv4Network | IPv6Network]) -> str:
    peer = _text(visit.peer)
    if not trusted and ":" not in peer:  # an IPv4 address as the kernel wrote it: reading it would find nothing new
        return peer
    hops = _text(visit.forwarded_for) or read_forwarded(_text(visit.forwarded))[0]
    return visitor_address(peer, hops, trusted)


@lru_cache(10_000)
def shortened(text: str, privacy: str) -> str:
    """The address with as much of it as is to be kept: all, its /24 or /48, or nothing."""
    if privacy == "full" or not text:
        return text
    if privacy == "none":
        return ""
    try:
        found = ip_address(text)
    except ValueError:  # a Unix socket's path
        return ""
    prefix = 24 if isinstance(found, IPv4Address) else 48
    return str(ip_network((found, prefix), strict=False).network_address)


def _text(raw: bytes) -> str:
    """Headers are bytes of no promised encoding; PostgreSQL takes no NUL."""
    return raw.decode("utf-8", "replace").replace("\0", "")


_repeated = lru_cache(10_000)(_text)  # browsers and languages are few, addresses would push them out
