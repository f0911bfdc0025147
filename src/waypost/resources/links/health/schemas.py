"""The JSON of a link's health."""

from typing import Annotated
from uuid import UUID

from typing_extensions import TypedDict

from waypost.kit.clock import timestamp
from waypost.kit.docs import doc
from waypost.kit.fields import IdText, TimestampText
from waypost.resources.links.health.model import HealthStatus, LinkHealth


class LinkHealthJson(TypedDict):
    link_id: Annotated[IdText, doc("ID of the link", "01a1fbb2-2855-72ee-8e77-c161c4205e89")]
    status: Annotated[HealthStatus, doc("What the visits found", "broken")]
    checked_at: Annotated[TimestampText | None, doc("Time of the last visit", "2026-11-22T03:10:00.000000Z")]
    http_status: Annotated[int | None, doc("HTTP status of the response; null without a response", 404)]
    reason: Annotated[str | None, doc("What is wrong, in words", "the server responded 404")]
    since: Annotated[
        TimestampText | None, doc("First visit in a row with success, or without", "2026-11-20T03:10:00.000000Z")
    ]


def to_json(link_id: UUID, health: LinkHealth | None) -> LinkHealthJson:
    """None: the worker has not seen the link yet."""
    return {
        "link_id": str(link_id),
        "status": health.status if health else "unchecked",
        "checked_at": timestamp(health.checked_at) if health and health.checked_at else None,
        "http_status": health.http_status if health else None,
        "reason": health.reason if health else None,
        "since": timestamp(health.since) if health and health.since else None,
    }
