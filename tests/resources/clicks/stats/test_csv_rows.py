"""Statistics as CSV."""

import csv
import io

import pytest
from people import START
from resources.clicks.visited import ON_SQLITE, Env, new_click

from waypost.resources.clicks.stats import csv_rows
from waypost.resources.clicks.stats.api import prefers_csv
from waypost.resources.links import store

CSV = {"Accept": "text/csv"}


async def rows(env: Env, path: str, **query: str) -> list[list[str]]:
    answer = await env.client.get(f"/api/v1{path}", params=query, headers={**env.alice.headers, **CSV})
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Vary"] == "Accept"
    name = query.get("list", "statistics")
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}.csv"'
    return list(csv.reader(io.StringIO(answer.text)))


@ON_SQLITE
async def test_the_series_and_all_values_of_lists(env: Env) -> None:
    link, other, deleted = [await env.link(tags=["=1+1", 'b,"c"'], slug=f"s{n}") for n in range(3)]
    made = [new_click(link, visitor_id=n, referrer=f"https://site{n:03}.example/") for n in range(120)]
    await env.fill([*made, new_click(other, is_scan=True), new_click(deleted, country="")])
    async with env.db.write() as tx:
        await store.hide(tx, [deleted], START)
    series = await rows(env, "/stats", **{"from": "2029-12-31"})
    assert series == [
        ["at", "clicks", "visitors", "scans"],
        ["2029-12-31T00:00:00.000000Z", "0", "0", "0"],
        ["2030-01-01T00:00:00.000000Z", "122", "120", "1"],
    ]
    assert len(await rows(env, "/stats", list="referrers")) == 122
    assert await rows(env, f"/links/{link.id}/stats", list="countries", visitors="true") == [
        ["value", "clicks", "visitors"],
        ["DE", "120", "120"],
    ]
    assert await rows(env, "/stats", list="countries") == [["value", "clicks"], ["DE", "121"], ["", "1"]]
    assert await rows(env, "/stats", list="hours") == [["weekday", "hour", "clicks"], ["2", "12", "122"]]
    assert await rows(env, "/stats", list="tags") == [["value", "clicks"], ["'=1+1", "121"], ['b,"c"', "121"]]
    assert await rows(env, "/stats", list="top_links", country="DE") == [
        ["value", "clicks"],
        [f"go.test/{link.slug}", "120"],
        [f"go.test/{other.slug}", "1"],
    ]
    assert (await rows(env, "/stats", list="top_links"))[-1] == [str(deleted.id), "1"]


@ON_SQLITE
async def test_what_a_file_cannot_have(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    link = await env.link()
    await env.fill([new_click(link, country=code) for code in ("DE", "FR", "US")])
    assert (await env.get("/stats", list="countries")).json()["error"]["errors"].keys() == {"list"}
    for path, name in (("/stats", "targets"), (f"/links/{link.id}/stats", "tags"), ("/stats", "series")):
        answer = await env.client.get(f"/api/v1{path}", params={"list": name}, headers={**env.alice.headers, **CSV})
        assert (answer.status_code, answer.json()["error"]["errors"].keys()) == (422, {"list"}), name
    monkeypatch.setattr(csv_rows, "MAX_ROWS", 2)
    for more in ({}, {"device": "mobile"}):
        query = {"list": "countries", **more}
        answer = await env.client.get("/api/v1/stats", params=query, headers={**env.alice.headers, **CSV})
        message = "This list has more than 2 values. Choose a shorter time range, or filters."
        assert answer.json()["error"]["errors"] == {"list": [message]}


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", False),
        ("*/*", False),
        ("application/json", False),
        ("text/csv", True),
        ("Text/CSV; charset=utf-8", True),
        ("text/csv, */*", True),
        ("text/csv, application/json", False),
        ("text/csv, application/json;q=0.9", True),
        ("text/csv;q=0.5, */*;q=0.8", False),
        ("text/csv;q=0", False),
        ("text/csv;q=x", False),
        (",;=,text/csv", True),
    ],
)
def test_csv_is_preferred(accept: str, expected: bool) -> None:
    assert prefers_csv(accept) is expected
