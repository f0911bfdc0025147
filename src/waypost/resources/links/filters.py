"""Filters of a list of links, and the choices that filters and forms offer: the account's domains, pixels and tags."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args
from uuid import UUID

from sqlalchemy import Select, Text, bindparam, func, literal, null, select, union_all

from waypost.database import Id, Tx
from waypost.kit.errors import Problems
from waypost.kit.fields import text_problem
from waypost.resources import domains, pixels
from waypost.resources.links.model import LinkStatus, link_tags
from waypost.resources.links.schemas import canonical_name

FILTERS = ("search", "tag", "hostname", "status")
MAX_SEARCH = 255
_DOMAINS = 1_000
_PIXELS = 200
_TAGS = 100


@dataclass(frozen=True, slots=True)
class LinkFilter:
    """None in a field does not filter."""

    search: str | None = None
    tag: str | None = None
    hostname: str | None = None
    on_shared_domain: bool = False
    status: LinkStatus | None = None

    @property
    def is_empty(self) -> bool:
        return self == LinkFilter()

    @property
    def is_tag_only(self) -> bool:
        return self.tag is not None and self == LinkFilter(tag=self.tag)


def read_filter(query: Mapping[str, str], shared_domain: str, problems: Problems) -> LinkFilter:
    given = {name: query.get(name) for name in FILTERS}
    for name, text in given.items():
        if problem := text_problem(text or ""):
            problems.add(name, problem)
    if len(given["search"] or "") > MAX_SEARCH:
        problems.add("search", f"This may have at most {MAX_SEARCH} characters.")
    if given["status"] not in {None, *get_args(LinkStatus)}:
        problems.add("status", f"This must be one of: {', '.join(get_args(LinkStatus))}.")
    hostname = canonical_name(given["hostname"] or "")
    is_shared = hostname == shared_domain
    return LinkFilter(
        search=given["search"],
        tag=given["tag"],
        hostname=None if is_shared else hostname or None,
        on_shared_domain=is_shared,
        status=given["status"],  # type: ignore[arg-type]  # checked above
    )


class FormChoices(NamedTuple):
    hostnames: Sequence[str]
    """Also of unverified domains."""
    pixels: Sequence[tuple[UUID, str, str]]
    """(id, name, platform)"""
    tags: Sequence[str]
    """The first ones in alphabetical order."""


async def find_choices(tx: Tx, account_id: UUID) -> FormChoices:
    found = (await tx.execute(_CHOICES, {"account_id": account_id})).all()
    return FormChoices(
        hostnames=[row.name for row in found if row.kind == "domain"],
        pixels=[(row.id, row.name, row.platform) for row in found if row.kind == "pixel"],
        tags=[row.name for row in found if row.kind == "tag"],
    )


def _tags(account_id: Any) -> Select[Any]:
    """One seek from each tag to the next, however many links have it. Counting those took longer than the list."""
    smallest = select(func.min(link_tags.c.tag)).where(link_tags.c.account_id == account_id)
    first = select(smallest.scalar_subquery().label("tag"), literal(1).label("place")).cte("tags", recursive=True)
    following = smallest.where(link_tags.c.tag > first.c.tag).correlate(first).scalar_subquery()
    tags = first.union_all(select(following, first.c.place + 1).where(first.c.tag.is_not(None), first.c.place < _TAGS))
    return select(tags.c.tag).where(tags.c.tag.is_not(None))


def _choices(account_id: Any) -> Any:
    """All in one round trip."""
    own_pixels = pixels.names_of(account_id, _PIXELS).subquery()
    own_domains = domains.hostnames_of(account_id, _DOMAINS).subquery()
    tags = _tags(account_id).subquery()
    no_id, no_platform = null().cast(Id).label("id"), null().cast(Text).label("platform")
    return union_all(
        select(literal("pixel").label("kind"), own_pixels.c.name, own_pixels.c.id, own_pixels.c.platform),
        select(literal("domain"), own_domains.c.hostname, no_id, no_platform),
        select(literal("tag"), tags.c.tag, no_id, no_platform),
    )


_CHOICES = _choices(bindparam("account_id", type_=Id))
