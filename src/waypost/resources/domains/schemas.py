"""What may be sent for a domain, by type and length, and how a domain is shown."""

from typing import Annotated, Any

from waypost.kit.clock import timestamp
from waypost.kit.fields import Body, Text, max_characters
from waypost.resources.domains.model import Domain

MAX_URL = 2048

Address = Annotated[Text, max_characters(MAX_URL)]


class NewDomain(Body):
    hostname: Text | None = None


class DomainChange(Body):
    """`model_fields_set` tells what is to change; null clears an address."""

    hostname: Text | None = None
    root_url: Address | None = None
    not_found_url: Address | None = None


def shown(domain: Domain, cname_target: str) -> dict[str, Any]:
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


def _dns_records(domain: Domain, cname_target: str) -> list[dict[str, str]]:
    """Each of them proves the domain."""
    txt = {"type": "TXT", "name": f"_waypost.{domain.hostname}", "value": domain.token}
    cname = {"type": "CNAME", "name": domain.hostname, "value": cname_target}
    return [txt] if domain.needs_txt else [txt, cname]
