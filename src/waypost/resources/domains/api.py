"""JSON endpoints of domains."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from waypost.auth import Caller
from waypost.kit.errors import Problems
from waypost.resources.domains import service
from waypost.resources.domains.deps import WebDeps
from waypost.resources.domains.model import Domain
from waypost.resources.domains.schemas import DomainChange, DomainJson, NewDomain, to_json
from waypost.web import (
    PAGING,
    PREFIX,
    Data,
    Guard,
    Paginated,
    ParsedBody,
    data,
    error_responses,
    no_content,
    paginated,
    path_id,
    query_parameters,
    require_pagination,
)

_ONE = "/{id}"


def endpoints(deps: WebDeps, guard: Guard) -> APIRouter:
    router = APIRouter(prefix=f"{PREFIX}/domains", tags=["domains"])
    reader = Annotated[Caller, Depends(guard.allow("domains:read"))]
    writer = Annotated[Caller, Depends(guard.allow("domains:write"))]
    id_of_path = Annotated[UUID, Depends(path_id)]
    # declared after the guard: the body of a caller without permission is not read
    new_domain = Annotated[tuple[NewDomain, Problems], Depends(ParsedBody(NewDomain))]
    domain_change = Annotated[tuple[DomainChange, Problems], Depends(ParsedBody(DomainChange))]

    def domain_json(domain: Domain) -> DomainJson:
        return to_json(domain, deps.cname_target)

    @router.get(
        "",
        name="browse",
        summary="List domains",
        response_model=Paginated[DomainJson],
        openapi_extra=query_parameters(*PAGING),
    )
    async def list_domains(caller: reader, request: Request) -> Response:
        page = await service.list_domains(deps, caller, require_pagination(request))
        return paginated(page.map(domain_json), request, deps.base_url)

    @router.post(
        "",
        summary="Create a domain",
        status_code=201,
        response_model=Data[DomainJson],
        responses=error_responses(406),
    )
    async def create(caller: writer, body: new_domain) -> Response:
        """The response lists the DNS records that verify the domain: set one of them, then verify. For a name that
        another account has verified before, only the TXT record is accepted.
        """
        return data(domain_json(await service.create(deps, caller, *body)), 201)

    @router.get(_ONE, name="find", summary="Get a domain", response_model=Data[DomainJson])
    async def get(caller: reader, domain_id: id_of_path) -> Response:
        return data(domain_json(await service.get(deps, caller, domain_id)))

    @router.patch(_ONE, summary="Change a domain's redirects", response_model=Data[DomainJson])
    async def change(caller: writer, domain_id: id_of_path, body: domain_change) -> Response:
        """Change where the domain's root and unknown slugs redirect to."""
        return data(domain_json(await service.change(deps, caller, domain_id, *body)))

    @router.delete(_ONE, summary="Delete a domain", status_code=204)
    async def delete(caller: writer, domain_id: id_of_path) -> Response:
        """Its links move to the shared domain immediately. Remove its DNS records too: while they point to this
        service, visitors see an error page.
        """
        await service.delete(deps, caller, domain_id)
        return no_content()

    @router.post(f"{_ONE}/verify", summary="Verify a domain", status_code=202, response_model=Data[DomainJson])
    async def verify(caller: writer, domain_id: id_of_path) -> Response:
        """Schedule a check of the DNS records; get the domain to see the result."""
        return data(domain_json(await service.request_verification(deps, caller, domain_id)), 202)

    return router
