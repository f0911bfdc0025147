"""JSON endpoint of missed addresses."""

from typing import Annotated
from uuid import UUID

from typing_extensions import TypedDict

from waypost.accounts import Caller
from waypost.kit.docs import doc
from waypost.kit.fields import TimestampText
from waypost.kit.json_object import json_object
from waypost.kit.pagination import Page, PageRequest
from waypost.resources.domains.deps import WebDeps
from waypost.resources.domains.missed import service
from waypost.resources.domains.missed.model import MissedAddress
from waypost.web import PAGING, Endpoint, Paginated


class MissedAddressJson(TypedDict):
    path: Annotated[str, doc("Path that visitors tried, from the slash on; long ones are cut", "/sumer-sale")]
    visits: Annotated[int, doc("Visits of people", 12)]
    first_at: Annotated[TimestampText, doc("Time of the first visit", "2026-11-20T02:56:16.123456Z")]
    last_at: Annotated[TimestampText, doc("Time of the last visit", "2026-11-27T18:02:44.501837Z")]


def to_json(missed: MissedAddress) -> MissedAddressJson:
    return json_object(MissedAddressJson, missed)


async def list_missed(deps: WebDeps, caller: Caller, domain_id: UUID, page: PageRequest) -> Page[MissedAddressJson]:
    """What people tried in the last 30 days and no link has, most visits first. Bots are not counted, and nothing is
    known of who it was.
    """
    return (await service.list_missed(deps, caller, domain_id, page)).map(to_json)


ENDPOINTS = [
    Endpoint(
        "GET",
        "/domains/{id}/missed",
        list_missed,
        "List missed addresses of a domain",
        "domains:read",
        Paginated[MissedAddressJson],
        parameters=PAGING,
    )
]
