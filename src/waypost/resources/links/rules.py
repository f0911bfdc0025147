"""What may be a link: slugs, loops, states, and what is said of faults. Pure: asks no database and no host."""

import re
import secrets
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Literal
from urllib.parse import urlsplit
from uuid import UUID

from waypost.kit.urls import Url
from waypost.resources.links.model import LinkStatus

SlugState = Literal["free", "own", "here", "taken", "refused"]

UNTITLED = "Untitled"
MAX_URL = 2048
MAX_SLUG = 255
MAX_PIXELS = 20
MAX_IMAGES_MB = 500
"""Of an account, together."""

FORM_USED = "This form was sent already, and its link is not there any more. Open a new form."
SLUG_TAKEN = "This slug is already taken. Choose another one."
UNREACHABLE = "The destination URL could not be reached. Check the URL and try again."
UNSAFE = "The destination URL was flagged as unsafe and cannot be shortened."
NOT_PUBLIC = "The destination URL does not lead to a public address. Use one that anybody can reach."
LOOP = (
    "The destination URL is on this service's own domain, so the link would lead in circles. Use another destination."
)
TOO_LONG = f"This may have at most {MAX_URL} characters, the UTM parameters included."
NO_SUCH_PIXEL = "This is not a pixel of your account."
NOT_AN_ID = "This must be a UUID."
NO_SUCH_DOMAIN = "This is not a domain registered to your account."
NO_ROOM_FOR_IMAGE = (
    f"Your images take up {MAX_IMAGES_MB} MB together, which is the most an account can have. Delete links with images"
    " that you no longer need, or remove their images."
)
NOT_FUTURE = "This must be a time in the future."
UTM_NEEDS_URL = "This is required when utm_params is sent."

_SLUG = re.compile(r"[A-Za-z0-9_-]+")
ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"  # without 0 O 1 l I
_FIRST_LENGTH = 7
_TRIES_PER_LENGTH = 4
_RUDE = ("anal", "anus", "arse", "bitch", "cock", "coon", "cum", "cunt", "dick", "dyke", "fag", "fuck", "fuk", "gook",
         "homo", "jizz", "kike", "nazi", "nigg", "paki", "penis", "piss", "porn", "pussy", "rape", "sex", "shit",
        "slut",
         "spic", "suck", "tits", "twat", "vagin", "wank", "whore", "xxx")  # fmt: skip
_LOOK_ALIKES = str.maketrans("1345790", "ieastgo")


def slug_problem(slug: str, reserved: Collection[str]) -> str | None:
    if len(slug) > MAX_SLUG:
        return f"This may have at most {MAX_SLUG} characters."
    if not _SLUG.fullmatch(slug):
        return "This may hold only letters (a-z, A-Z), digits, dashes and underscores."
    if slug.lower() in reserved:
        return "This slug is reserved for the service itself. Choose another one."
    return None


def slug_state(held: tuple[UUID, UUID | None] | None, account: UUID, link: UUID | None) -> tuple[SlugState, str]:
    """`held`: the account that has the slug, and the link it is on; `link`: the one that wants it, once it is there."""
    if held is None:
        return "free", ""
    if held[0] != account or held[1] not in {None, link}:
        return "taken", SLUG_TAKEN
    return ("own" if held[1] is None else "here"), ""


def generated_slug(attempt: int, reserved: Collection[str]) -> str:
    """`attempt` counts from 0: after several collisions a longer slug is tried, so a crowded length ends no create."""
    length = _FIRST_LENGTH + attempt // _TRIES_PER_LENGTH
    while True:
        slug = "".join(secrets.choice(ALPHABET) for _ in range(length))
        if slug.lower() not in reserved and not is_rude(slug):
            return slug


def is_rude(slug: str) -> bool:
    read = slug.lower()
    return any(word in read or word in read.translate(_LOOK_ALIKES) for word in _RUDE)


def is_own_host(url: Url, own: Sequence[str]) -> bool:
    """Whether the URL leads back to one of `own` (`host[:port]`); the default ports of http and https count as one."""
    return (url.host, _told_port(url.port)) in {_host_and_port(netloc) for netloc in own}


def is_own_port(url: Url, own: Sequence[str]) -> bool:
    """Whether a custom domain could be visited on the URL's port: a usual one, or one of `own`."""
    return _told_port(url.port) in {None, *(_host_and_port(netloc)[1] for netloc in own)}


def _host_and_port(netloc: str) -> tuple[str, int | None]:
    parts = urlsplit(f"//{netloc}")
    return (parts.hostname or "").rstrip("."), _told_port(parts.port)


def _told_port(port: int | None) -> int | None:
    return None if port in {80, 443} else port


def status(*, is_on: bool, expires_at: datetime | None, now: datetime) -> LinkStatus:
    return "active" if is_on and (expires_at is None or expires_at > now) else "inactive"
