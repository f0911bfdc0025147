"""JSON endpoints of tags."""

from operator import attrgetter
from uuid import UUID

from starlette.requests import Request

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.kit.fields import ONE_LINE
from waypost.kit.pagination import Page
from waypost.kit.versions import Version
from waypost.resources.links.deps import Deps
from waypost.resources.links.tags import service
from waypost.resources.links.tags.model import Tag
from waypost.resources.links.tags.schemas import NewTag, TagChange, TagJson, to_json
from waypost.web import PAGING, Data, Endpoint, Paginated, Representation, parameter, read_pagination, read_query

_ONE = "/tags/{id}"
_TEXT = {"type": "string", "pattern": ONE_LINE, "maxLength": service.MAX_SEARCH}
_PARAMETERS = (*PAGING, parameter("search", _TEXT, "Text in the name, in upper or lower case", "spring"))


async def list_(deps: Deps, caller: Caller, request: Request) -> Page[TagJson]:
    """In alphabetical order: tags of links, and tags that no link has yet."""
    problems = Problems()
    page, search = read_pagination(request, problems), read_query(request).get("search") or ""
    return (await service.list_tags(deps, caller, search, page, problems)).map(to_json)


async def create(deps: Deps, caller: Caller, new: NewTag, problems: Problems) -> TagJson:
    """A tag that a link names exists already: change its color instead."""
    return to_json(await service.create(deps, caller, new, problems))


async def get(deps: Deps, caller: Caller, tag_id: UUID) -> Tag:
    """With its links and clicks."""
    return await service.get(deps, caller, tag_id)


async def update(deps: Deps, caller: Caller, tag_id: UUID, change: TagChange, problems: Problems) -> Tag:
    """A new name replaces the old one in all links, at its place. If another tag has the name, the two become one:
    the answer is that tag, and the `id` of the path ends. Many links are changed in steps after the answer; until the
    last one has the new name, the list has both, and another change of many links is refused with 409.
    """
    return await service.change(deps, caller, tag_id, change, problems)


async def delete(deps: Deps, caller: Caller, tag_id: UUID) -> None:
    """Removes the tag from all links, which keep working. Many links are changed in steps after the answer; until the
    last one has lost the tag, the list has it, and another change of many links is refused with 409.
    """
    await service.delete(deps, caller, tag_id)


_SHOWN = Representation(
    lambda tag, *_: to_json(tag),
    Version(attrgetter("name", "color", "updated_at")),
    lambda tag, *_: (tag.links_count, tag.clicks),
)
ENDPOINTS = [
    Endpoint("GET", "/tags", list_, "List tags", "links:read", Paginated[TagJson], parameters=_PARAMETERS),
    Endpoint("POST", "/tags", create, "Create a tag", "links:write", Data[TagJson], 201, body=NewTag),
    Endpoint("GET", _ONE, get, "Get a tag", "links:read", Data[TagJson], shows=_SHOWN),
    Endpoint("PATCH", _ONE, update, "Change a tag", "links:write", Data[TagJson], body=TagChange, shows=_SHOWN),
    Endpoint("DELETE", _ONE, delete, "Delete a tag", "links:write", status=204, shows=_SHOWN),
]
