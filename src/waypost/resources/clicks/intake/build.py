"""Turns the raw line of a visit into a click."""

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
from waypost.redirect.request import is_prefetch
from waypost.redirect.spool import Visit
from waypost.resources.clicks.intake.bots import Bot, detect_bot
from waypost.resources.clicks.model import HUMAN, PREFETCH, Click, ClickKind
from waypost.secret_key import derived_key
from waypost.settings import Settings
from waypost.visitors import countries
from waypost.visitors.addresses import read_address
from waypost.visitors.agents import Agent, parse_user_agent
from waypost.visitors.referrers import MAX_RAW_REFERRER, read_referrer

_MAX_TIME = 4_102_444_800_000_000  # the year 2100: a later time is a wrong clock
_CACHE_SIZE = 8_192
_MAX_USER_AGENT = 512  # bytes
_PLATFORMS = {letter: platform for platform, letter in PLATFORM_LETTERS.items()}
_PIXEL = re.compile(rb"([%b])([0-9a-f]{32})" % "".join(_PLATFORMS).encode())


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


def intake_settings(settings: Settings) -> IntakeSettings:
    return IntakeSettings(
        settings.trusted_proxies,
        settings.ip_privacy,
        countries.open_countries(settings.geoip_database).of,
        derived_key(settings, "visitors"),
        settings.shared_domain,
        urlsplit(settings.base_url).scheme,
    )


def build_click(visit: Visit, account_id: bytes, settings: IntakeSettings) -> Click:
    """Raises ValueError or OverflowError for a damaged line: an id that is not hexadecimal, a time out of range.

    One function without intermediate objects: it runs once for each click, and is most of the time before the database.
    """
    id_, at_text, link, query, *_, user_agent, referrer, _language, purpose, _privacy, pixels, target = visit
    at = int(at_text)
    if at >= _MAX_TIME:
        raise OverflowError(at)
    day, time = divmod(at, DAY)
    address = address_of(visit, settings)
    ip = _masked(address, visit, settings)
    agent, bot = _client(user_agent)
    kind: ClickKind = PREFETCH if purpose and is_prefetch(purpose) else bot.kind if bot else HUMAN
    has_pixels = bool(pixels) and kind == HUMAN
    return Click(
        unhexlify(id_),
        account_id,
        unhexlify(link),
        at,
        day,
        time // QUARTER,
        kind,
        bot.name if bot and kind != PREFETCH else None,
        _is_scan(query),
        ip,
        settings.country_of_address(address),  # of the full address
        _visitor_id(account_id, day, ip, user_agent, settings),
        read_referrer(referrer[:MAX_RAW_REFERRER]) if referrer else "",
        agent.device,
        agent.browser,
        agent.platform,
        _text(target) if target else "",
        _parse_pixels(pixels) if has_pixels else (),
        _text(user_agent[:_MAX_USER_AGENT]) if has_pixels else "",
    )


def redact(visit: Visit, settings: IntakeSettings) -> Visit:
    """Return a copy for backups with no more of IP address and referrer than its click will have.

    It becomes the same click, except that the country is that of the masked address.
    """
    return visit._replace(
        query=b"r=qr" if _is_scan(visit.query) else b"",
        peer=_masked(address_of(visit, settings), visit, settings).encode(),
        forwarded_for=b"",
        forwarded=b"",
        referrer=read_referrer(visit.referrer[:MAX_RAW_REFERRER]).encode(),
        language=b"",
    )


def address_of(visit: Visit, settings: IntakeSettings) -> str:
    return read_address(visit.peer, visit.forwarded_for, visit.forwarded, settings.trusted_proxies)


def _masked(address: str, visit: Visit, settings: IntakeSettings) -> str:
    """Mask the IP address as far as the settings and the visitor ask."""
    level = "truncated" if visit.privacy and settings.ip_privacy == "full" else settings.ip_privacy
    return address if level == "full" else storable_address(address, level)


@lru_cache(_CACHE_SIZE)
def _client(user_agent: bytes) -> tuple[Agent, Bot | None]:
    return parse_user_agent(user_agent), detect_bot(user_agent)


def _visitor_id(account_id: bytes, day: int, ip: str, user_agent: bytes, settings: IntakeSettings) -> int:
    """Give visits the same id if masked IP address, user agent, day and account are the same."""
    identity = b"%b%d\0%b\0%b" % (account_id, day, ip.encode(), user_agent)
    return int.from_bytes(blake2b(identity, digest_size=8, key=settings.visitor_key).digest(), signed=True)


def _is_scan(query: bytes) -> bool:
    return b"r=qr" in query and b"r=qr" in query.split(b"&")


@lru_cache(_CACHE_SIZE)
def _parse_pixels(raw: bytes) -> tuple[tuple[str, UUID], ...]:
    """Skip a partial last pixel of a damaged line."""
    matches = (_PIXEL.fullmatch(pixel) for pixel in raw.split(b","))
    return tuple((_PLATFORMS[match[1].decode()], UUID(match[2].decode())) for match in matches if match)


def _text(raw: bytes) -> str:
    """Headers have no defined encoding, and a damaged line may end anywhere. PostgreSQL stores no NUL."""
    return raw.decode("utf-8", "replace").replace("\0", "")
