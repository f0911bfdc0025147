"""The JSON of a click, for the API, webhooks and exports."""

from typing import Annotated, get_args
from uuid import UUID

from typing_extensions import TypedDict

from waypost.kit.clock import from_microseconds, timestamp
from waypost.kit.docs import doc
from waypost.kit.fields import Documented, IdText, TimestampText
from waypost.resources.clicks.model import Click, ClickKind
from waypost.resources.pixels.model import Platform
from waypost.visitors.devices import Device

PlatformText = Annotated[str, Documented({"enum": list(get_args(Platform))})]
DeviceText = Annotated[str, Documented({"enum": list(get_args(Device))})]


class ClickEventJson(TypedDict):
    id: Annotated[IdText, doc("ID", "01a1fbb2-9c41-7bd0-a1f6-0f3f5c1d2e3f")]
    link_id: Annotated[IdText, doc("ID of the link", "01a1fbb2-2855-72ee-8e77-c161c4205e89")]
    ip: Annotated[str, doc("IP address, as far as the privacy settings store it", "203.0.113.9")]
    country: Annotated[str, doc("ISO 3166-1 country code; empty if unknown", "DE")]
    visitor_id: Annotated[str, doc("The same for clicks of one visitor on one UTC day", "9f2c51d07a3be844")]
    referrer: Annotated[
        str, doc("Origin and path of the referring page; empty if unknown", "https://news.example/today")
    ]
    device: Annotated[DeviceText, doc("desktop, mobile, tablet or other", "mobile")]
    browser: Annotated[str, doc("Browser family, such as Firefox", "Firefox")]
    platform: Annotated[str, doc("Operating system, such as Android", "Android")]
    created_at: Annotated[TimestampText, doc("Time of creation", "2026-11-20T02:56:16.123456Z")]


class ClickJson(ClickEventJson):
    is_scan: Annotated[bool, doc("Whether the QR code was scanned", False)]
    kind: Annotated[ClickKind, doc("human, crawler, preview (of a chat or social network) or prefetch (by a browser)")]
    bot: Annotated[str | None, doc("Name of the bot; null for people", None, "Googlebot")]


class PixelFiredJson(TypedDict):
    pixel_id: Annotated[IdText, doc("ID of the pixel", "01a1fbb2-5e07-7c7a-9d1b-6b0b7a3c9e10")]
    platform: Annotated[PlatformText, doc("Advertising platform")]
    link_id: Annotated[IdText, doc("ID of the link", "01a1fbb2-2855-72ee-8e77-c161c4205e89")]
    visit_id: Annotated[IdText | None, doc("ID of the click that triggered it", "01a1fbb2-9c41-7bd0-a1f6-0f3f5c1d2e3f")]


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
