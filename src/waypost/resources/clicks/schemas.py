"""The JSON of a click, for the API, webhooks and exports."""

from typing import Annotated, get_args
from uuid import UUID

from typing_extensions import TypedDict

from waypost.kit.clock import from_microseconds, timestamp
from waypost.kit.fields import Documented, IdText, TimestampText
from waypost.resources.clicks.model import Click, ClickKind
from waypost.resources.pixels.model import Platform
from waypost.visitors.agents import Device

PlatformText = Annotated[str, Documented({"enum": list(get_args(Platform))})]
DeviceText = Annotated[str, Documented({"enum": list(get_args(Device))})]


class ClickEventJson(TypedDict):
    id: IdText
    link_id: IdText
    ip: str
    country: str
    visitor_id: str
    referrer: str
    device: DeviceText
    browser: str
    platform: str
    created_at: TimestampText


class ClickJson(ClickEventJson):
    is_scan: bool
    kind: ClickKind
    bot: str | None


class PixelFiredJson(TypedDict):
    pixel_id: IdText
    platform: PlatformText
    link_id: IdText
    visit_id: IdText | None


def to_json(click: Click) -> ClickJson:
    return {**to_event_json(click), "is_scan": click.is_scan, "kind": click.kind, "bot": click.bot}


def to_event_json(click: Click) -> ClickEventJson:
    """Return the ten fields of a click for webhooks, in the documented order (docs/guides/webhooks.md)."""
    return {
        "id": str(UUID(bytes=click.id)),
        "link_id": str(UUID(bytes=click.link_id)),
        "ip": click.ip,
        "country": click.country,
        "visitor_id": f"{click.visitor_id & (2**64 - 1):016x}",
        "referrer": click.referrer,
        "device": click.device,
        "browser": click.browser,
        "platform": click.platform,
        "created_at": timestamp(from_microseconds(click.at)),
    }
