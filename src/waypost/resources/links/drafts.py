"""What a link becomes by what was sent: the new row, computed. Pure: `service` decides whether it is saved."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from waypost.kit.urls import Url, with_query, without_query_keys
from waypost.outbound import PagePreview
from waypost.resources.links import media, rules
from waypost.resources.links.media import Hosted
from waypost.resources.links.model import Link
from waypost.resources.links.schemas import LinkChange, NewLink

_REPLACED_AS_SENT = ("slug", "og_title", "og_description", "expires_at")


def destination(url: Url, utm: Mapping[str, str], written_before: Iterable[str] = ()) -> str:
    """The URL with `utm` in its query, and without the parameters of ours that it may still carry from before."""
    return with_query(without_query_keys(url.text, [key for key in written_before if key not in utm]), utm)


def created(
    account: UUID,
    new: NewLink,
    url: Url,
    preview: PagePreview | None,
    *,
    domain: UUID | None,
    hosted_image: Hosted | None,
    now: datetime,
    link_id: UUID,
) -> Link:
    """Explicit values win over scraped ones, field by field (spec, Links rule 2). The slug may still be empty."""
    scraped = preview or PagePreview(None, None, None, None)
    return Link(
        id=link_id,
        account_id=account,
        slug=new.slug or "",
        domain_id=domain,
        hostname=new.hostname if domain else None,
        destination_url=destination(url, new.utm),
        title=new.title or scraped.title or rules.UNTITLED,
        og_title=new.og_title or scraped.og_title,
        og_description=new.og_description or scraped.og_description,
        og_image=None if hosted_image else new.og_image or scraped.og_image,
        og_image_media=hosted_image.name if hosted_image else None,
        og_image_bytes=hosted_image.bytes if hosted_image else 0,
        utm_params=new.utm,
        tags=new.tags or [],
        expires_at=new.expires_at,
        pixel_ids=new.pixels,
        is_on=True,
        clicks=0,
        created_at=now,
        updated_at=now,
    )


def changed(
    link: Link,
    wanted: LinkChange,
    url: Url | None,
    *,
    domain: UUID | None,
    hosted_image: Hosted | None,
    base_url: str,
) -> Link:
    """Omitted stays, a value replaces, null clears. The time of the change is not set: it may turn out to be none."""
    values: dict[str, Any] = {name: getattr(wanted, name) for name in _REPLACED_AS_SENT if wanted.sends(name)}
    if wanted.sends("hostname"):
        values |= {"domain_id": domain, "hostname": wanted.hostname if domain else None}
    if wanted.sends("title"):
        values["title"] = wanted.title or rules.UNTITLED
    if wanted.sends("tags"):
        values["tags"] = wanted.tags or []
    if wanted.sends("pixel_ids"):
        values["pixel_ids"] = wanted.pixels
    if wanted.status is not None:
        values["is_on"] = wanted.status == "active"
    return replace(link, **values, **_target(link, wanted, url), **_image(link, wanted, hosted_image, base_url))


def _target(link: Link, wanted: LinkChange, url: Url | None) -> dict[str, Any]:
    """The parameters the link has are written into a new URL, too, unless others came with it."""
    if url is None:
        return {}
    utm = wanted.utm if wanted.sends("utm_params") else link.utm_params
    return {"destination_url": destination(url, utm, link.utm_params), "utm_params": utm}


def _image(link: Link, wanted: LinkChange, hosted_image: Hosted | None, base_url: str) -> dict[str, Any]:
    if hosted_image is not None:
        return {"og_image": None, "og_image_media": hosted_image.name, "og_image_bytes": hosted_image.bytes}
    sent_back = link.og_image_media is not None and wanted.og_image == media.url(base_url, link.og_image_media)
    if not wanted.sends("og_image") or sent_back:  # whoever saves what they read must not lose the image we host
        return {}
    return {"og_image": wanted.og_image, "og_image_media": None, "og_image_bytes": 0}
