"""Validates links before the transaction: one response names every problem.

Cheap checks run first. If all pass, the expensive ones (fetching the destination, decoding an image) run concurrently,
never inside a transaction.
"""

import asyncio
from uuid import UUID

import structlog

from waypost import accounts
from waypost.kit.errors import NotFound, Problems, Unavailable
from waypost.kit.fair_queue import TimeBudget
from waypost.kit.fields import MAX_URL
from waypost.kit.urls import BadUrl, Url
from waypost.outbound import BadRedirect, NotPublic, OutboundError, PageMetadata, Unreachable, Unsafe
from waypost.resources import domains, pixels
from waypost.resources.links import rules, store
from waypost.resources.links.deps import Deps
from waypost.resources.links.images import media
from waypost.resources.links.images.media import MAX_BYTES, BadImage, ReencodedImage, check_size_and_type
from waypost.resources.links.model import Link
from waypost.resources.links.rules import Facts
from waypost.resources.links.schemas import LinkChange, LinkFields, NewLink

_REFUSED = {NotPublic: rules.NOT_PUBLIC, Unsafe: rules.UNSAFE}

log = structlog.get_logger(__name__)


def check_combination(change: LinkChange, problems: Problems) -> None:
    sends_utm = change.sends("utm_params") or "utm_params" in problems
    sends_url = change.sends("destination_url") or "destination_url" in problems
    if sends_utm and not sends_url:
        problems.add("destination_url", rules.UTM_NEEDS_URL)
    change.check_required(problems)


async def run_cheap_checks(
    deps: Deps, account: UUID, fields: LinkFields, problems: Problems, before: Link | None = None
) -> Facts:
    """Find the destination and the domain. `before`: the link that the fields change."""
    _check_values(deps, fields, problems)
    url = await check_destination(deps, account, fields.destination_url, problems)
    domain = await _find_domain(deps, account, fields, problems)
    if fields.pixel_ids:
        async with deps.db.read() as tx:
            rules.check_pixels(fields, await pixels.find_own_ids(tx, account, fields.pixels), problems)
    # the transaction checks slug, external ID and quota again: here they only avoid expensive checks
    await _check_external_id(deps, account, fields, problems, before)
    if fields.slug is not None and "slug" not in problems:
        async with deps.db.point_read() as tx:
            owner = await store.find_slug_owner(tx, fields.slug)
        state, problem = rules.slug_state(owner, account, before.id if before else None)
        if state == "taken":
            problems.add("slug", problem)
    if fields.og_image_file is not None:
        async with deps.db.point_read() as tx:
            used = await accounts.count_image_bytes(tx, account)
        if used - (before.og_image_bytes if before else 0) >= rules.MAX_IMAGES_MB << 20:
            problems.add("og_image_file", rules.IMAGE_QUOTA_USED)
    return Facts(url, domain)


async def _check_external_id(
    deps: Deps, account: UUID, fields: LinkFields, problems: Problems, before: Link | None
) -> None:
    external_id = fields.options and fields.options.external_id
    if external_id and (before or isinstance(fields, NewLink)):  # not for a change of many links
        async with deps.db.point_read() as tx:
            link_of = await store.find_external(tx, account, [external_id])
        if not {*link_of.values()} <= {before.id if before else None}:
            problems.add("options.external_id", rules.EXTERNAL_ID_TAKEN)


async def run_expensive_checks(
    deps: Deps,
    account: UUID,
    fields: LinkFields,
    url: Url | None,
    problems: Problems,
    *,
    wait: TimeBudget | None = None,
) -> tuple[PageMetadata, ReencodedImage | None]:
    """Fetch the destination and re-encode the image. Raises Invalid for problems found before or now.

    `wait`: how long to wait for other checks. None: the usual time.
    """
    problems.raise_if_any()
    metadata, image = await asyncio.gather(
        fetch_destination(deps, account, url, problems, wait=wait), _reencode_image(deps, account, fields, problems)
    )
    problems.raise_if_any()
    return metadata, image


async def fetch_metadata(deps: Deps, account: UUID, new: NewLink, problems: Problems) -> PageMetadata:
    """Fetch the metadata of the destination's page. Raises Invalid as `service.create` does."""
    url = await check_destination(deps, account, new.destination_url, problems)
    metadata, _ = await run_expensive_checks(deps, account, new, url, problems)
    return metadata


async def fetch_image(deps: Deps, account: UUID, url: str) -> ReencodedImage:
    """Fetch an image. Every failure raises the same NotFound, so that it reveals no URLs that exist."""
    if len(url) > MAX_URL:
        raise NotFound
    try:
        checker = deps.destination_checker
        content = await checker.fetch_image(checker.canonical(url), account=account, max_body=MAX_BYTES)
        return await deps.images.reencode(content, account=account)
    except (BadUrl, OutboundError, BadImage, Unavailable):
        raise NotFound from None


def _check_values(deps: Deps, fields: LinkFields, problems: Problems) -> None:
    if fields.slug is not None and (problem := rules.find_slug_problem(fields.slug, deps.reserved)):
        problems.add("slug", problem)
    if fields.expires_at is not None and fields.expires_at <= deps.clock():
        problems.add("expires_at", rules.NOT_FUTURE)
    if fields.og_image is not None and not media.is_url(deps.base_url, fields.og_image):  # ours may be on localhost
        try:
            deps.destination_checker.canonical(fields.og_image)
        except BadUrl as error:
            problems.add("og_image", str(error))
    if fields.og_image_file is not None:
        try:
            check_size_and_type(fields.og_image_file.content)
        except BadImage as error:
            problems.add("og_image_file", str(error))


async def check_destination(
    deps: Deps, account: UUID, text: str | None, problems: Problems, field: str = "destination_url"
) -> Url | None:
    """Return the canonical URL after the checks that need no request. None: there is none, or a problem with it."""
    if text is None:
        return None
    try:
        url = deps.destination_checker.canonical(text)
        if not await _is_loop(deps, account, url):
            await deps.destination_checker.check_ip(url)
            return url
        problems.add(field, rules.LOOP)
    except (BadUrl, NotPublic) as error:
        problems.add(field, rules.NOT_PUBLIC if isinstance(error, NotPublic) else str(error))
    return None


async def _is_loop(deps: Deps, account: UUID, url: Url) -> bool:
    own_hosts = deps.shared_domain, deps.base_url.partition("://")[2]
    if rules.is_own_host(url, own_hosts):
        return True
    if url.is_ip or not rules.is_own_port(url, own_hosts):
        return False
    async with deps.db.read() as tx:
        return await domains.is_custom_domain(tx, account, url.host)


async def _find_domain(deps: Deps, account: UUID, fields: LinkFields, problems: Problems) -> UUID | None:
    if fields.hostname is None or fields.hostname == deps.shared_domain:
        return None
    async with deps.db.read() as tx:
        domain_id = await domains.find_id(tx, account, fields.hostname)
    if domain_id is None:
        problems.add("hostname", rules.NO_SUCH_DOMAIN)
    return domain_id


async def fetch_destination(
    deps: Deps,
    account: UUID,
    url: Url | None,
    problems: Problems,
    field: str = "destination_url",
    *,
    wait: TimeBudget | None = None,
) -> PageMetadata:
    """Fetch the page: the destination must be public and safe, and reachable unless the settings are lenient.

    `wait`: as for `run_expensive_checks`.
    """
    if url is None:
        return PageMetadata()
    try:
        return await deps.destination_checker.fetch_metadata(url, account=account, wait=wait)
    except Unreachable as error:
        add_unreachable(deps, url, error, problems, field)
    except (NotPublic, Unsafe) as error:
        log.info("destination refused", host=url.host, reason=str(error))
        problems.add(field, _REFUSED[type(error)])
    return PageMetadata()


def add_unreachable(deps: Deps, url: Url, error: Unreachable, problems: Problems, field: str) -> None:
    log.info("destination unreachable", host=url.host, reason=error.in_words)
    problems.reasons[field] = error.in_words
    if isinstance(error, BadRedirect) or not deps.accepts_unreachable:
        problems.add(field, rules.UNREACHABLE)


async def _reencode_image(deps: Deps, account: UUID, fields: LinkFields, problems: Problems) -> ReencodedImage | None:
    if fields.og_image_file is None:
        return None
    try:
        return await deps.images.reencode(fields.og_image_file.content, account=account)
    except BadImage as error:
        problems.add("og_image_file", str(error))
        return None
