"""Rules for links, without I/O: slugs, redirect loops, and the link that a request creates or changes."""

import re
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

from waypost.kit.clock import EPOCH
from waypost.kit.errors import Problems
from waypost.kit.fields import MAX_URL
from waypost.kit.ids import parse_id
from waypost.kit.slug_style import ALPHABETS, DEFAULT_SLUGS, SlugStyle
from waypost.kit.urls import Url, UtmKey, with_query, without_query_keys
from waypost.outbound import PageMetadata
from waypost.redirect import fold
from waypost.resources.links.aliases import Alias
from waypost.resources.links.images import media
from waypost.resources.links.images.media import UploadedImage
from waypost.resources.links.model import UNTITLED, Link
from waypost.resources.links.schemas import MAX_SLUG, MAX_TAGS, LinkChange, LinkFields, NewLink

SlugState = Literal["free", "own", "current", "taken", "refused"]
"""`own`: free for this account only, which used it before. `current`: the slug of the link itself."""

MAX_IMAGES_MB = 500
"""Per account."""

FORM_USED = "This form was already submitted and its link has since been deleted. Open a new form."
SLUG_TAKEN = "This slug is already taken. Choose another one."
SLUG_USED = "One of your links uses this slug. Choose another one."
EXTERNAL_ID_TAKEN = "Another link of your account has this external ID. Each link needs its own."
UNREACHABLE = "The destination URL could not be reached. Check the URL and try again."
UNSAFE = "The destination URL was flagged as unsafe and cannot be shortened."
NOT_PUBLIC = "The destination URL is not on the public internet. Use a URL that is reachable from the internet."
LOOP = (
    "The destination URL is on this service's own domain, which would cause a redirect loop. Use another destination."
)
TOO_LONG = f"This must have at most {MAX_URL:,} characters, including the UTM parameters."
NO_SUCH_PIXEL = "This is not a pixel of your account."
NOT_AN_ID = "This must be a UUID."
NO_SUCH_DOMAIN = "This is not a domain of your account."
IMAGE_QUOTA_USED = (
    f"Your images use {MAX_IMAGES_MB} MB, the limit per account. Delete links with images that you no longer"
    " need, or remove their images."
)
TOO_MANY_TAGS = f"The link would have more than {MAX_TAGS} tags. Remove some of its tags first."
DISABLED_BY_OPERATOR = "Disabled by the operator: {}"
NOT_FUTURE = "This must be a time in the future."
UTM_NEEDS_URL = "This is required when utm_params is sent."

_SLUG = re.compile(r"[A-Za-z0-9_-]+")
_ATTEMPTS_PER_LENGTH = 4
_RUDE = ("anal", "anus", "arse", "bitch", "cock", "coon", "cum", "cunt", "dick", "dyke", "fag", "fuck", "fuk", "gook",
         "homo", "jizz", "kike", "nazi", "nigg", "paki", "penis", "piss", "porn", "pussy", "rape", "sex", "shit",
         "slut", "spic", "suck", "tits", "twat", "vagin", "wank", "whore", "xxx")  # fmt: skip
_LOOK_ALIKES = str.maketrans("1345790", "ieastgo")

_TAKEN_AS_SENT = LinkFields.model_fields.keys() & Link.__dataclass_fields__.keys() - {
    *("destination_url", "hostname", "og_image", "pixel_ids", "utm_params"),  # what they become depends on more
}
_BLANK = Link(UUID(int=0), UUID(int=0), EPOCH, EPOCH)
"""Has what null sets a field to."""
_NOT_IN_ROUTES = ("tags", "note", "external_id", "updated_at", "changed_by")


def find_slug_problem(slug: str, reserved: Collection[str]) -> str | None:
    if len(slug) > MAX_SLUG:
        return f"This must have at most {MAX_SLUG} characters."
    if not _SLUG.fullmatch(slug):
        return "This must contain only letters (a-z, A-Z), digits, hyphens and underscores."
    if slug.lower() in reserved:
        return "This slug is reserved. Choose another one."
    return None


def slug_state(owner: tuple[UUID, UUID | None] | None, account: UUID, link: UUID | None) -> tuple[SlugState, str]:
    """Return the state of a slug, and the problem with it.

    `owner`: the account that has the slug, and the link that uses it; `link`: the one being edited.
    """
    if owner is None:
        return "free", ""
    if owner[0] != account:
        return "taken", SLUG_TAKEN
    if owner[1] not in {None, link}:
        return "taken", SLUG_USED
    return ("own" if owner[1] is None else "current"), ""


def generate_slug(attempt: int, reserved: Collection[str], style: SlugStyle = DEFAULT_SLUGS) -> str:
    """Generate a slug. `attempt` counts from 0: after several collisions slugs get longer, so that one is free."""
    length, alphabet = style.length + attempt // _ATTEMPTS_PER_LENGTH, ALPHABETS[style.alphabet]
    while True:
        slug = "".join(secrets.choice(alphabet) for _ in range(length))
        if slug.lower() not in reserved and not is_rude(slug):
            return slug


def with_folded_slug(before: Link | None, after: Link) -> Link:
    """Return the link with the case-folded form of a slug that was not generated. `before`: None for a new link."""
    if (before is not None and before.slug == after.slug) or not after.slug or after.folded_slug == _folded(after.slug):
        return after
    return replace(after, folded_slug=_folded(after.slug))


def _folded(slug: str) -> str:
    return fold(slug.encode()).decode()


def is_rude(slug: str) -> bool:
    lower = slug.lower()
    return any(word in lower or word in lower.translate(_LOOK_ALIKES) for word in _RUDE)


def check_pixels(fields: LinkFields, own_ids: Collection[UUID], problems: Problems) -> None:
    for index, sent in enumerate(fields.pixel_ids or []):
        id_ = parse_id(sent) if isinstance(sent, str) else None
        if id_ not in own_ids:
            problems.add(f"pixel_ids.{index}", NO_SUCH_PIXEL if id_ else NOT_AN_ID)


def change_tags(tags: Sequence[str], added: Sequence[str], removed: Collection[str]) -> list[str]:
    """Return the tags in their order, without removed ones, followed by added ones."""
    return list(dict.fromkeys([*(tag for tag in tags if tag not in removed), *added]))


def replace_tag(tags: Sequence[str], old: str, new: str | None) -> list[str]:
    """Return the tags with the new one where the old one was, once. None: without the old one."""
    return list(dict.fromkeys(renamed for tag in tags if (renamed := new if tag == old else tag) is not None))


def is_own_host(url: Url, own_hosts: Sequence[str]) -> bool:
    """Whether the URL is on one of `own_hosts` (`host[:port]`). The ports 80 and 443 count as the same."""
    return (url.host, _unless_default(url.port)) in {_host_and_port(netloc) for netloc in own_hosts}


def is_own_port(url: Url, own_hosts: Sequence[str]) -> bool:
    """Whether custom domains may be served on the URL's port: 80, 443, or one of `own_hosts`."""
    return _unless_default(url.port) in {None, *(_host_and_port(netloc)[1] for netloc in own_hosts)}


class Facts(NamedTuple):
    """What checks found out about the fields of a request. Empty for those that were not sent."""

    url: Url | None = None
    domain: UUID | None = None
    """None: the shared domain."""
    image: UploadedImage | None = None
    page: PageMetadata = PageMetadata()


class LinkPlan(NamedTuple):
    """What becomes of a link."""

    before: Link | None
    """None: the link is new."""
    after: Link
    """Without what `problems` refuses."""
    problems: Mapping[str, str] = {}
    """By field of the request."""
    aliases: Sequence[Alias] = ()
    """Those that it gets."""
    is_rerouted: bool = False
    """Whether its routing changes, too, which has a table of its own."""

    def add_problems(self, problems: Problems) -> None:
        for name, text in self.problems.items():
            problems.add(name, text)

    @property
    def reroutes(self) -> bool:
        """Whether visitors may get something else."""
        if self.before is None or self.is_rerouted:
            return True
        kept = {name: getattr(self.after, name) for name in _NOT_IN_ROUTES}
        return replace(self.before, **kept) != self.after


def plan(before: Link | None, requested: Link, *, by: str, at: datetime) -> LinkPlan:
    """Decide what a link becomes, for every way to ask for it.

    `before`: the link, locked by the transaction that applies the plan, or read for a check before; `requested`: see
    `new_link` and `changed`.
    """
    if before is None:
        after = replace(requested, created_by=by, folded_slug=_folded(requested.slug) if requested.slug else None)
        return LinkPlan(None, after, _find_problems(after))
    problems, after = _find_problems(requested), requested
    if before.disabled_reason is not None and requested.is_enabled and not before.is_enabled:
        problems = {"status": DISABLED_BY_OPERATOR.format(before.disabled_reason), **problems}
        after = replace(requested, is_enabled=False)
    return LinkPlan(before, after if after == before else replace(after, updated_at=at, changed_by=by), problems)


def _find_problems(link: Link) -> dict[str, str]:
    problems = {}
    if len(link.destination_url) > MAX_URL:
        problems["destination_url"] = TOO_LONG
    if len(link.tags) > MAX_TAGS:  # only by adding tags to those of the link; others are in the body
        problems["add_tags"] = TOO_MANY_TAGS
    return problems


def new_link(account: UUID, new: NewLink, facts: Facts, *, base_url: str, link_id: UUID, now: datetime) -> Link:
    """Return the link that a request asks for. Sent values replace those of the page, field by field."""
    page = facts.page
    scraped = Link(
        link_id,
        account,
        now,
        now,
        title=page.title or UNTITLED,
        og_title=page.og_title,
        og_description=page.og_description,
        og_image=page.og_image,
    )
    return changed(scraped, new, facts, base_url=base_url)


def changed(link: Link, fields: LinkFields, facts: Facts, *, base_url: str) -> Link:
    """Return the link that a request asks for. Fields that were not sent stay, and null clears."""
    values: dict[str, Any] = {
        name: getattr(_BLANK if getattr(fields, name) is None else fields, name)
        for name in _TAKEN_AS_SENT
        if fields.sends(name)
    }
    if fields.sends("hostname"):
        values |= {"domain_id": facts.domain, "hostname": fields.hostname if facts.domain else None}
    if fields.sends("pixel_ids"):
        values["pixel_ids"] = fields.pixels
    if fields.options is not None:
        values |= fields.options.values
    if isinstance(fields, LinkChange) and fields.status is not None:
        values["is_enabled"] = fields.status == "active"
    if facts.url is not None:  # a new URL keeps the link's UTM parameters unless others are sent with it
        utm = fields.utm if fields.sends("utm_params") else link.utm_params
        values |= {"destination_url": _url_with_utm(facts.url.text, utm, link.utm_params), "utm_params": utm}
    return replace(link, **values, **_changed_image(link, fields, facts.image, base_url))


def with_utm(link: Link, params: Mapping[UtmKey, str | None]) -> Link:
    """Return the link with the UTM parameters in its destination, without those that are None. Others stay."""
    merged = link.utm_params | {str(key): value for key, value in params.items()}
    utm = {key: value for key, value in merged.items() if value}
    url = _url_with_utm(link.destination_url, utm, [*link.utm_params, *params])
    return replace(link, destination_url=url, utm_params=utm) if utm != link.utm_params else link


def _url_with_utm(url: str, utm: Mapping[str, str], previous_keys: Iterable[str]) -> str:
    """Set the UTM parameters in the URL's query. Removes those of `previous_keys` that `utm` does not have."""
    return with_query(without_query_keys(url, [key for key in previous_keys if key not in utm]), utm)


def _changed_image(link: Link, fields: LinkFields, image: UploadedImage | None, base_url: str) -> dict[str, Any]:
    if image is not None:
        return {"og_image": None, "og_image_file_name": image.name, "og_image_bytes": image.size}
    is_unchanged = link.og_image_file_name is not None and fields.og_image == media.url(
        base_url, link.og_image_file_name
    )
    if not fields.sends("og_image") or is_unchanged:  # a client that sends back what it read keeps the uploaded image
        return {}
    return {"og_image": fields.og_image, "og_image_file_name": None, "og_image_bytes": 0}


@lru_cache(16)  # hosts of the settings, compared with each of very many destinations of an import
def _host_and_port(netloc: str) -> tuple[str, int | None]:
    parts = urlsplit(f"//{netloc}")
    return (parts.hostname or "").rstrip("."), _unless_default(parts.port)


def _unless_default(port: int | None) -> int | None:
    return None if port in {80, 443} else port
