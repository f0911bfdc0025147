"""Plan of a list of links: which index finds them, and whether they are sorted afterwards. Pure.

With 100,000 links in an account, the index decides whether a list takes milliseconds or seconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from waypost.resources.links.filters import LinkFilter

Order = Literal["newest", "clicks", "title"]
Lead = Literal["candidates", "tag", "search", "domain", "newest", "clicks", "title"]
"""The index that finds the links: of candidates for a text, of a tag, of all searchable texts, of a domain, or of all
links of the account in one of the orders.
"""


@dataclass(frozen=True, slots=True)
class ListStatistics:
    trigrams: Sequence[str] = ()
    """Some of the searched text, the rarest ones."""
    candidates: Sequence[int] | None = None
    """Numbers of all links that may match the searched text. None: too many, or not looked up."""
    is_tag_rare: bool = False


@dataclass(frozen=True, slots=True)
class ListPlan:
    lead: Lead
    is_sorted_afterwards: bool


def plan_list(filter_: LinkFilter, statistics: ListStatistics, order: Order, *, is_match_common: bool) -> ListPlan:
    """`is_match_common`: so many links match that reading all links in this order soon finds enough of them."""
    lead: Lead = "newest"
    if statistics.candidates is not None:
        lead = "candidates"
    elif statistics.is_tag_rare:
        lead = "tag"
    elif order != "newest" and is_match_common:
        lead = order
    elif filter_.search:
        lead = "search"
    elif filter_.hostname is not None:
        lead = "domain"
    return ListPlan(lead, is_sorted_afterwards=order not in {"newest", lead})
