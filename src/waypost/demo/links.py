"""Adds domains, pixels, links and QR codes to the demo's account. Sends no request to any host."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any
from uuid import UUID

from PIL import Image, ImageDraw, ImageOps

from waypost import accounts
from waypost.context import Context
from waypost.database import Database
from waypost.demo.content import CHANNELS, HOSTNAMES, LINKS, PIXELS, SITE, PlannedLink
from waypost.demo.traffic import VisitedLink, uuid7
from waypost.kit.clock import microseconds
from waypost.kit.errors import Conflict, Problems
from waypost.kit.fields import Upload
from waypost.outbound import DestinationChecker, PageMetadata
from waypost.redirect.pixel_pages import PLATFORM_LETTERS
from waypost.resources.domains import store as domain_store
from waypost.resources.domains.model import Domain
from waypost.resources.links import Link, service
from waypost.resources.links.deps import Deps
from waypost.resources.links.schemas import LinkChange, NewLink
from waypost.resources.pixels import service as pixels
from waypost.resources.pixels.model import Pixel
from waypost.resources.pixels.schemas import NewPixel
from waypost.resources.qrcodes import service as qrcodes
from waypost.resources.qrcodes.deps import Deps as QrCodesDeps
from waypost.resources.qrcodes.schemas import NewStyle


class KnownDestinations(DestinationChecker):
    """Accepts every destination without a request."""

    async def fetch_metadata(self, *_: Any, **__: Any) -> PageMetadata:
        return PageMetadata()


async def add_domains(db: Database, account_id: UUID, now: datetime) -> None:
    """Add domains that are never checked, because no check is due. Raises Conflict if one is registered."""
    async with db.write() as tx:
        for hostname in HOSTNAMES:
            domain = replace(Domain.new(account_id, hostname, now - timedelta(days=120)), unverified_since=None)
            if hostname != HOSTNAMES[-1]:
                checked, ends = now - timedelta(hours=5), now + timedelta(days=58)
                verified = replace(domain, status="verified", is_served=True, verified_at=checked, root_url=f"{SITE}/")
                domain = replace(verified, last_checked_at=checked, tls_status="active", tls_expires_at=ends)
            if not await domain_store.add(tx, domain):
                raise Conflict({hostname: ["An account has this domain already."]})


async def add_pixels(context: Context, caller: accounts.Caller) -> Mapping[str, Pixel]:
    return {
        name: await pixels.create(context, caller, NewPixel(platform=platform, name=name, pixel_id=id_), Problems())
        for name, (platform, id_) in PIXELS.items()
    }


async def add_links(
    deps: Deps, codes: QrCodesDeps, caller: accounts.Caller, pixels_by_name: Mapping[str, Pixel], random: Random
) -> list[tuple[Link, VisitedLink]]:
    """Add the links, each at its time, with the styles of their QR codes."""
    added = []
    for plan in sorted(LINKS, key=lambda plan: -plan.age):
        at = (deps.clock() - timedelta(days=plan.age)).replace(hour=6) + timedelta(minutes=random.randrange(540))
        own_pixels = [pixels_by_name[name] for name in plan.pixels]
        deps_then = replace(deps, clock=partial(lambda at: at, at))
        link = await _add_link(deps_then, caller, plan, own_pixels, random)
        if plan.style:
            codes_then = replace(codes, clock=deps_then.clock)
            await qrcodes.set_style(codes_then, caller, link.id, NewStyle(**plan.style), Problems())
        fired = b",".join(f"{PLATFORM_LETTERS[pixel.platform]}{pixel.id.hex}".encode() for pixel in own_pixels)
        added.append((link, VisitedLink(link.id, at, plan, fired)))
    return added


async def _add_link(
    deps: Deps, caller: accounts.Caller, plan: PlannedLink, own_pixels: Sequence[Pixel], random: Random
) -> Link:
    channel = CHANNELS[plan.channel]
    utm: Any = {name: channel[name] for name in ("utm_source", "utm_medium")} | {"utm_campaign": plan.campaign}
    slug, number = plan.slug, 1
    while (await service.slug_state(deps, caller, slug, None))[0] not in {"free", "own"}:  # another account has it
        number += 1
        slug = f"{plan.slug}-{number}"
    new = NewLink(
        destination_url=f"{SITE}{plan.path}",
        slug=slug,
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
        return await service.change(deps, caller, link.id, LinkChange(status="inactive"), Problems())
    return link


def _image(colors: Sequence[str], random: Random) -> Upload:
    """Draw a sky and hills."""
    width, height = 1200, 630
    image = ImageOps.colorize(Image.linear_gradient("L").resize((width, height)), colors[0], colors[1])
    ridge = [(x, height * random.uniform(0.55, 0.75)) for x in range(0, width + 120, 120)]
    ImageDraw.Draw(image).polygon([(0, height), *ridge, (width, height)], fill=colors[1])
    content = io.BytesIO()
    image.save(content, "JPEG", quality=85)
    return Upload("preview.jpg", "image/jpeg", content.getvalue())
