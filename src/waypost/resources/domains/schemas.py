"""Request and response bodies of domains."""

from typing import Annotated, ClassVar, Literal

from typing_extensions import TypedDict

from waypost.kit.clock import timestamp
from waypost.kit.docs import doc, doc_as, field
from waypost.kit.fields import Body, Documented, IdText, Text, TimestampText, UriText, UrlText
from waypost.kit.json_object import json_object
from waypost.resources.domains.model import Domain, DomainStatus, TlsStatus
from waypost.resources.domains.names import MAX_NAME

NewHostname = Annotated[Text, Documented({"minLength": 1, "maxLength": MAX_NAME + 1})]

DnsRecordType = Literal["TXT", "CNAME"]


class NewDomain(Body):
    REQUIRED = ("hostname",)
    EXAMPLE: ClassVar = {"hostname": "go.example.com"}

    hostname: NewHostname | None = field("Hostname, such as go.example.com")


class DomainChange(Body):
    """Changes of the fields in `model_fields_set`; null clears a URL."""

    NOT_NULL = ("hostname",)
    EXAMPLE: ClassVar = {"root_url": "https://example.com/", "not_found_url": "https://example.com/404"}

    hostname: NewHostname | None = field("Cannot be changed: only the current hostname is accepted", "go.brand.com")
    root_url: UrlText | None = field("URL for visitors who open the domain without a slug; null for an error page")
    not_found_url: UrlText | None = field(
        "URL for visitors of unknown, expired or disabled links of the domain; null for an error page"
    )


class DnsRecordJson(TypedDict):
    type: Annotated[DnsRecordType, doc("Type of the DNS record")]
    name: Annotated[str, doc("Name of the DNS record", "_waypost.go.brand.com")]
    value: Annotated[str, doc("Value of the DNS record", "waypost-3f9a…")]


class TlsJson(TypedDict):
    status: Annotated[TlsStatus, doc("Status of the certificate", "active")]
    expires_at: Annotated[
        TimestampText | None, doc("When the certificate expires; null if there is none", "2027-02-18T02:03:05.000000Z")
    ]
    error: Annotated[
        str | None,
        doc(
            "Why the last attempt failed; null if it did not",
            None,
            "The certificate authority could not reach the domain.",
        ),
    ]


class DomainJson(TypedDict):
    id: Annotated[IdText, doc("ID", "01a1fbb2-4d0b-7a3c-8f8e-7c6b5a493827")]
    hostname: Annotated[str, doc("Hostname, such as go.example.com", "go.brand.com")]
    status: Annotated[DomainStatus, doc("`verified` when one of the DNS records was found", "verified")]
    verified_at: Annotated[
        TimestampText | None,
        doc("Time of the verification; null if the domain is not verified", "2026-11-20T03:02:40.018225Z"),
    ]
    last_checked_at: Annotated[
        TimestampText | None, doc("Last DNS check; null before the first", "2026-11-23T03:02:41.730112Z")
    ]
    error: Annotated[
        str | None, doc("Why the last check failed; null if it did not", None, "None of the DNS records was found.")
    ]
    dns_records: Annotated[
        list[DnsRecordJson],
        doc(
            "DNS records that verify the domain; one of them is enough",
            {"name": "go.brand.com", "type": "CNAME", "value": "go.example.com"},
        ),
    ]
    root_url: Annotated[UriText | None, doc_as(DomainChange, "root_url", "https://brand.com/")]
    not_found_url: Annotated[UriText | None, doc_as(DomainChange, "not_found_url", None, "https://brand.com/lost")]
    links_count: Annotated[int, doc("Number of links on the domain", 12)]
    tls: Annotated[TlsJson, doc("HTTPS certificate of the domain")]
    created_at: Annotated[TimestampText, doc("Time of creation", "2026-11-20T02:56:16.123456Z")]
    updated_at: Annotated[TimestampText, doc("Time of the last change", "2026-11-20T02:56:16.123456Z")]


def to_json(domain: Domain, cname_target: str) -> DomainJson:
    tls: TlsJson = {
        "status": domain.tls_status,
        "expires_at": timestamp(domain.tls_expires_at) if domain.tls_expires_at else None,
        "error": domain.tls_error,
    }
    return json_object(DomainJson, domain, dns_records=_dns_records(domain, cname_target), tls=tls)


def _dns_records(domain: Domain, cname_target: str) -> list[DnsRecordJson]:
    """Return the records of which one verifies the domain."""
    txt: DnsRecordJson = {"type": "TXT", "name": f"_waypost.{domain.hostname}", "value": domain.token}
    cname: DnsRecordJson = {"type": "CNAME", "name": domain.hostname, "value": cname_target}
    return [txt] if domain.needs_txt else [txt, cname]
