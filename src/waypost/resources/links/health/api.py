"""JSON endpoint of the health of a link."""

from uuid import UUID

from waypost.accounts import Caller
from waypost.context import Context
from waypost.resources.links import store as link_store
from waypost.resources.links.health import store
from waypost.resources.links.health.schemas import LinkHealthJson, to_json
from waypost.web import Data, Endpoint


async def get_health(deps: Context, caller: Caller, link_id: UUID) -> LinkHealthJson:
    """What the regular visits of the link's destinations found. A broken destination disables nothing."""
    async with deps.db.read() as tx:
        await link_store.require_exists(tx, caller.account.id, link_id)
        health = await store.find(tx, link_id)
    return to_json(link_id, health)


ENDPOINTS = [
    Endpoint("GET", "/links/{id}/health", get_health, "Get a link's health", "links:read", Data[LinkHealthJson]),
]
