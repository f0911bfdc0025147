"""Request and response bodies of domains."""

from typing import Annotated, ClassVar, Literal

from typing_extensions import TypedDict

from waypost.kit.clock import timestamp
from waypost.kit.fields import URI, Body, Documented, IdText, Text, TimestampText, UriText, max_characters
from waypost.resources.domains.model import Domain, DomainStatus, TlsStatus
from waypost.resources.domains.names import MAX_NAME

MAX_URL = 2048

HostnameText = Annotated[Text, Documented({"minLength": 1, "maxLength": MAX_NAME + 1})]
TargetUrl = Annotated[Text, max_characters(MAX_URL), URI]

DnsRecordType = Literal["TXT", "CNAME"]


class NewDomain(Body):
    REQUIRED = ("hostname",)
    EXAMPLE: ClassVar = {"hostname": "go.example.com"}

    hostname: HostnameText | None = None


class DomainChange(Body):
    """Changes of the fields in `model_fields_set`; null clears a URL."""

    NOT_NULL = ("hostname",)
    EXAMPLE: ClassVar = {"root_url": "https://example.com/", "not_found_url": "https://example.com/404"}

    hostname: HostnameText | None = None
    root_url: TargetUrl | None = None
    not_found_url: TargetUrl | None = None


class DnsRecordJson(TypedDict):
    type: DnsRecordType
    name: str
    value: str


class TlsJson(TypedDict):
    status: TlsStatus
    expires_at: TimestampText | None
    error: str | None


class DomainJson(TypedDict):
    id: IdText
    hostname: str
    status: DomainStatus
    verified_at: TimestampText | None
    last_checked_at: TimestampText | None
    error: str | None
    dns_records: list[DnsRecordJson]
    root_url: UriText | None
    not_found_url: UriText | None
    links_count: int
    tls: TlsJson
    created_at: TimestampText
    updated_at: TimestampText


def to_json(domain: Domain, cname_target: str) -> DomainJson:
    return {
        "id": str(domain.id),
        "hostname": domain.hostname,
        "status": domain.status,
        "verified_at": timestamp(domain.verified_at) if domain.verified_at else None,
        "last_checked_at": timestamp(domain.last_checked_at) if domain.last_checked_at else None,
        "error": domain.error,
        "dns_records": _dns_records(domain, cname_target),
        "root_url": domain.root_url,
        "not_found_url": domain.not_found_url,
        "links_count": domain.links_count,
        "tls": {
            "status": domain.tls_status,
            "expires_at": timestamp(domain.tls_expires_at) if domain.tls_expires_at else None,
            "error": domain.tls_error,
        },
        "created_at": timestamp(domain.created_at),
        "updated_at": timestamp(domain.updated_at),
    }


def _dns_records(domain: Domain, cname_target: str) -> list[DnsRecordJson]:
    """Return the records of which one verifies the domain."""
    txt: DnsRecordJson = {"type": "TXT", "name": f"_waypost.{domain.hostname}", "value": domain.token}
    cname: DnsRecordJson = {"type": "CNAME", "name": domain.hostname, "value": cname_target}
    return [txt] if domain.needs_txt else [txt, cname]
