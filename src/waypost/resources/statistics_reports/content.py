"""What a report says: a subject, a text, and an HTML document for programs of emails. Pure but for its templates.

Top lists have short URLs, never destinations or titles of links: those of protected links must not be in emails.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from waypost import mail
from waypost.kit.preferences import Preferences
from waypost.resources.clicks.dashboard import rendering, value_lists
from waypost.resources.clicks.dashboard.value_lists import ValueBar
from waypost.resources.clicks.filters import Clause, Filters, FilterValue
from waypost.resources.clicks.stats.query import StatsQuery
from waypost.resources.clicks.stats.read import Statistics, StatsList
from waypost.resources.statistics_reports import chart
from waypost.resources.statistics_reports.model import ReportSubject
from waypost.resources.statistics_reports.periods import NAMES, ReportDays, ReportPeriod
from waypost.web.dashboard.filters import FILTERS, PREFERRED

if TYPE_CHECKING:
    from jinja2 import Environment

LISTS: Sequence[StatsList] = ("link", "referrer", "country", "device")
_LIST_IDS = ("top-links", "referrers", "countries", "devices")
_TOP = 5
_MAX_NAME = 80


class ReportScope(NamedTuple):
    """What a report is about."""

    account_id: UUID
    subject: ReportSubject
    name: str
    """Of the account, the tag, or the short URL."""
    period: ReportPeriod
    preferences: Preferences
    """Of the recipient."""


class ReportUrls(NamedTuple):
    base: str
    unsubscribe: str
    manage: str
    """Empty for recipients that are no members."""


@dataclass(frozen=True, slots=True)
class ReportEmail:
    subject: str
    text: str
    html: str
    days: Sequence[tuple[date, int]]
    """Clicks of each day, for the picture. Empty without clicks."""
    preferences: Preferences

    def draw(self) -> bytes:
        is_week = len(self.days) <= chart.MAX_LABELLED
        shown = self.preferences
        labels = [f"{day:%a %-d}" if is_week else shown.day_of_year(day) * (day.day % 7 == 1) for day, _ in self.days]
        return chart.draw([clicks for _, clicks in self.days], labels, shown)


def filters_of(subject: ReportSubject) -> Filters:
    return Filters((Clause("tag", (FilterValue(subject.tag, is_excluded=False),)),) if subject.tag else ())


def write(
    scope: ReportScope,
    days: ReportDays,
    before: ReportDays,
    query: StatsQuery,
    found: Statistics,
    urls: ReportUrls,
    why_no_links: str,
) -> ReportEmail:
    """`why_no_links`: why the links are not attached, although the subscription asks for them."""
    preferences, subject = scope.preferences, scope.subject
    name = " ".join(scope.name.split())
    name = name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…"
    clicks = [
        (preferences.local(bucket.at).date(), point.clicks)
        for bucket, point in zip(query.buckets, found.points, strict=True)
    ]
    title = f"{NAMES[scope.period]} report: {f'links tagged {name}' if subject.tag else name}"
    dates_before = preferences.days(*before, year=days.last.year)
    context = {
        "preferences": preferences,
        "title": title,
        "days": preferences.days(*days),
        "numbers": rendering.compare(found, dates_before, preferences),
        "series": _series(scope.period, clicks, preferences) if found.total.clicks else (),
        "summary": _summary(clicks, preferences),
        "alt": "Clicks by day: "
        + ", ".join(f"{preferences.day_of_year(day, '%a ')} {preferences.number(count)}" for day, count in clicks),
        "lists": _lists(found),
        "statistics_url": _statistics_url(subject, days, urls.base),
        "why_no_links": why_no_links,
        "links_url": _links_url(subject, urls.base),
        "urls": urls,
        "image_id": mail.IMAGE_ID,
        "image_width": chart.WIDTH,
    }
    return ReportEmail(
        f"{title}, {preferences.number(found.total.clicks)} click{'' if found.total.clicks == 1 else 's'}",
        _environment().get_template("email.txt").render(context),
        _environment().get_template("email.html").render(context),
        clicks if found.total.clicks else (),
        preferences,
    )


def _series(
    period: ReportPeriod, clicks: Sequence[tuple[date, int]], preferences: Preferences
) -> list[tuple[str, int]]:
    """Return the clicks of each day of a week, or of each week of a month."""
    if period == "week":
        return [(preferences.day_of_year(day, "%a "), count) for day, count in clicks]
    weeks = [list(week) for _, week in groupby(clicks, lambda each: each[0].isocalendar()[:2])]
    return [
        (preferences.days(week[0][0], week[-1][0], year=week[0][0].year), sum(count for _, count in week))
        for week in weeks
    ]


def _summary(clicks: Sequence[tuple[date, int]], preferences: Preferences) -> str:
    day, most = max(clicks, key=lambda each: each[1])
    average = sum(count for _, count in clicks) / len(clicks)
    rounded = preferences.number(average, 0 if average >= 10 else 1)
    named = preferences.day_of_year(day, "%A, ")
    return f"Most clicks came on {named}: {preferences.number(most)}. The average is {rounded} a day."


def _lists(found: Statistics) -> list[tuple[str, Sequence[ValueBar], int]]:
    """Return the name, the first values and the total of each list that has any."""
    lists = {each.id: each for card in value_lists.list_cards(found, None) for each in card.lists}
    return [(lists[id_].name, lists[id_].bars[:_TOP], lists[id_].total) for id_ in _LIST_IDS if id_ in lists]


def _statistics_url(subject: ReportSubject, days: ReportDays, base_url: str) -> str:
    parameters = [("period", "custom"), ("from", f"{days.first}"), ("to", f"{days.last}")]
    path = f"/links/{subject.link_id}" if subject.link_id else "/stats"
    return f"{base_url}{path}?{urlencode(parameters + filters_of(subject).to_query())}"


def _links_url(subject: ReportSubject, base_url: str) -> str:
    return f"{base_url}/links/csv" + (f"?{urlencode({'tag': subject.tag})}" if subject.tag else "")


@cache
def _environment() -> "Environment":
    import jinja2  # noqa: PLC0415  # 3 MB

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("waypost.resources.statistics_reports"),
        autoescape=jinja2.select_autoescape(["html"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    environment.filters.update({name: jinja2.pass_context(each) for name, each in PREFERRED.items()})
    return environment
