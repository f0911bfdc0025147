"""Validation of links before the transaction: one answer names every problem.

All cheap checks come first. Only what passes them is worth the expensive ones (fetching the destination, decoding an
image), which run side by side and never inside a transaction.
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
from waypost.resources.links.images import BadImage, CleanImage, check_size_and_type
from waypost.resources.links.model import Link
from waypost.resources.links.schemas import MAX_URL, LinkChange, LinkFields, NewLink


@dataclass(frozen=True, slots=True)
class CheckedTargets:
    """What the fields name; None where they name nothing or something wrong."""

    url: Url | None
    domain: UUID | None
    """Also None for the shared domain."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """Results of the expensive checks; None where nothing was sent."""

    preview: PagePreview | None
    image: CleanImage | None


def check_required(new: NewLink, problems: Problems) -> None:
    if new.destination_url is None and "destination_url" not in problems:
        problems.add("destination_url", "This field is required.")


def check_combination(change: LinkChange, problems: Problems) -> None:
    sends_utm = change.sends("utm_params") or "utm_params" in problems
    sends_url = change.sends("destination_url") or "destination_url" in problems
    if sends_utm and not sends_url:
        problems.add("destination_url", rules.UTM_NEEDS_URL)
    for name in ("destination_url", "slug", "status"):
        if change.sends(name) and getattr(change, name) is None:
            problems.add(name, "This may not be null.")


async def check_fields(
    deps: Deps, account: UUID, fields: LinkFields, problems: Problems, before: Link | None = None
) -> CheckedTargets:
    """The cheap checks. `before`: the link that the fields change."""
    _check_values(deps, fields, problems)
    url = await check_destination(deps, account, fields, problems)
    domain = await _check_domain(deps, account, fields, problems)
    await _check_pixels(deps, account, fields, problems)
    await _check_slug(deps, account, fields.slug, before, problems)
    await _check_image_quota(deps, account, fields, before, problems)
    return CheckedTargets(url, domain)


async def check_destination(deps: Deps, account: UUID, fields: LinkFields, problems: Problems) -> Url | None:
    """The canonical URL, as far as it can be checked without a request."""
    if fields.destination_url is None:
        return None
    try:
        url = canonical(fields.destination_url)
        if rules.is_own_host(url, deps.own_hosts) or await _is_on_custom_domain(deps, account, url):
            problems.add("destination_url", rules.LOOP)
            return None
        await deps.destinations.check_ip(url)
    except (BadUrl, NotPublic) as error:
        problems.add("destination_url", rules.NOT_PUBLIC if isinstance(error, NotPublic) else str(error))
        return None
    return url


def check_length(destination: str, problems: Problems) -> None:
    if len(destination) > MAX_URL:
        problems.add("destination_url", rules.TOO_LONG)


async def inspect(deps: Deps, account: UUID, fields: LinkFields, url: Url | None, problems: Problems) -> Inspection:
    """The expensive checks. Raises Invalid before them for the problems found so far, and after them."""
    problems.raise_if_any()
    preview, image = await asyncio.gather(
        _fetch_preview(deps, account, url, problems), _clean_image(deps, account, fields, problems)
    )
    problems.raise_if_any()
    return Inspection(preview, image)


async def hold_pixels(tx: Tx, account: UUID, fields: LinkFields, problems: Problems) -> None:
    """Decides: until the transaction ends nobody deletes one of them."""
    if fields.pixels:
        _check_pixels_among(await pixels.hold(tx, account, fields.pixels), fields, problems)


async def reserve_domain(tx: Tx, before: UUID | None, after: UUID | None, problems: Problems) -> None:
    """Decides, and counts the link: until the transaction ends nobody deletes the domain."""
    if not await domains.move_link(tx, before, after):
        problems.add("hostname", rules.NO_SUCH_DOMAIN)


def _check_values(deps: Deps, fields: LinkFields, problems: Problems) -> None:
    if fields.slug is not None and (problem := rules.slug_problem(fields.slug, deps.reserved)):
        problems.add("slug", problem)
    if fields.expires_at is not None and fields.expires_at <= deps.clock():
        problems.add("expires_at", rules.NOT_FUTURE)
    if fields.og_image is not None and not media.is_url(deps.base_url, fields.og_image):  # ours may be on localhost
        try:
            canonical(fields.og_image)
        except BadUrl as error:
            problems.add("og_image", str(error))
    if fields.og_image_file is not None:
        try:
            check_size_and_type(fields.og_image_file.content)
        except BadImage as error:
            problems.add("og_image_file", str(error))


async def _is_on_custom_domain(deps: Deps, account: UUID, url: Url) -> bool:
    if url.is_ip or not rules.is_own_port(url, deps.own_hosts):
        return False
    async with deps.db.read() as tx:
        return await domains.is_custom_domain(tx, account, url.host)


async def _check_domain(deps: Deps, account: UUID, fields: LinkFields, problems: Problems) -> UUID | None:
    if fields.hostname is None or fields.hostname == deps.shared_domain:
        return None
    async with deps.db.read() as tx:
        found = await domains.find_id(tx, account, fields.hostname)
    if found is None:
        problems.add("hostname", rules.NO_SUCH_DOMAIN)
    return found


async def _check_pixels(deps: Deps, account: UUID, fields: LinkFields, problems: Problems) -> None:
    known: set[UUID] = set()
    if fields.pixels:
        async with deps.db.read() as tx:
            known = await pixels.known(tx, account, fields.pixels)
    _check_pixels_among(known, fields, problems)


def _check_pixels_among(known: Collection[UUID], fields: LinkFields, problems: Problems) -> None:
    for index, sent in enumerate(fields.pixel_ids or []):
        id_ = parse_id(sent) if isinstance(sent, str) else None
        if id_ not in known:
            problems.add(f"pixel_ids.{index}", rules.NO_SUCH_PIXEL if id_ else rules.NOT_AN_ID)


async def _check_slug(deps: Deps, account: UUID, slug: str | None, before: Link | None, problems: Problems) -> None:
    """The write itself decides. This spares the expensive checks for a slug that is taken."""
    if slug is None or "slug" in problems:
        return
    async with deps.db.point_read() as tx:
        owner = await store.find_slug_owner(tx, slug)
    if rules.slug_state(owner, account, before.id if before else None)[0] == "taken":
        problems.add("slug", rules.SLUG_TAKEN)


async def _check_image_quota(
    deps: Deps, account: UUID, fields: LinkFields, before: Link | None, problems: Problems
) -> None:
    """The write itself decides, as for slugs."""
    if fields.og_image_file is None:
        return
    async with deps.db.point_read() as tx:
        used = await auth.image_bytes(tx, account)
    if used - (before.og_image_bytes if before else 0) >= rules.MAX_IMAGES_MB << 20:
        problems.add("og_image_file", rules.IMAGE_QUOTA_USED)


async def _fetch_preview(deps: Deps, account: UUID, url: Url | None, problems: Problems) -> PagePreview | None:
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


async def _clean_image(deps: Deps, account: UUID, fields: LinkFields, problems: Problems) -> CleanImage | None:
    if fields.og_image_file is None:
        return None
    try:
        return await deps.images.clean(fields.og_image_file.content, account=account)
    except BadImage as error:
        problems.add("og_image_file", str(error))
        return None
