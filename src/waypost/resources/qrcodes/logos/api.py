"""JSON endpoints of logos, and their images."""

from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts import Caller
from waypost.kit.errors import NotFound, Problems
from waypost.kit.versions import Version
from waypost.resources.domains.logos import Logo, store
from waypost.resources.links.images.api import HEADERS
from waypost.resources.links.images.media import NAME
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.logos import service
from waypost.resources.qrcodes.logos.schemas import LOGO_PATH, LogoFields, LogoJson, to_json
from waypost.web import Data, Endpoint, Representation

_ACCOUNT, _DOMAIN = "/qrcodes/logo", "/domains/{id}/logo"


async def get_logo(deps: Deps, caller: Caller) -> Logo:
    """QR codes of links show it, unless their domain has a logo of its own."""
    return await service.get(deps, caller, None)


async def set_logo(deps: Deps, caller: Caller, fields: LogoFields, problems: Problems) -> Logo:
    """The image is cropped to its content. QR codes that show the logo change with it, also those at image URLs that
    were returned earlier.
    """
    return await service.upload(deps, caller, None, fields, problems)


async def delete_logo(deps: Deps, caller: Caller) -> None:
    """QR codes that show it are drawn without a logo."""
    await service.delete(deps, caller)


async def get_of_domain(deps: Deps, caller: Caller, domain_id: UUID) -> Logo:
    """QR codes of its links show it, instead of the logo of the account."""
    return await service.get(deps, caller, domain_id)


async def set_of_domain(deps: Deps, caller: Caller, domain_id: UUID, fields: LogoFields, problems: Problems) -> Logo:
    """The image is cropped to its content. QR codes that show the logo change with it, also those at image URLs that
    were returned earlier.
    """
    return await service.upload(deps, caller, domain_id, fields, problems)


async def delete_of_domain(deps: Deps, caller: Caller, domain_id: UUID) -> None:
    """QR codes that show it are drawn with the logo of the account, or without one."""
    await service.delete(deps, caller, domain_id)


def route(deps: Deps) -> Route:
    async def show(request: Request) -> Response:
        """Serve the image of a logo. Only names that were generated are looked for."""
        name = request.path_params["name"]
        content = None
        if NAME.fullmatch(name):
            async with deps.db.point_read() as tx:
                content = await store.read(tx, name)
        if content is None:
            raise NotFound
        return Response(content, media_type="image/png", headers=HEADERS)

    return Route(LOGO_PATH + "/{name}", show)


_SHOWN = Representation(lambda logo, deps, *_: to_json(logo, deps.base_url), Version(tuple))
ENDPOINTS = [
    Endpoint("GET", _ACCOUNT, get_logo, "Get the account's logo", "links:read", Data[LogoJson], shows=_SHOWN),
    Endpoint(
        "PUT",
        _ACCOUNT,
        set_logo,
        "Upload the account's logo",
        "links:write",
        Data[LogoJson],
        body=LogoFields,
        shows=_SHOWN,
    ),
    Endpoint("DELETE", _ACCOUNT, delete_logo, "Delete the account's logo", "links:write", status=204, shows=_SHOWN),
    Endpoint(
        "GET",
        _DOMAIN,
        get_of_domain,
        "Get a domain's logo",
        "domains:read",
        Data[LogoJson],
        shows=_SHOWN,
        name="domains_get_logo",
    ),
    Endpoint(
        "PUT",
        _DOMAIN,
        set_of_domain,
        "Upload a domain's logo",
        "domains:write",
        Data[LogoJson],
        shows=_SHOWN,
        name="domains_set_logo",
        body=LogoFields,
    ),
    Endpoint(
        "DELETE",
        _DOMAIN,
        delete_of_domain,
        "Delete a domain's logo",
        "domains:write",
        status=204,
        shows=_SHOWN,
        name="domains_delete_logo",
    ),
]
