"""JSON endpoints of logos, and their images."""

from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts import Caller
from waypost.kit.errors import NotFound, Problems
from waypost.resources.domains.logos import store
from waypost.resources.links.images.api import HEADERS
from waypost.resources.links.images.media import NAME
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.logos import service
from waypost.resources.qrcodes.logos.schemas import LOGO_PATH, LogoFields, LogoJson, to_json
from waypost.web import Data, Endpoint, data, no_content

_ACCOUNT, _DOMAIN = "/qrcodes/logo", "/domains/{id}/logo"


async def get_logo(deps: Deps, caller: Caller) -> Response:
    """QR codes of links show it, unless their domain has a logo of its own."""
    return data(to_json(await service.get(deps, caller, None), deps.base_url))


async def set_logo(deps: Deps, caller: Caller, fields: LogoFields, problems: Problems) -> Response:
    """The image is cropped to its content. QR codes that show the logo change with it, also those at image URLs that
    were returned earlier.
    """
    return data(to_json(await service.upload(deps, caller, None, fields, problems), deps.base_url))


async def delete_logo(deps: Deps, caller: Caller) -> Response:
    """QR codes that show it are drawn without a logo."""
    await service.delete(deps, caller)
    return no_content()


async def get_of_domain(deps: Deps, caller: Caller, domain_id: UUID) -> Response:
    """QR codes of its links show it, instead of the logo of the account."""
    return data(to_json(await service.get(deps, caller, domain_id), deps.base_url))


async def set_of_domain(
    deps: Deps, caller: Caller, domain_id: UUID, fields: LogoFields, problems: Problems
) -> Response:
    """The image is cropped to its content. QR codes that show the logo change with it, also those at image URLs that
    were returned earlier.
    """
    return data(to_json(await service.upload(deps, caller, domain_id, fields, problems), deps.base_url))


async def delete_of_domain(deps: Deps, caller: Caller, domain_id: UUID) -> Response:
    """QR codes that show it are drawn with the logo of the account, or without one."""
    await service.delete(deps, caller, domain_id)
    return no_content()


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


ENDPOINTS = [
    Endpoint("GET", _ACCOUNT, get_logo, "Get the account's logo", "links:read", Data[LogoJson]),
    Endpoint("PUT", _ACCOUNT, set_logo, "Upload the account's logo", "links:write", Data[LogoJson], body=LogoFields),
    Endpoint("DELETE", _ACCOUNT, delete_logo, "Delete the account's logo", "links:write", status=204),
    Endpoint(
        "GET",
        _DOMAIN,
        get_of_domain,
        "Get a domain's logo",
        "domains:read",
        Data[LogoJson],
        name="domains_get_logo",
    ),
    Endpoint(
        "PUT",
        _DOMAIN,
        set_of_domain,
        "Upload a domain's logo",
        "domains:write",
        Data[LogoJson],
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
        name="domains_delete_logo",
    ),
]
