"""What the pages of a link show above their content: the header and the tabs of the template `links/_header.html`."""

from typing import Any

from waypost.resources.links.model import Link
from waypost.resources.links.routing.model import LinkRouting


def header(
    link: Link, stored: LinkRouting | None, shared_domain: str, *, is_domain_served: bool, has_domains: bool
) -> dict[str, Any]:
    """Return the variables of the template. `has_domains`: of the account, without which a link has no addresses."""
    return {
        "link": link,
        "short_url": link.short_url(shared_domain),
        "is_routed": stored is not None and stored.has_targets,
        "is_domain_served": is_domain_served,
        "has_domains": has_domains,
    }
