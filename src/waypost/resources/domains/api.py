"""JSON endpoints of domains."""

from operator import attrgetter
from uuid import UUID

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.kit.pagination import Page, PageRequest
from waypost.kit.versions import Version
from waypost.resources.domains import service
from waypost.resources.domains.app_links import api as app_links_api
from waypost.resources.domains.appearance import api as appearance_api
from waypost.resources.domains.deps import WebDeps
from waypost.resources.domains.missed import api as missed_api
from waypost.resources.domains.model import Domain
from waypost.resources.domains.options import api as options_api
from waypost.resources.domains.schemas import DomainChange, DomainJson, NewDomain, to_json
from waypost.web import PAGING, Data, Endpoint, Paginated, Representation

_ONE = "/domains/{id}"


async def list_(deps: WebDeps, caller: Caller, page: PageRequest) -> Page[DomainJson]:
    """Newest first."""
    found = await service.list_domains(deps, caller, page)
    return found.map(lambda domain: to_json(domain, deps.cname_target))


async def create(deps: WebDeps, caller: Caller, new: NewDomain, problems: Problems) -> DomainJson:
    """The response lists the DNS records that verify the domain: set one of them, then verify. For a name that
    another account has verified before, only the TXT record is accepted.
    """
    return to_json(await service.create(deps, caller, new, problems), deps.cname_target)


async def get(deps: WebDeps, caller: Caller, domain_id: UUID) -> Domain:
    """Includes the result of the last check, the DNS records that verify the domain, and its HTTPS certificate."""
    return await service.get(deps, caller, domain_id)


async def update(deps: WebDeps, caller: Caller, domain_id: UUID, change: DomainChange, problems: Problems) -> Domain:
    """Change where the domain's root and unknown slugs redirect to."""
    return await service.change(deps, caller, domain_id, change, problems)


async def delete(deps: WebDeps, caller: Caller, domain_id: UUID) -> None:
    """Its links move to the shared domain immediately. Remove its DNS records too: while they point to this
    service, visitors see an error page.
    """
    await service.delete(deps, caller, domain_id)


async def verify(deps: WebDeps, caller: Caller, domain_id: UUID) -> DomainJson:
    """Schedule a check of the DNS records; get the domain to see the result."""
    return to_json(await service.request_verification(deps, caller, domain_id), deps.cname_target)


_SHOWN = Representation(
    lambda domain, deps, *_: to_json(domain, deps.cname_target),
    Version(attrgetter("hostname", "root_url", "not_found_url")),  # the rest is what checks find
    lambda domain, *_: domain,
)
ENDPOINTS = [
    Endpoint("GET", "/domains", list_, "List domains", "domains:read", Paginated[DomainJson], parameters=PAGING),
    Endpoint(
        "POST",
        "/domains",
        create,
        "Create a domain",
        "domains:write",
        Data[DomainJson],
        201,
        body=NewDomain,
        errors=[406],
    ),
    Endpoint("GET", _ONE, get, "Get a domain", "domains:read", Data[DomainJson], shows=_SHOWN),
    Endpoint(
        "PATCH",
        _ONE,
        update,
        "Change a domain's redirects",
        "domains:write",
        Data[DomainJson],
        body=DomainChange,
        shows=_SHOWN,
    ),
    Endpoint("DELETE", _ONE, delete, "Delete a domain", "domains:write", status=204, shows=_SHOWN),
    Endpoint("POST", f"{_ONE}/verify", verify, "Verify a domain", "domains:write", Data[DomainJson], 202),
    *app_links_api.ENDPOINTS,
    *options_api.ENDPOINTS,
    *appearance_api.ENDPOINTS,
    *missed_api.ENDPOINTS,
]
