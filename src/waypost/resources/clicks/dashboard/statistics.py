"""The statistics of one subject on a page: what a request asks for, and what the page shows of it.

Pages of the dashboard and of shares differ in what they read: each has a `StatsSource`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response

from waypost.kit.errors import Errors, Invalid, NotFound, Problems
from waypost.resources.clicks.backends.sql import top_values
from waypost.resources.clicks.dashboard import rendering, time_range, value_lists
from waypost.resources.clicks.dashboard.page_state import PageState
from waypost.resources.clicks.filters import FilterName, Filters
from waypost.resources.clicks.model import Subject
from waypost.resources.clicks.stats import csv_rows
from waypost.resources.clicks.stats.query import StatsQuery
from waypost.resources.clicks.stats.read import Statistics, StatsList, read_statistics
from waypost.resources.clicks.store import ClickReader, ClicksUnavailable
from waypost.web.dashboard import Views, is_fragment_request


@dataclass(frozen=True, slots=True)
class StatsCall:
    """What a request for a page of statistics asks for."""

    request: Request
    now: datetime
    """The end of a time range until now: by a later one, it would end in the past."""
    choice: time_range.StatsChoice
    state: PageState
    metric: str
    problems: Errors = field(default_factory=dict)
    """Of filters."""

    @property
    def query(self) -> StatsQuery:
        return replace(self.choice.query, filters=self.state.filters, comparison=self.choice.comparison)

    @property
    def is_for_lists(self) -> bool:
        """Whether the loaded page requests its lists, which it was sent without."""
        return is_fragment_request(self.request, "lists") and "lists" in self.request.query_params

    def files(self, path: str, lists: Collection[str]) -> list[tuple[str, str]]:
        """Return the name and the URL of each file."""
        named = {name: name.capitalize().replace("_", " ").replace("Utm", "UTM") for name in lists}
        others = ((text, self.state.url(path, list=name)) for name, text in named.items())
        everything = ("All lists and clicks over time (ZIP)", self.state.url(path, list=_ALL))
        return [everything, ("Clicks over time", self.state.url(path)), *others]

    def describe(self) -> str:
        """Return what the statistics are about, for a file."""
        lines = [f"Statistics of {self.choice.dates}, times in {self.choice.preferences.zone_name}."]
        lines += [f"{name}: {text}" for name, text in self.state.filters.to_query()]
        return "\n".join(lines)


class StatsSource(Protocol):
    """Reads the statistics of a subject."""

    lists: Mapping[str, StatsList]
    """Those of the subject, by name."""

    async def read(
        self, query: StatsQuery, lists: Collection[StatsList] = (), limit: int | None = None
    ) -> Statistics: ...

    async def find_targets(self, call: StatsCall, found: Statistics) -> value_lists.ValueList | None:
        """Return the list of targets, if the subject has any."""

    async def find_names(self, filters: Filters) -> Mapping[str, str]:
        """Return the short URLs of the links that filters name, by id."""


_ALL = "all"


async def read_comparable(
    reader: ClickReader, subject: Subject, query: StatsQuery, now: datetime, **options: Any
) -> Statistics:
    """Read statistics. A comparison that cannot be counted is left out."""
    try:
        return await read_statistics(reader, subject, query, now, **options)
    except Invalid as error:
        if "compare" not in error.errors:
            raise
        return await read_statistics(reader, subject, replace(query, comparison=None), now, **options)


def read_call(
    request: Request,
    choice: time_range.StatsChoice,
    offered: Collection[FilterName],
    now: datetime,
    *,
    hide_below: int | None = None,
) -> StatsCall:
    """`hide_below`: of a share; None for a page of the dashboard."""
    problems = Problems()
    filters = Filters.read(request.query_params.multi_items(), offered, problems)
    metric = request.query_params.get("metric", "")
    chosen = {name: choice.form.text(name) for name in choice.form.fields if request.query_params.get(name)}
    state = PageState(request.url.path, chosen, filters, offered, hide_below)
    if metric not in rendering.metrics(hides=state.hides):
        metric = "clicks"
    if metric != "clicks":
        state = replace(state, parameters={**chosen, "metric": metric})
    return StatsCall(request, now, choice, state, metric, problems.errors)


async def read_page(call: StatsCall, source: StatsSource) -> dict[str, Any]:
    """Return what the templates show. What cannot be counted now, or at all, is said there."""
    try:
        return await _read(call, source)
    except ClicksUnavailable:
        return {"is_unavailable": True}
    except Invalid as error:
        return {"refusal": " ".join(text for texts in error.errors.values() for text in texts)}


async def _read(call: StatsCall, source: StatsSource) -> dict[str, Any]:
    """With filters, the lists are counted with the totals; without, they can be read later."""
    query = call.query
    if call.is_for_lists:
        found, cards = await _read_lists(call, source, replace(query, comparison=None))
        return {"total": found.total, **cards}
    context: dict[str, Any] = {"cards": (), "hours": None}
    if query.filters or "lists" in call.request.query_params:
        found, cards = await _read_lists(call, source, query)
        context |= cards
    else:
        found = await source.read(query)
        if found.total.clicks <= top_values.CACHE_THRESHOLD:
            context |= (await _read_lists(call, source, replace(query, buckets=[], comparison=None)))[1]
    return context | {
        "total": found.total,
        "numbers": rendering.compare(found, call.choice.comparison_dates, call.choice.preferences),
        "chart": rendering.chart(call.choice, found, call.metric),
        "chart_table": rendering.chart_table(call.choice, found),
        "filtered_links": await source.find_names(query.filters),
    }


async def _read_lists(
    call: StatsCall, source: StatsSource, query: StatsQuery
) -> tuple[Statistics, dict[str, Sequence[value_lists.ListCard] | value_lists.HeatMap | None]]:
    found = await source.read(query, source.lists.values())
    cards = value_lists.list_cards(found, await source.find_targets(call, found))
    return found, {"cards": cards, "hours": value_lists.heat_map(found.hours, call.choice.preferences)}


def respond(views: Views, call: StatsCall, template: str, context: dict[str, Any], status: int = 200) -> Response:
    """Render the page, or the part of it that htmx replaces. `status`: unless something was refused."""
    request, choice = call.request, call.choice
    context = {
        "is_unavailable": False,
        "refusal": "",
        "matching": (),
        "chips": call.state.chips(context.pop("filtered_links", {})),
        "periods": time_range.PERIODS,
        "intervals": time_range.INTERVALS,
        "comparisons": time_range.COMPARISONS,
        "metrics": list(rendering.metrics(hides=call.state.hides).values()),
        "choice": choice,
        "preferences": choice.preferences,
        "state": call.state,
        "metric": call.metric,
        "problems": call.problems,
        **context,
    }
    if choice.form.errors or call.problems or context["refusal"]:
        status = 422
    if call.is_for_lists:
        return views.render_fragment(request, "clicks/_lists.html", "lists", status=status, **context)
    if is_fragment_request(request):
        return views.render_fragment(request, template, "statistics", status=status, **context)
    return views.render_page(request, template, status=status, **context)


async def read_file(call: StatsCall, source: StatsSource) -> Response:
    """Return the series, all values of a list, or everything, in the state of the page. Raises NotFound and Invalid."""
    name = call.request.query_params.get("list", "")
    if name and name not in source.lists and name != _ALL:
        raise NotFound
    if errors := {**call.choice.form.errors, **call.problems}:
        raise Invalid(errors)
    query, at = replace(call.query, comparison=None), call.choice.preferences.local(call.now)
    if name == _ALL:
        found = await source.read(query, source.lists.values(), csv_rows.MAX_ROWS_OF_ALL + 1)
        archive = await csv_rows.to_zip(query, found, source.lists, call.describe(), at)
        return _attachment(archive, f"statistics-{at:%Y-%m-%d}.zip", "application/zip")
    found = await source.read(query, [source.lists[name]] if name else [], csv_rows.MAX_ROWS + 1)
    content = await csv_rows.to_csv(query, found, source.lists.get(name))
    return _attachment(content, f"{name or csv_rows.SERIES}-{at:%Y-%m-%d}.csv", "text/csv; charset=utf-8")


def _attachment(content: str | bytes, file: str, media_type: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{file}"', "Cache-Control": "no-store"}
    return Response(content, media_type=media_type, headers=headers)
