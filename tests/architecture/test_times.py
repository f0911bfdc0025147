"""Every page shows times in the time zone of its reader, names the zone, and has the formats that they chose."""

import re
from collections.abc import Iterator

import pytest
from architecture.code import PACKAGE
from architecture.dashboard import Dashboard, named
from architecture.test_page_access import STREAMS, path_of
from sqlalchemy import update

from waypost.accounts.model import people
from waypost.kit.clock import parse_timestamp
from waypost.kit.preferences import Preferences
from waypost.web.dashboard.filters import PREFERRED

CHOSEN = Preferences("Asia/Kathmandu", "month_day", "point")
OF_VISITORS = {"/domains/{id}/appearance/preview"}
"""Pages that are shown as visitors get them."""
MEANT = {
    "/account": "lists all formats",
    "/operator/service": "counts what is new by days in UTC",
}
"""Pages that show times or numbers in another way, and name it."""

_TIME = re.compile(r'<time datetime="([^"]+)" title="([^"]*)">([^<]*)</time>')
_RELATIVE = re.compile(r"in \d+ \w+|\d+ \w+ ago|just now|in a moment")
_NO_TEXT = re.compile(r"<(script|style|code|pre|textarea|datalist)\b.*?</\1>|<[^>]*>", re.DOTALL)
_OTHERWISE = re.compile(
    r"\d\d? (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b[ \d,:]*"
    r"|\d{4}-\d\d-\d\d[T \d:]*|(?<![:\w])\d\d:\d\d:\d\d(?![:\w])|\bUTC\b|\d,\d{3}\b"
)
"""Times and numbers in another format."""


@pytest.mark.asyncio(loop_scope="module")
async def test_every_page_shows_the_time_of_its_reader(dashboard: Dashboard) -> None:
    ada, wrong, times = dashboard.seeded.ada, [], 0
    values = {name: getattr(CHOSEN, name) for name in CHOSEN.__dataclass_fields__}
    async with dashboard.db.write() as tx:
        await tx.execute(update(people).where(people.c.email == ada.account.email).values(is_operator=True, **values))
    for route in dashboard.routes:
        if "GET" not in route.methods or route.access == "public" or route.path in STREAMS | OF_VISITORS:
            continue
        url = path_of(route, dashboard.ids)
        answer = await dashboard.client.get(url, headers={"Cookie": f"waypost={ada.cookie}"})
        if answer.status_code == 200 and "html" in answer.headers.get("content-type", ""):
            wrong += [f"{named(route)}: {problem}" for problem in problems_of(answer.text, route.path)]
            times += len(_TIME.findall(answer.text))
        elif answer.status_code >= 500:
            wrong.append(f"{named(route)}: {answer.status_code}")
    assert not wrong, "\n".join(wrong)
    assert times > 100


def problems_of(page: str, path: str) -> Iterator[str]:
    """Yield what a page shows in another way."""
    for stamp, title, text in _TIME.findall(page):
        at = parse_timestamp(stamp)
        if title != f"{CHOSEN.second(at)} {CHOSEN.zone_name}":
            yield f"{stamp} has the title {title}"
        if text not in {CHOSEN.day(at), CHOSEN.time(at), CHOSEN.zoned(at)} and not _RELATIVE.fullmatch(text):
            yield f"{stamp} is shown as {text}"
    if "<html" in page and CHOSEN.zone_name not in _NO_TEXT.sub(" ", page):
        yield "does not name the time zone"
    if 'type="datetime-local"' in page and 'name="shown_zone"' not in page:
        yield "has a field for a time, and does not send its time zone"
    if path not in MEANT:
        yield from (f"shows {found[0]}" for found in _OTHERWISE.finditer(_NO_TEXT.sub(" ", _TIME.sub("", page))))


TEMPLATES = re.compile(r'strftime|isoformat|\.format\(|timestamp|datetime-local|type="date"|\bUTC\b|<time\b')
SCRIPTS = re.compile(r"toLocale\w+|DateTimeFormat|getTimezoneOffset|toISOString")
CODE = re.compile(r":%[-a-zA-Z]|strftime")
ALLOWED = {
    "macros.html": "has the field for times",
    "design.html": "shows a field of each kind",
    "_routing.html": "names fields by their path",
    "routing.html": "names fields by their path",
    "service.html": "counts by days in UTC, and says so",
    "_time_range.html": "days of statistics, whose time zone is below",
    "list.html": "days of the audit log, whose time zone is in the table",
    "app.js": "reports the time zone of the browser",
    "chart.js": "visitors of shares have no preferences",
    "links.js": "fills a field with a day, in the time zone of the form",
}
_FILE_NAME = re.compile(r"filename=|_attachment\(|\bname = ")


def test_only_preferences_format_times() -> None:
    """Nothing of the dashboard does it in another way."""
    pages = [*PACKAGE.rglob("templates/*.html"), *PACKAGE.rglob("static/*.js")]
    texts = ((each, re.sub(r"{{ time_field\(.*?}}", "", each.read_text())) for each in pages)
    found = {each.name for each, text in texts if (TEMPLATES if each.suffix == ".html" else SCRIPTS).search(text)}
    assert found == {*ALLOWED}
    code = [*PACKAGE.rglob("*pages.py"), *PACKAGE.rglob("dashboard/*.py"), *PACKAGE.rglob("*form*.py")]
    ours = [each for each in code if each.parent.name != "redirect"]
    lines = [line for each in ours for line in each.read_text().splitlines() if CODE.search(line)]
    assert [line for line in lines if not _FILE_NAME.search(line)] == []


def test_macros_that_format_are_imported_with_the_context() -> None:
    """Jinja gives others none: they would not know the reader."""
    formats = re.compile(rf"\|\s*(?:{'|'.join(PREFERRED)})\b|\btime_ago\(|\bpreferences\.")
    bodies = {
        (each.parent, each.name, name): body
        for each in PACKAGE.rglob("templates/*.html")
        for name, body in re.findall(r"{% macro (\w+)\((.*?){% endmacro", each.read_text(), re.DOTALL)
    }
    formatting = {key for key, body in bodies.items() if formats.search(body) and key[1] != "macros.html"}
    while more := {
        key
        for key, body in bodies.items()
        if key not in formatting and any(f"{other[2]}(" in body for other in formatting if other[:2] == key[:2])
    }:
        formatting |= more
    named_macros = {(file, macro) for _, file, macro in formatting}
    wrong = [
        f"{each.relative_to(PACKAGE)}: {macro}"
        for each in PACKAGE.rglob("templates/*.html")
        for file, names in re.findall(r'{% from "[a-z_]+/([\w.]+)" import ([^%]+?) %}', each.read_text())
        for macro in names.removesuffix(" with context").split(", ")
        if (file, macro) in named_macros and not names.endswith(" with context")
        if not any(macro == key[2] and file == key[1] and key not in formatting for key in bodies)
    ]
    assert wrong == []
