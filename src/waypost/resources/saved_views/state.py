"""The parameters of a statistics page that a view keeps. Pure."""

from collections.abc import Collection
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from waypost.kit.errors import Problems
from waypost.resources.clicks.dashboard.page_state import PageState
from waypost.resources.clicks.filters import ACCOUNT_FILTERS, LINK_FILTERS, FilterName, Filters
from waypost.resources.links.lists.query import LIST_PARAMETERS
from waypost.resources.saved_views.model import OF_LIST

_NAMES = ("period", "interval", "timezone", "compare", "from", "to", "metric")
"""Besides filters, in the order of the page's own URLs."""
_MAX_PARAMETERS = 300


def clean_query(query: str, *, is_of_link: bool) -> str:
    """Return the parameters that the page has: the list of links, or statistics of a link or an account."""
    if query.startswith(OF_LIST):
        sent = dict(_pairs(query))
        return urlencode([("view", "links"), *((name, sent[name]) for name in LIST_PARAMETERS if sent.get(name))])
    return _read(query, LINK_FILTERS if is_of_link else ACCOUNT_FILTERS).url().partition("?")[2]


def filtered_links(query: str) -> list[UUID]:
    """Return the links that a filter names."""
    state = _read(query, ACCOUNT_FILTERS)
    return [UUID(each.text) for each in state.values_of("link_id")]


def without_links(query: str, removed: Collection[UUID]) -> str:
    """Return the parameters without the filters by these links."""
    state = _read(query, ACCOUNT_FILTERS)
    kept = [each for each in state.values_of("link_id") if UUID(each.text) not in removed]
    return state.with_values("link_id", kept).url().partition("?")[2]


def _read(query: str, offered: Collection[FilterName]) -> PageState:
    """Leave out what is unknown or invalid."""
    pairs = _pairs(query)
    sent = dict(pairs)
    chosen = {name: sent[name] for name in _NAMES if name in sent}
    return PageState("/stats", chosen, Filters.read(pairs, offered, Problems()), offered)


def _pairs(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, max_num_fields=_MAX_PARAMETERS)
    except ValueError:
        return []
