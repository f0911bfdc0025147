"""What the OpenAPI document tells of domains. Describes; no request comes here."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel

from waypost.resources.domains import model
from waypost.resources.domains.names import MAX_NAME
from waypost.resources.domains.schemas import MAX_URL, DomainChange, NewDomain
from waypost.web.openapi import PAGING, One, Page, endpoint
from waypost.web.openapi_bodies import request_body


class DnsRecord(BaseModel):
    type: Literal["TXT", "CNAME"]
    name: str
    value: str


class Tls(BaseModel):
    status: model.TlsStatus
    expires_at: datetime | None
    error: str | None


class Domain(BaseModel):
    id: UUID
    hostname: str
    status: model.Status
    verified_at: datetime | None
    last_checked_at: datetime | None
    error: str | None
    dns_records: list[DnsRecord]
    root_url: str | None
    not_found_url: str | None
    links_count: int
    tls: Tls
    created_at: datetime
    updated_at: datetime


_NAME = {"minLength": 1, "maxLength": MAX_NAME + 1}
_DETAILS: dict[str, dict[str, Any]] = {
    "hostname": _NAME,
    "root_url": {"maxLength": MAX_URL},
    "not_found_url": {"maxLength": MAX_URL},
}
_NEW = request_body(
    NewDomain, details=_DETAILS, required={"hostname"}, never_null={"hostname"}, example={"hostname": "go.example.com"}
)
_CHANGE = request_body(
    DomainChange,
    details=_DETAILS,
    never_null={"hostname"},
    example={"root_url": "https://example.com/", "not_found_url": "https://example.com/404"},
)

BROWSE = endpoint("List domains", scope="domains:read", shows=Page[Domain], query=PAGING, refuses=[422])
CREATE = endpoint(
    "Register a domain",
    "The answer lists the DNS records that prove it: set one of them, then verify. For a name that another account has "
    "verified before, only the TXT record does.",
    scope="domains:write",
    status=201,
    shows=One[Domain],
    takes=_NEW,
    refuses=[406, 413, 422],
)
FIND = endpoint("Get a domain", scope="domains:read", shows=One[Domain], refuses=[404])
CHANGE = endpoint(
    "Change where a domain leads",
    "At its root, and where there is no such link.",
    scope="domains:write",
    shows=One[Domain],
    takes=_CHANGE,
    refuses=[404, 413, 422],
)
DELETE = endpoint(
    "Delete a domain",
    "Its links move to the shared domain at once. Remove its DNS records, too: while they point here, its visitors see "
    "an error page.",
    scope="domains:write",
    status=204,
    refuses=[404],
)
VERIFY = endpoint(
    "Verify a domain",
    "Looks up its DNS records soon; ask for the domain to see what came of it.",
    scope="domains:write",
    status=202,
    shows=One[Domain],
    refuses=[404],
)
