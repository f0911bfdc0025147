"""JSON endpoints of the app links of a domain."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.resources.domains.app_links import service
from waypost.resources.domains.app_links.schemas import AppLinksFields, AppLinksJson, to_json
from waypost.resources.domains.deps import WebDeps
from waypost.web import Data, Guard, ParsedBody, PathId, data, new_router, read_json

AppLinksBody = Annotated[tuple[AppLinksFields, Problems], Depends(ParsedBody(AppLinksFields, read_json, is_form=False))]


def endpoints(deps: WebDeps, guard: Guard) -> APIRouter:
    router = new_router("domains", "/domains/{id}/app-links")
    Reader = Annotated[Caller, Depends(guard.allow("domains:read"))]  # noqa: N806  # a type
    Writer = Annotated[Caller, Depends(guard.allow("domains:write"))]  # noqa: N806  # a type

    @router.get("", name="get_app_links", summary="Get a domain's app links", response_model=Data[AppLinksJson])
    async def get(caller: Reader, domain_id: PathId) -> Response:
        """A domain without app links has nulls."""
        _, texts = await service.get(deps, caller, domain_id)
        return data(to_json(texts))

    @router.put("", name="set_app_links", summary="Set a domain's app links", response_model=Data[AppLinksJson])
    async def save(caller: Writer, domain_id: PathId, body: AppLinksBody) -> Response:
        """Replaces both documents; a document that is left out or null is removed. They are served below
        `/.well-known/` of the domain, as soon as it is verified. Keys that are not known are kept.
        """
        return data(to_json(await service.save(deps, caller, domain_id, *body)))

    return router
