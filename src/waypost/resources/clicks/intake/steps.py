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
from waypost.kit.proxies import storable_address
from waypost.redirect.pixel_pages import PLATFORM_LETTERS
from waypost.redirect.spool import Visit
from waypost.redirect.visit_headers import is_prefetch
from waypost.resources.clicks.intake.bots import detect_bot
from waypost.resources.clicks.model import HUMAN, PREFETCH, Click
from waypost.visitors.addresses import read_address
from waypost.visitors.agents import parse_user_agent

_MAX_TIME = 4_102_444_800_000_000  # the year 2100: a later time is a wrong clock
_CACHE_SIZE = 8_192
_MAX_RAW_REFERRER = 1_024  # bytes
_MAX_REFERRER = 500  # characters
_MAX_USER_AGENT = 512  # bytes
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_PLATFORMS = {letter: platform for platform, letter in PLATFORM_LETTERS.items()}
_PIXEL = re.compile(rb"([%b])([0-9a-f]{32})" % "".join(_PLATFORMS).encode())
_INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")  # and bidirectional controls


@dataclass(frozen=True, slots=True)
class IntakeSettings:
    trusted_proxies: Sequence[IPv4Network | IPv6Network]
    ip_privacy: str
    """`full`, `truncated` or `none`."""
    country_of_address: Callable[[str], str]
    """Returns "" for an unknown country."""
    visitor_key: bytes
    """Up to 64 bytes. Without it, an IP address cannot be derived from a `visitor_id`."""
    shared_domain: str = ""
    scheme: str = "https"
    """The scheme of the short links that platforms receive."""


def set_address(click: Click, visit: Visit, settings: IntakeSettings) -> None:
    """Set the full address: `mask_address` follows, because the country depends on it."""
    click.ip = read_address(visit.peer, visit.forwarded_for, visit.forwarded, settings.trusted_proxies)


def set_country(click: Click, _visit: Visit, settings: IntakeSettings) -> None:
    click.country = settings.country_of_address(click.ip)


def mask_address(click: Click, visit: Visit, settings: IntakeSettings) -> None:
    """Mask the IP address as far as the settings and the visitor ask."""
    level = "truncated" if visit.privacy and settings.ip_privacy == "full" else settings.ip_privacy
    click.ip = storable_address(click.ip, level)


def set_agent(click: Click, visit: Visit, _settings: IntakeSettings) -> None:
    agent = parse_user_agent(visit.user_agent)
    click.browser, click.platform, click.device = agent.browser, agent.platform, agent.device


def set_referrer(click: Click, visit: Visit, _settings: IntakeSettings) -> None:
    if visit.referrer:
        click.referrer = _origin_and_path(visit.referrer[:_MAX_RAW_REFERRER])


def set_visitor(click: Click, visit: Visit, settings: IntakeSettings) -> None:
    """Give visits the same id if masked IP address, user agent, day and account are the same."""
    identity = b"%b%d\0%b\0%b" % (click.account_id, click.day, click.ip.encode(), visit.user_agent)
    digest = blake2b(identity, digest_size=8, key=settings.visitor_key).digest()
    click.visitor_id = int.from_bytes(digest, signed=True)


def set_kind(click: Click, visit: Visit, _settings: IntakeSettings) -> None:
    if is_prefetch(visit.purpose):
        click.kind = PREFETCH
    elif bot := detect_bot(visit.user_agent):
        click.kind, click.bot = bot.kind, bot.name
    else:
        click.kind = HUMAN


def set_is_scan(click: Click, visit: Visit, _settings: IntakeSettings) -> None:
    click.is_scan = b"r=qr" in visit.query and b"r=qr" in visit.query.split(b"&")


def set_target(click: Click, visit: Visit, _settings: IntakeSettings) -> None:
    if visit.target:
        click.target = _text(visit.target)


def set_pixels(click: Click, visit: Visit, _settings: IntakeSettings) -> None:
    if visit.pixels and click.kind == HUMAN:
        click.pixels = _parse_pixels(visit.pixels)
        click.user_agent = _text(visit.user_agent[:_MAX_USER_AGENT])


STEPS: tuple[Callable[[Click, Visit, IntakeSettings], None], ...] = (
    set_address,
    set_country,
    mask_address,
    set_agent,
    set_referrer,
    set_visitor,
    set_kind,
    set_is_scan,
    set_target,
    set_pixels,
)


def build_click(visit: Visit, account_id: bytes, settings: IntakeSettings) -> Click:
    """Raises ValueError or OverflowError for a damaged line: an id that is not hexadecimal, a time out of range."""
    at = int(visit.at)
    if at >= _MAX_TIME:
        raise OverflowError(at)
    day, time = divmod(at, DAY)
    click = Click(unhexlify(visit.id), account_id, unhexlify(visit.link), at, day, time // QUARTER)
    for step in STEPS:
        step(click, visit, settings)
    return click


def redact(visit: Visit, settings: IntakeSettings) -> Visit:
    """Return a copy for backups with no more of IP address and referrer than its click will have.

    It becomes the same click, except that the country is that of the masked address.
    """
    click = Click(b"", b"", b"", 0, 0, 0)
    for step in (set_address, mask_address, set_referrer, set_is_scan):
        step(click, visit, settings)
    return visit._replace(
        query=b"r=qr" if click.is_scan else b"",
        peer=click.ip.encode(),
        forwarded_for=b"",
        forwarded=b"",
        referrer=click.referrer.encode(),
        language=b"",
    )


@lru_cache(_CACHE_SIZE)
def _origin_and_path(raw: bytes) -> str:
    """Drop the query, which may contain private data. Return "" for anything but a web page."""
    if not raw.lower().startswith((b"http://", b"https://")):
        return ""
    try:
        parts = urlsplit(_INVISIBLE.sub("", raw.decode("utf-8", "replace")))
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2].lower().removesuffix(_DEFAULT_PORTS[parts.scheme])
    return f"{parts.scheme}://{host}{parts.path or '/'}"[:_MAX_REFERRER] if host else ""


@lru_cache(_CACHE_SIZE)
def _parse_pixels(raw: bytes) -> tuple[tuple[str, UUID], ...]:
    """Skip a partial last pixel of a damaged line."""
    matches = (_PIXEL.fullmatch(pixel) for pixel in raw.split(b","))
    return tuple((_PLATFORMS[match[1].decode()], UUID(match[2].decode())) for match in matches if match)


def _text(raw: bytes) -> str:
    """Headers have no defined encoding, and a damaged line may end anywhere. PostgreSQL stores no NUL."""
    return raw.decode("utf-8", "replace").replace("\0", "")
