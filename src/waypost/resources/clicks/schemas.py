"""How a click is shown, in the API, in webhooks and in exports alike."""

from typing import Any
from uuid import UUID

from waypost.kit.clock import from_microseconds, timestamp
from waypost.resources.clicks.model import Click


def shown(click: Click) -> dict[str, Any]:
    """As webhooks tell it, and then what the API adds."""
    return {**delivered(click), "is_scan": click.is_scan, "kind": click.kind, "bot": click.bot}


def delivered(click: Click) -> dict[str, Any]:
    """The specification's ten fields, in its order."""
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
