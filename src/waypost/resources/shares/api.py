"""JSON endpoints of shares."""

from operator import attrgetter
from typing import cast
from uuid import UUID

from waypost.accounts import ApiCaller, Caller
from waypost.accounts.roles import allowed_scopes
from waypost.kit.errors import Problems
from waypost.kit.pagination import Page, PageRequest
from waypost.kit.versions import Version
from waypost.resources.shares import service
from waypost.resources.shares.deps import Deps
from waypost.resources.shares.model import Share
from waypost.resources.shares.schemas import NewShare, ShareChange, ShareJson, to_json
from waypost.web import PAGING, Data, Endpoint, Paginated, Representation

_ONE = "/shares/{id}"


async def list_(deps: Deps, caller: Caller, page: PageRequest) -> Page[ShareJson]:
    """Newest first. URLs are returned to keys with the scope `links:write` only."""
    return (await service.list_shares(deps, caller, page)).map(lambda share: _show(deps, caller, share))


async def create(deps: Deps, caller: Caller, new: NewShare, problems: Problems) -> ShareJson:
    """Shows the statistics of a link, of links with a tag or on a hostname, or of all links to everybody who has the
    URL, within the filters and the time range.
    """
    return _show(deps, caller, await service.create(deps, caller, new, problems))


async def get(deps: Deps, caller: Caller, share_id: UUID) -> Share:
    """URLs are returned to keys with the scope `links:write` only."""
    return await service.get(deps, caller, share_id)


async def update(deps: Deps, caller: Caller, share_id: UUID, change: ShareChange, problems: Problems) -> Share:
    """Changes the fields that you send and keeps the others. A new password and other origins end the old `embed_url`,
    and visitors enter the password again.
    """
    return await service.change(deps, caller, share_id, change, problems)


async def delete(deps: Deps, caller: Caller, share_id: UUID) -> None:
    """Its URLs stop working at once."""
    await service.delete(deps, caller, share_id)


def _show(deps: Deps, caller: Caller, share: Share) -> ShareJson:
    known = cast("ApiCaller", caller)
    if "links:write" in allowed_scopes(known.key.scopes, known.role):
        return to_json(share, url=deps.url(share), embed_url=deps.embed_url(share))
    return to_json(share, url=None, embed_url=None)


_NOT_IN_VERSION = {"id", "account_id", "created_at", "token", "filters"}
_values = attrgetter(*(name for name in Share.__dataclass_fields__ if name not in _NOT_IN_VERSION))
_SHOWN = Representation(
    lambda share, deps, caller, _: _show(deps, caller, share),
    Version(lambda share: (_values(share), sorted(share.filters.items()))),
    lambda share, deps, caller: _show(deps, caller, share)["url"],
)
ENDPOINTS = [
    Endpoint("GET", "/shares", list_, "List shares", "links:read", Paginated[ShareJson], parameters=PAGING),
    Endpoint("POST", "/shares", create, "Create a share", "links:write", Data[ShareJson], 201, body=NewShare),
    Endpoint("GET", _ONE, get, "Get a share", "links:read", Data[ShareJson], shows=_SHOWN),
    Endpoint("PATCH", _ONE, update, "Change a share", "links:write", Data[ShareJson], body=ShareChange, shows=_SHOWN),
    Endpoint("DELETE", _ONE, delete, "Delete a share", "links:write", status=204, shows=_SHOWN),
]
