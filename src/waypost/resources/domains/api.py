"""JSON endpoints of domains."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.resources.domains import service
from waypost.resources.domains.app_links import api as app_links_api
from waypost.resources.domains.deps import WebDeps
from waypost.resources.domains.model import Domain
from waypost.resources.domains.schemas import DomainChange, DomainJson, NewDomain, to_json
from waypost.web import (
    PAGING,
    Data,
    Guard,
    Paginated,
    ParsedBody,
    PathId,
    data,
    error_responses,
    new_router,
    no_content,
    paginated,
    query_parameters,
    require_pagination,
)

_ONE = "/{id}"
# parameters after the caller: the body of a caller without permission is not read
NewDomainBody = Annotated[tuple[NewDomain, Problems], Depends(ParsedBody(NewDomain))]
DomainChangeBody = Annotated[tuple[DomainChange, Problems], Depends(ParsedBody(DomainChange, is_required=False))]


def endpoints(deps: WebDeps, guard: Guard) -> APIRouter:
    router = new_router("domains", "/domains")
    Reader = Annotated[Caller, Depends(guard.allow("domains:read"))]  # noqa: N806  # a type
    Writer = Annotated[Caller, Depends(guard.allow("domains:write"))]  # noqa: N806  # a type

    def domain_json(domain: Domain) -> DomainJson:
        return to_json(domain, deps.cname_target)

    @router.get(
        "",
        name="list",
        summary="List domains",
        response_model=Paginated[DomainJson],
        openapi_extra=query_parameters(*PAGING),
    )
    async def list_domains(caller: Reader, request: Request) -> Response:
        """Newest first."""
        page = await service.list_domains(deps, caller, require_pagination(request))
        return paginated(page.map(domain_json), request, deps.base_url)

    @router.post(
        "",
        summary="Create a domain",
        status_code=201,
        response_model=Data[DomainJson],
        responses=error_responses(406),
    )
    async def create(caller: Writer, body: NewDomainBody) -> Response:
        """The response lists the DNS records that verify the domain: set one of them, then verify. For a name that
        another account has verified before, only the TXT record is accepted.
        """
        return data(domain_json(await service.create(deps, caller, *body)), 201)

    @router.get(_ONE, name="get", summary="Get a domain", response_model=Data[DomainJson])
    async def get(caller: Reader, domain_id: PathId) -> Response:
        """Includes the result of the last check, the DNS records that verify the domain, and its HTTPS certificate."""
        return data(domain_json(await service.get(deps, caller, domain_id)))

    @router.patch(_ONE, summary="Change a domain's redirects", response_model=Data[DomainJson])
    async def update(caller: Writer, domain_id: PathId, body: DomainChangeBody) -> Response:
        """Change where the domain's root and unknown slugs redirect to."""
        return data(domain_json(await service.change(deps, caller, domain_id, *body)))

    @router.delete(_ONE, summary="Delete a domain", status_code=204)
    async def delete(caller: Writer, domain_id: PathId) -> Response:
        """Its links move to the shared domain immediately. Remove its DNS records too: while they point to this
        service, visitors see an error page.
        """
        await service.delete(deps, caller, domain_id)
        return no_content()

    @router.post(f"{_ONE}/verify", summary="Verify a domain", status_code=202, response_model=Data[DomainJson])
    async def verify(caller: Writer, domain_id: PathId) -> Response:
        """Schedule a check of the DNS records; get the domain to see the result."""
        return data(domain_json(await service.request_verification(deps, caller, domain_id)), 202)

    router.routes.extend(app_links_api.endpoints(deps, guard).routes)
    return router
