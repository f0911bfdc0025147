"""All that can be wrong with what was sent for a link, gathered before the transaction so that one answer names it.

First come the cheap checks, all of them. Only what they accept is worth the expensive ones (the destination's live
fetch, decoding an image), which run side by side and never inside a transaction.
"""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from waypost import auth
from waypost.database import Tx
from waypost.kit.errors import Problems
from waypost.kit.ids import parse_id
from waypost.kit.urls import BadUrl, Url, canonical
from waypost.outbound import NotPublic, PagePreview, Unreachable, Unsafe
from waypost.resources import domains, pixels
from waypost.resources.links import media, rules, store
from waypost.resources.links.deps import Deps
from waypost.resources.links.images import BadImage, CleanImage, refuse_at_sight
from waypost.resources.links.schemas import LinkChange, LinkFields, NewLink


@dataclass(frozen=True, slots=True)
class Seen:
    """What the expensive checks found; None where nothing was sent."""

    preview: PagePreview | None
    image: CleanImage | None


async def destination(deps: Deps, account: UUID, fields: LinkFields, problems: Problems) -> Url | None:
    """What is sent, in its one spelling, as far as it can be told without a visit."""
    if fields.destination_url is None:
        return None
    try:
        url = canonical(fields.destination_url)
    except BadUrl as fault:
        problems.add("destination_url", str(fault))
        return None
    if rules.is_own_host(url, deps.own_hosts) or await _is_on_a_domain(deps, account, url):
        problems.add("destination_url", rules.LOOP)
        return None
    try:
        await deps.destinations.check_ip(url)
    except NotPublic:
        problems.add("destination_url", rules.NOT_PUBLIC)
        return None
    return url


async def domain_is_theirs(deps: Deps, account: UUID, fields: LinkFields, problems: Problems) -> UUID | None:
    """The domain's id; None for the shared one, which may also be named."""
    if fields.hostname is None or fields.hostname == deps.shared_domain:
        return None
    async with deps.db.read() as tx:
        found = await domains.find_id(tx, account, fields.hostname)
    if found is None:
        problems.add("hostname", rules.NO_SUCH_DOMAIN)
    return found


async def look(deps: Deps, account: UUID, fields: LinkFields, url: Url | None, problems: Problems) -> Seen:
    """The expensive checks. Raises Invalid with what the cheap ones have found, before, and with its own."""
    problems.raise_if_any()
    preview, image = await asyncio.gather(
        _inspected(deps, account, url, problems), _cleaned_image(deps, account, fields, problems)
    )
    problems.raise_if_any()
    return Seen(preview, image)


def fields_in_general(deps: Deps, fields: LinkFields, problems: Problems) -> None:
    """The rules that creating and changing share."""
    if fields.slug is not None and (fault := rules.slug_problem(fields.slug, deps.reserved)):
        problems.add("slug", fault)
    if fields.expires_at is not None and fields.expires_at <= deps.clock():
        problems.add("expires_at", rules.NOT_FUTURE)
    if fields.og_image is not None and (fault := _image_url_problem(deps, fields.og_image)):
        problems.add("og_image", fault)
    if fields.og_image_file is not None:
        try:
            refuse_at_sight(fields.og_image_file.content)
        except BadImage as bad:
            problems.add("og_image_file", str(bad))


def required_on_create(new: NewLink, problems: Problems) -> None:
    if new.destination_url is None and "destination_url" not in problems:
        problems.add("destination_url", "This field is required.")


def together_on_change(change: LinkChange, problems: Problems) -> None:
    sent_utm = change.sends("utm_params") or "utm_params" in problems
    sent_url = change.sends("destination_url") or "destination_url" in problems
    if sent_utm and not sent_url:
        problems.add("destination_url", rules.UTM_NEEDS_URL)
    for name in ("destination_url", "slug", "status"):
        if change.sends(name) and getattr(change, name) is None:
            problems.add(name, "This may not be null.")


def length(destination: str, problems: Problems) -> None:
    if len(destination) > rules.MAX_URL:
        problems.add("destination_url", rules.TOO_LONG)


async def slug_is_free(deps: Deps, account: UUID, slug: str | None, link: UUID | None, problems: Problems) -> None:
    """Decides nothing, the write itself does: but for a slug that is taken, nothing expensive is begun."""
    if slug is None or "slug" in problems:
        return
    async with deps.db.point_read() as tx:
        if not await store.is_claimable(tx, slug, account, link):
            problems.add("slug", rules.SLUG_TAKEN)


async def image_has_room(deps: Deps, account: UUID, fields: LinkFields, replaced: int, problems: Problems) -> None:
    """`replaced`: bytes of the image that goes when this one comes. As for slugs, the write itself decides."""
    if fields.og_image_file is None:
        return
    async with deps.db.point_read() as tx:
        if await auth.image_bytes(tx, account) - replaced >= rules.MAX_IMAGES_MB << 20:
            problems.add("og_image_file", rules.NO_ROOM_FOR_IMAGE)


async def pixels_are_theirs(deps: Deps, account: UUID, fields: LinkFields, problems: Problems) -> None:
    known: set[UUID] = set()
    if fields.pixels:
        async with deps.db.read() as tx:
            known = await pixels.known(tx, account, fields.pixels)
    _pixels_are_among(known, fields, problems)


async def pixels_are_still_theirs(tx: Tx, account: UUID, fields: LinkFields, problems: Problems) -> None:
    """Decides: until the transaction ends nobody deletes one of them."""
    if fields.pixels:
        _pixels_are_among(await pixels.hold(tx, account, fields.pixels), fields, problems)


async def reserve_domain(tx: Tx, before: UUID | None, after: UUID | None, problems: Problems) -> None:
    """Decides, and counts the link: until the transaction ends nobody deletes the domain."""
    if not await domains.move_link(tx, before, after):
        problems.add("hostname", rules.NO_SUCH_DOMAIN)


def _pixels_are_among(known: Collection[UUID], fields: LinkFields, problems: Problems) -> None:
    for index, sent in enumerate(fields.pixel_ids or []):
        id_ = parse_id(sent) if isinstance(sent, str) else None
        if id_ not in known:
            problems.add(f"pixel_ids.{index}", rules.NO_SUCH_PIXEL if id_ else rules.NOT_AN_ID)


async def _is_on_a_domain(deps: Deps, account: UUID, url: Url) -> bool:
    if url.is_ip or not rules.is_own_port(url, deps.own_hosts):
        return False
    async with deps.db.read() as tx:
        return await domains.is_custom_domain(tx, account, url.host)


async def _inspected(deps: Deps, account: UUID, url: Url | None, problems: Problems) -> PagePreview | None:
    if url is None:
        return None
    try:
        return await deps.destinations.inspect(url, account=account)
    except NotPublic:
        problems.add("destination_url", rules.NOT_PUBLIC)
    except Unreachable:
        problems.add("destination_url", rules.UNREACHABLE)
    except Unsafe:
        problems.add("destination_url", rules.UNSAFE)
    return None


async def _cleaned_image(deps: Deps, account: UUID, fields: LinkFields, problems: Problems) -> CleanImage | None:
    if fields.og_image_file is None:
        return None
    try:
        return await deps.images.clean(fields.og_image_file.content, account=account)
    except BadImage as fault:
        problems.add("og_image_file", str(fault))
        return None


def _image_url_problem(deps: Deps, url: str) -> str | None:
    if media.is_url(deps.base_url, url):
        return None  # on a host that may well be called localhost
    try:
        canonical(url)
    except BadUrl as fault:
        return str(fault)
    return None
