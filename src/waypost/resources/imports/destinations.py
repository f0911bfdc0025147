"""Destinations of imported links."""

from waypost.kit.urls import Url
from waypost.outbound import NotPublic
from waypost.resources.imports import rules
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.rules import Refused
from waypost.resources.links.rules import NOT_PUBLIC


async def parse(deps: Deps, text: str) -> Url:
    """Raises Refused."""
    own_hosts = deps.shared_domain, deps.base_url.partition("://")[2]
    url = rules.destination(text, own_hosts=own_hosts, private=deps.outbound.names)
    try:
        await deps.check_ip(url)
    except NotPublic:
        raise Refused(NOT_PUBLIC) from None
    return url
