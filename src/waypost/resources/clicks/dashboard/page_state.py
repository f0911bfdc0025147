"""What a page of statistics shows: its URL says it, and each link on the page leads to another state. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from waypost.resources.clicks.dashboard.value_lists import name_value
from waypost.resources.clicks.filters import Clause, FilterName, Filters, FilterValue
from waypost.visitors.symbols import Icon


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter, and the states without it and with its opposite."""

    label: str
    name: str
    icon: Icon | None
    is_excluded: bool
    removed: str
    reversed: str


@dataclass(frozen=True, slots=True)
class PageState:
    path: str
    parameters: Mapping[str, str]
    """Time range, comparison and metric, as far as they were chosen."""
    filters: Filters
    offered: Collection[FilterName]
    hide_below: int | None = None
    """Of a share. None: of the dashboard, whose pages lead to others."""

    @property
    def is_shared(self) -> bool:
        return self.hide_below is not None

    @property
    def hides(self) -> bool:
        """Whether small numbers are hidden. No entry has fewer than one click."""
        return self.hide_below is not None and self.hide_below > 1

    def url(self, path: str = "", **changes: str) -> str:
        """Return the URL of the state with these parameters. Empty ones are left out."""
        parameters = {**self.parameters, **changes}
        if parameters.get("period", "custom") != "custom":
            parameters |= {"from": "", "to": ""}
        pairs = [(name, value) for name, value in parameters.items() if value]
        query = urlencode(pairs + self.filters.to_query())
        return f"{path or self.path}?{query}" if query else path or self.path

    def hidden(self) -> list[tuple[str, str]]:
        """Return what the form of the time range has no fields for."""
        names = {"metric"} if self.is_shared else {"metric", "timezone"}
        return [pair for pair in self.parameters.items() if pair[0] in names] + self.filters.to_query()

    def cleared(self) -> str:
        return replace(self, filters=Filters()).url()

    def links_of(self, name: FilterName) -> "RowLinks":
        chosen = frozenset(each.text for each in self.values_of(name) if not each.is_excluded)
        return RowLinks(self, name, chosen, self.without(name, chosen, is_excluded=False).url())

    def chips(self, links: Mapping[str, str]) -> list[Chip]:
        """`links`: the short URLs of links by their ids. Hosts of one place have one chip."""
        chips = []
        for clause in self.filters.clauses:
            groups: dict[tuple[str, bool], list[str]] = {}
            for text, is_excluded in clause.values:
                name = links.get(text, text) if clause.name == "link_id" else name_value(clause.name, text).name
                groups.setdefault((name, is_excluded), []).append(text)
            chips += [self._chip(clause.name, *named, texts) for named, texts in groups.items()]
        return chips

    def _chip(self, filter_: FilterName, name: str, is_excluded: bool, texts: Sequence[str]) -> Chip:  # noqa: FBT001
        without = self.without(filter_, texts, is_excluded=is_excluded)
        opposite = [FilterValue(text, not is_excluded) for text in texts]
        reversed_ = without.with_values(filter_, [*without.values_of(filter_), *opposite])
        bar = name_value(filter_, texts[0])
        return Chip(LABELS[filter_], name, bar.icon, is_excluded, without.url(), reversed_.url())

    def values_of(self, name: FilterName) -> Sequence[FilterValue]:
        return next((clause.values for clause in self.filters.clauses if clause.name == name), ())

    def without(self, name: FilterName, texts: Collection[str], *, is_excluded: bool) -> "PageState":
        removed = {FilterValue(text, is_excluded) for text in texts}
        return self.with_values(name, [each for each in self.values_of(name) if each not in removed])

    def with_values(self, name: FilterName, values: Sequence[FilterValue]) -> "PageState":
        """Replace the values of a filter, in its place."""
        clauses = {clause.name: clause for clause in self.filters.clauses}
        clauses[name] = Clause(name, tuple(dict.fromkeys(values)))
        return replace(self, filters=Filters(tuple(each for each in clauses.values() if each.values)))


@dataclass(frozen=True, slots=True)
class RowLinks:
    """The links of a list, whose rows are values of one filter. A page has hundreds of rows."""

    state: PageState
    name: FilterName
    chosen: frozenset[str]
    base: str
    """The URL without chosen values."""

    def is_chosen(self, texts: Collection[str]) -> bool:
        return bool(texts) and self.chosen >= set(texts)

    def url(self, texts: Sequence[str]) -> str:
        """Return the URL that shows these values only, or no longer does. Empty if they are no filter here."""
        if self.name not in self.state.offered or not texts:
            return ""
        if self.is_chosen(texts):
            return self.state.without(self.name, texts, is_excluded=False).url()
        values = tuple(FilterValue(text, is_excluded=False) for text in texts)
        query = urlencode(Filters((Clause(self.name, values),)).to_query())
        return f"{self.base}{'&' if '?' in self.base else '?'}{query}"


LABELS: Mapping[FilterName, str] = {
    "country": "Country",
    "device": "Device",
    "browser": "Browser",
    "platform": "Platform",
    "referrer": "Referrer",
    "target": "Target",
    "is_scan": "Visit",
    "link_id": "Link",
    "tag": "Tag",
    "hostname": "Domain",
    "utm_source": "UTM source",
    "utm_medium": "UTM medium",
    "utm_campaign": "Campaign",
    "utm_term": "UTM term",
    "utm_content": "UTM content",
}
