"""Filters of a list of links, read from the query of a URL by the API and by the dashboard."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from waypost.kit.errors import Problems
from waypost.kit.fields import text_problem
from waypost.resources.links.model import LinkStatus
from waypost.resources.links.schemas import canonical_name

FILTERS = ("search", "tag", "hostname", "status")
MAX_SEARCH = 255


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
