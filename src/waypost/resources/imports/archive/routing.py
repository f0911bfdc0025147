"""Reads the routing in the row of a link, and decides what the link gets. Passwords are not in an archive."""

from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from waypost.kit.clock import EPOCH
from waypost.kit.errors import Problems
from waypost.kit.fields import Timestamp, parse
from waypost.resources.imports import destinations
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.rules import Refused
from waypost.resources.links import Link
from waypost.resources.links.routing import LinkRouting
from waypost.resources.links.routing.schemas import RoutingFields, parse_routing
from waypost.resources.links.routing.service import is_plain, with_urls
from waypost.resources.links.rules import LOOP

NO_PASSWORD = "The password is not in the export: the link is disabled. Set a password, then enable the link"  # noqa: S105
_UNUSABLE = "The routing cannot be used: the link is disabled. Set its routing, then enable the link"


class RoutingRow(RoutingFields):
    has_password: bool = False
    updated_at: Timestamp | None = None


class ArchivedRouting(NamedTuple):
    """The defaults are those of a link without routing."""

    stored: LinkRouting | None = None
    """Without a password. None: there is none, or a problem."""
    starts_at: datetime | None = None
    click_limit: int | None = None
    has_password: bool = False
    hosts: frozenset[str] = frozenset()
    """Of its destinations."""
    problem: str | None = None
    """Why it cannot be used."""

    def to_compare(self) -> Any:
        """Return as JSON what is equal if nothing has changed."""
        stored = [self.stored.rules, self.stored.variants, self.stored.fallback_url] if self.stored else None
        return [stored, str(self.starts_at), self.click_limit, self.has_password, self.problem]

    def find_reason_to_disable(self, here: LinkRouting | None) -> str | None:
        """Return why visitors would see what they must not. `here`: the routing that the link has."""
        if self.problem:
            return f"{_UNUSABLE}. {self.problem}"
        return NO_PASSWORD if self.has_password and not (here and here.password_hash) else None


LOOPING = ArchivedRouting(problem=LOOP.rstrip("."))


async def read(deps: Deps, account_id: UUID, link_id: UUID, sent: Any, updated_at: datetime) -> ArchivedRouting:
    """Check it as the API does, except that destinations are not fetched. The caller looks for loops.

    `sent`: what the row has; `updated_at`: of the link.
    """
    if sent is None:
        return ArchivedRouting()
    if not isinstance(sent, dict):
        return ArchivedRouting(problem="It is not an object")
    fields, problems = parse(RoutingRow, sent)
    parsed, urls = parse_routing(fields, problems), {}
    for field, text in parsed.urls:
        try:
            urls[field] = await destinations.parse(deps, text)
        except Refused as error:
            problems.add(field, str(error))
    if problems:
        return ArchivedRouting(problem=_first(problems))
    # looked up soon, because no destination is checked against the blocklist here
    stored = LinkRouting(link_id, account_id, fields.updated_at or updated_at, EPOCH, parsed.rules, parsed.variants)
    hosts = frozenset(url.host for url in urls.values())
    return ArchivedRouting(with_urls(stored, urls), fields.starts_at, fields.click_limit, fields.has_password, hosts)


def merge(link: Link, archived: ArchivedRouting, here: LinkRouting | None, now: datetime) -> LinkRouting | None:
    """Return what replaces `here`, the routing of the link: with its password. None: the link has no routing."""
    after = archived.stored or LinkRouting(link.id, link.account_id, now, now)
    after = replace(after, link_id=link.id)
    if here:
        after = replace(
            after,
            password_hash=here.password_hash,
            password_version=here.password_version,
            unsafe_urls=sorted(after.destinations.intersection(here.unsafe_urls)),
        )
    return None if is_plain(link, after) else after


def _first(problems: Problems) -> str:
    field, messages = next(iter(problems.errors.items()))
    return f"{field}: {messages[0]}".rstrip(".")
