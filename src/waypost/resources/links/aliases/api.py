"""JSON endpoints of the aliases of a link."""

from uuid import UUID

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.kit.pagination import Page, PageRequest
from waypost.resources.links.aliases import service as alias_service
from waypost.resources.links.aliases.schemas import AliasJson, NewAlias, to_json
from waypost.resources.links.deps import Deps
from waypost.web import PAGING, Data, Endpoint, Paginated

_ALL = "/links/{id}/aliases"


async def list_aliases(deps: Deps, caller: Caller, link_id: UUID, page: PageRequest) -> Page[AliasJson]:
    """Newest first."""
    return (await alias_service.list_aliases(deps, caller, link_id, page)).map(to_json)


async def create_alias(deps: Deps, caller: Caller, link_id: UUID, new: NewAlias, problems: Problems) -> AliasJson:
    """The link also redirects from this path of one of your domains. A link's own slug wins over an alias with the
    same path.
    """
    return to_json(await alias_service.add(deps, caller, link_id, new, problems))


async def delete_alias(deps: Deps, caller: Caller, link_id: UUID, alias_id: UUID) -> None:
    """The path returns 404 immediately, and can be used for another link."""
    await alias_service.delete(deps, caller, link_id, alias_id)


ENDPOINTS = [
    Endpoint("GET", _ALL, list_aliases, "List a link's aliases", "links:read", Paginated[AliasJson], parameters=PAGING),
    Endpoint("POST", _ALL, create_alias, "Add an alias", "links:write", Data[AliasJson], 201, body=NewAlias),
    Endpoint("DELETE", f"{_ALL}/{{alias_id}}", delete_alias, "Delete an alias", "links:write", status=204),
]
