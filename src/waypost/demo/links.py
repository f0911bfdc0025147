"""Adds domains, pixels, links and QR codes to the demo's account. Sends no request to any host."""

import io
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from random import Random
from uuid import UUID

from PIL import Image, ImageDraw, ImageOps

from waypost import accounts
from waypost.database import Database, KeyRing
from waypost.demo.content import HOSTNAMES, LINKS, PENDING, PIXELS, SITE, UTM, PlannedLink
from waypost.demo.traffic import VisitedLink, uuid7
from waypost.kit.clock import microseconds
from waypost.kit.errors import Conflict, Problems
from waypost.kit.fair_queue import TimeBudget
from waypost.kit.fields import Upload
from waypost.kit.reserved import RESERVED
from waypost.kit.urls import Url, UtmKey
from waypost.outbound import DestinationChecker, Outbound, PageMetadata, UrlSafety
from waypost.redirect.pixel_pages import PLATFORM_LETTERS
from waypost.resources.domains import store as domain_store
from waypost.resources.domains.model import Domain
from waypost.resources.links import Link, Routes, service
from waypost.resources.links.deps import Deps
from waypost.resources.links.images.encoder import ImageReencoder
from waypost.resources.links.schemas import LinkChange, NewLink
from waypost.resources.links.work import new_image_store
from waypost.resources.pixels import service as pixels
from waypost.resources.pixels.deps import Deps as PixelsDeps
from waypost.resources.pixels.model import Pixel
from waypost.resources.pixels.schemas import NewPixel
from waypost.resources.qrcodes import service as qrcodes
from waypost.resources.qrcodes.deps import Deps as QrCodesDeps
from waypost.resources.qrcodes.deps import Urls
from waypost.resources.qrcodes.schemas import NewStyle
from waypost.secret_key import derived_keys
from waypost.settings import Settings

_THURSDAY = 3
_IMAGE_SIZE = (1200, 630)


class _KnownDestinations(DestinationChecker):
    """Accepts every destination without a request."""

    async def fetch_metadata(
        self,
        url: Url,  # noqa: ARG002  # as the base class
        *,
        account: UUID,  # noqa: ARG002
        wait: TimeBudget | None = None,  # noqa: ARG002
    ) -> PageMetadata:
        return PageMetadata()


def new_link_deps(settings: Settings, db: Database, routes: Routes, now: datetime) -> Deps:
    """Close its `images` afterwards."""
    return Deps(
        db=db,
        destination_checker=_KnownDestinations(Outbound(), UrlSafety()),
        image_store=new_image_store(settings, db, lambda: now),
        routes=routes,
        shared_domain=settings.shared_domain,
        base_url=settings.base_url,
        clock=lambda: now,
        reserved=RESERVED,
        images=ImageReencoder(),
    )


async def add_domains(db: Database, account_id: UUID, now: datetime) -> None:
    """Add domains that are never checked, because no check is due. Raises Conflict if one is registered."""
    async with db.write() as tx:
        for number, hostname in enumerate(HOSTNAMES):
            created, checked = now - timedelta(days=120 - number), now - timedelta(hours=5 + number)
            domain = replace(Domain.new(account_id, hostname, created), unverified_since=None)
            if hostname != PENDING:
                domain = replace(
                    domain,
                    status="verified",
                    is_served=True,
                    verified_at=checked,
                    last_checked_at=checked,
                    root_url=f"{SITE}/",
                    tls_status="active",
                    tls_expires_at=now + timedelta(days=58 + number),
                )
            if not await domain_store.add(tx, domain):
                raise Conflict({hostname: ["An account has this domain already."]})


async def add_pixels(deps: Deps, key_ring: KeyRing, caller: accounts.Caller) -> dict[str, Pixel]:
    pixels_deps = PixelsDeps(deps.db, key_ring, deps.routes.pixel_changed, deps.base_url, deps.clock)
    return {
        name: await pixels.create(
            pixels_deps, caller, NewPixel(platform=platform, name=name, pixel_id=platform_id), Problems()
        )
        for name, (platform, platform_id) in PIXELS.items()
    }


async def add_links(
    deps: Deps, settings: Settings, caller: accounts.Caller, pixels_by_name: dict[str, Pixel], random: Random
) -> list[tuple[Link, VisitedLink]]:
    """Add the links, each at its time, with the styles of their QR codes."""
    now = deps.clock()
    added = []
    urls = Urls(settings.base_url, derived_keys(settings, "qrcodes"))
    for plan in sorted(LINKS, key=lambda plan: -plan.age):
        at = _created_at(plan, now, random)
        own_pixels = [pixels_by_name[name] for name in plan.pixels]
        deps_then = replace(deps, clock=partial(_same, at))
        link = await _add_link(deps_then, caller, plan, own_pixels, random)
        if plan.style:
            codes = QrCodesDeps(deps.db, urls, deps.shared_domain, deps.base_url, deps_then.clock)
            await qrcodes.set_style(codes, caller, link.id, NewStyle(**plan.style), Problems())
        fired = b",".join(f"{PLATFORM_LETTERS[pixel.platform]}{pixel.id.hex}".encode() for pixel in own_pixels)
        added.append((link, VisitedLink(link.id, at, plan, fired)))
    return added


def _same(at: datetime) -> datetime:
    """Used as a clock."""
    return at


def _created_at(plan: PlannedLink, now: datetime, random: Random) -> datetime:
    """Return a time within office hours; newsletters appear on Thursdays."""
    day = (now - timedelta(days=plan.age)).replace(hour=6, minute=0, second=0, microsecond=0)
    if plan.curve == "newsletter":
        day -= timedelta(days=(day.weekday() - _THURSDAY) % 7)
    return day + timedelta(minutes=random.randrange(0, 540))


async def _add_link(
    deps: Deps, caller: accounts.Caller, plan: PlannedLink, own_pixels: Sequence[Pixel], random: Random
) -> Link:
    source, medium = UTM[plan.channel]
    utm: dict[UtmKey, str | None] = {"utm_source": source, "utm_medium": medium, "utm_campaign": plan.campaign}
    new = NewLink(
        destination_url=f"{SITE}{plan.path}",
        slug=await _free_slug(deps, caller, plan.slug),
        title=plan.title,
        hostname=plan.hostname,
        og_title=plan.title if plan.description else None,
        og_description=plan.description or None,
        og_image_file=_image(plan.colors, random) if plan.colors else None,
        utm_params=utm if plan.campaign else None,
        tags=list(plan.tags),
        expires_at=deps.clock() + timedelta(days=plan.expires) if plan.expires else None,
        pixel_ids=[str(pixel.id) for pixel in own_pixels],
    )
    link = await service.create(deps, caller, new, Problems(), link_id=uuid7(microseconds(deps.clock()), random))
    if plan.is_disabled:
        link = await service.change(deps, caller, link.id, LinkChange(status="inactive"), Problems())
    return link


async def _free_slug(deps: Deps, caller: accounts.Caller, slug: str) -> str:
    """Return the slug, with a number if another account has it."""
    candidate, number = slug, 1
    while (await service.slug_state(deps, caller, candidate, None))[0] not in {"free", "own"}:
        number += 1
        candidate = f"{slug}-{number}"
    return candidate


def _image(colors: tuple[str, str], random: Random) -> Upload:
    """Draw a sky and two ranges of hills."""
    top, bottom = colors
    width, height = _IMAGE_SIZE
    image = ImageOps.colorize(Image.linear_gradient("L").resize(_IMAGE_SIZE), top, bottom)
    draw = ImageDraw.Draw(image)
    for base, color in ((0.62, bottom), (0.8, top)):
        ridge = [(x, height * base - random.uniform(0, 0.18) * height) for x in range(0, width + 120, 120)]
        draw.polygon([(0, height), *ridge, (width, height)], fill=color)
    content = io.BytesIO()
    image.save(content, "JPEG", quality=85)
    return Upload("preview.jpg", "image/jpeg", content.getvalue())
