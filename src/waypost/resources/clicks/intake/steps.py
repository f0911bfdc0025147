"""Turns the raw line of a visit into a click, in a fixed sequence of steps. Pure: no step does I/O."""

import re
from binascii import unhexlify
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from ipaddress import IPv4Network, IPv6Network
from urllib.parse import urlsplit
from uuid import UUID

from waypost.kit.clock import DAY, QUARTER
from waypost.kit.proxies import ForwardingHeaders, storable_address, visitor_address
from waypost.redirect.pixel_pages import PLATFORM_LETTERS
from waypost.redirect.spool import Visit
from waypost.resources.clicks.intake.agents import agent_of
from waypost.resources.clicks.intake.bots import bot_of
from waypost.resources.clicks.model import HUMAN, PREFETCH, Click

_END_OF_TIME = 4_102_444_800_000_000  # the year 2100: a later time is a wrong clock
_CACHED = 8_192
_REFERRER_READ = 1_024  # bytes
_REFERRER_KEPT = 500  # characters
_AGENT_KEPT = 512  # bytes
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_PREFETCHING = (b"prefetch", b"prerender", b"preview")
_PLATFORMS = {letter: platform for platform, letter in PLATFORM_LETTERS.items()}
_PIXEL = re.compile(rb"([%b])([0-9a-f]{32})" % "".join(_PLATFORMS).encode())
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")  # and bidirectional controls


@dataclass(frozen=True, slots=True)
class Rules:
    """The operator's settings."""

    trusted_proxies: Sequence[IPv4Network | IPv6Network]
    ip_privacy: str
    """`full`, `truncated` or `none`."""
    countries: Callable[[str], str]
    """The country of an IP address, "" if unknown."""
    visitor_key: bytes
    """Up to 64 bytes. Without it nobody can derive an IP address from a `visitor_id`."""
    shared_domain: str = ""
    scheme: str = "https"
    """Of the short links that platforms receive."""


def address(click: Click, visit: Visit, rules: Rules) -> None:
    """Unmasked until `privacy`: the country depends on it."""
    peer = _text(visit.peer)
    if rules.trusted_proxies:
        headers = ForwardingHeaders(_text(visit.forwarded_for), forwarded=_text(visit.forwarded))
        click.ip = visitor_address(peer, headers, rules.trusted_proxies)
    elif b":" in visit.peer:
        click.ip = visitor_address(peer, ForwardingHeaders(), ())
    else:  # IPv4 from the kernel is canonical already
        click.ip = peer


def country(click: Click, _visit: Visit, rules: Rules) -> None:
    click.country = rules.countries(click.ip)


def privacy(click: Click, visit: Visit, rules: Rules) -> None:
    """Masks the IP address as far as the settings and the visitor ask."""
    level = "truncated" if visit.privacy and rules.ip_privacy == "full" else rules.ip_privacy
    click.ip = storable_address(click.ip, level)


def agent(click: Click, visit: Visit, _rules: Rules) -> None:
    found = agent_of(visit.user_agent)
    click.browser, click.platform, click.device = found.browser, found.platform, found.device


def referrer(click: Click, visit: Visit, _rules: Rules) -> None:
    if visit.referrer:
        click.referrer = _origin_and_path(visit.referrer[:_REFERRER_READ])


def visitor(click: Click, visit: Visit, rules: Rules) -> None:
    """The same id for the same masked IP address, user agent, day and account only."""
    identity = b"%b%d\0%b\0%b" % (click.account_id, click.day, click.ip.encode(), visit.user_agent)
    digest = blake2b(identity, digest_size=8, key=rules.visitor_key).digest()
    click.visitor_id = int.from_bytes(digest, signed=True)


def kind(click: Click, visit: Visit, _rules: Rules) -> None:
    """Prefetches of browsers and bots are not visitors."""
    if visit.purpose and any(word in visit.purpose.lower() for word in _PREFETCHING):
        click.kind = PREFETCH
    elif bot := bot_of(visit.user_agent):
        click.kind, click.bot = bot.kind, bot.name
    else:
        click.kind = HUMAN


def scan(click: Click, visit: Visit, _rules: Rules) -> None:
    click.is_scan = b"r=qr" in visit.query and b"r=qr" in visit.query.split(b"&")


def pixels(click: Click, visit: Visit, _rules: Rules) -> None:
    if visit.pixels and click.kind == HUMAN:
        click.pixels = _fired(visit.pixels)
        click.user_agent = _text(visit.user_agent[:_AGENT_KEPT])


STEPS: tuple[Callable[[Click, Visit, Rules], None], ...] = (
    address,
    country,
    privacy,
    agent,
    referrer,
    visitor,
    kind,
    scan,
    pixels,
)


def new_click(visit: Visit, account_id: bytes, rules: Rules) -> Click:
    """Raises ValueError or OverflowError for a damaged line: an id that is not hexadecimal, a time out of range."""
    at = int(visit.at)
    if at >= _END_OF_TIME:
        raise OverflowError(at)
    day, time = divmod(at, DAY)
    click = Click(unhexlify(visit.id), account_id, unhexlify(visit.link), at, day, time // QUARTER)
    for step in STEPS:
        step(click, visit, rules)
    return click


def redacted(visit: Visit, rules: Rules) -> Visit:
    """A copy for backups with no more of IP address and referrer than its click will have.

    It becomes the same click, except that the country is that of the masked address.
    """
    click = Click(b"", b"", b"", 0, 0, 0)
    for step in (address, privacy, referrer, scan):
        step(click, visit, rules)
    return visit._replace(
        query=b"r=qr" if click.is_scan else b"",
        peer=click.ip.encode(),
        forwarded_for=b"",
        forwarded=b"",
        referrer=click.referrer.encode(),
        language=b"",
    )


@lru_cache(_CACHED)
def _origin_and_path(raw: bytes) -> str:
    """Drops the query, which may contain private data. "" for anything but a web page."""
    if not raw.lower().startswith((b"http://", b"https://")):
        return ""
    try:
        parts = urlsplit(_UNSEEN.sub("", raw.decode("utf-8", "replace")))
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2].lower().removesuffix(_DEFAULT_PORTS[parts.scheme])
    return f"{parts.scheme}://{host}{parts.path or '/'}"[:_REFERRER_KEPT] if host else ""


@lru_cache(_CACHED)
def _fired(raw: bytes) -> tuple[tuple[str, UUID], ...]:
    """Skips a partial last pixel of a damaged line."""
    found = (_PIXEL.fullmatch(each) for each in raw.split(b","))
    return tuple((_PLATFORMS[each[1].decode()], UUID(each[2].decode())) for each in found if each)


def _text(raw: bytes) -> str:
    """Headers have no defined encoding. PostgreSQL stores no NUL."""
    return raw.decode("utf-8", "replace").replace("\0", "")
