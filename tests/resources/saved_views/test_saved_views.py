"""Saved views: who sees them, what they open, and their limits."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from browsing import WebApp, open_place
from contexts import new_context
from resources.clicks.test_dashboard import link_of, words
from sqlalchemy import select

from waypost.accounts.data.deletion import delete_rows
from waypost.accounts.members import store as memberships
from waypost.audit.model import audit_entries
from waypost.resources.links import store as link_store
from waypost.resources.saved_views import account_data, service, state
from waypost.resources.saved_views.model import saved_views

PATH = "/stats/views"
QUERY = "period=7d&compare=none&country=-DE&utm_campaign=a%26b"


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path) as opened:
        yield opened


def sidebar(html: str) -> str:
    return words(html.partition('<h2 id="saved-views">')[2].partition("</nav>")[0])


async def test_saves_opens_renames_and_deletes(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    page = await ada.get(f"/stats?{QUERY}")
    offered = re.findall(r'href="(/stats/views/new\?[^"]*)"', page.text)[0].replace("&amp;", "&")
    assert "Statistics of all links" in words((await ada.get(offered)).text)
    done = await ada.post(f"{PATH}/new", {"name": " Spring,  abroad ", "query": QUERY, "link_id": ""})
    assert done.headers["location"] == f"/stats?{QUERY}&done=view-saved"
    page = await ada.get(done.headers["location"])
    assert (sidebar(page.text), "View saved." in page.text) == ("Saved views Spring, abroad Edit saved views", True)
    [view] = re.findall(rf'href="({PATH}/[0-9a-f-]{{36}})" aria-current="true"', page.text)
    assert (await ada.get(view)).headers["location"] == f"/stats?{QUERY}"
    assert f'{view}" aria-current' not in (await ada.get("/stats?period=7d")).text
    assert 'value="Spring, abroad"' in (await ada.get(f"{view}/edit")).text
    assert (await ada.post(f"{view}/edit", {"name": "Abroad"})).headers["location"] == f"{PATH}?done=saved"
    assert "Abroad Me" in words((await ada.get(PATH)).text)
    assert (await ada.post(f"{view}/edit", {"name": " "})).status_code == 422
    assert (await ada.post(f"{view}/delete")).headers["location"] == f"{PATH}?done=view-deleted"
    assert "No saved views yet" in (await ada.get(PATH)).text
    assert (await ada.get(view)).status_code == 404


async def test_views_of_all_members_need_an_editor(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    assert ada.account
    eve = await place.member("eve@example.com", ada.account, "viewer")
    link = await link_of(place, ada, slug="spring")
    await ada.post(f"{PATH}/new", {"name": "Mine", "query": "period=7d"})
    await ada.post(
        f"{PATH}/new", {"name": "Ours", "query": "metric=visitors", "link_id": f"{link.id}", "members": "all"}
    )
    assert sidebar((await ada.get("/stats")).text) == "Saved views Mine Ours Edit saved views"
    assert sidebar((await eve.get(f"/links/{link.id}")).text) == "Saved views Ours Edit saved views"
    mine, ours = re.findall(rf'class="wrap" href="({PATH}/[^"]+)"', (await ada.get(PATH)).text)
    assert (await eve.get(ours)).headers["location"] == f"/links/{link.id}?metric=visitors"
    assert (await eve.get(mine)).status_code == 404
    assert "Shown to" not in (await eve.get(f"{PATH}/new")).text
    assert [(await eve.get(f"{ours}/edit")).status_code, (await eve.post(f"{ours}/delete")).status_code] == [403, 403]
    assert (await eve.post(f"{PATH}/new", {"name": "x", "query": "", "members": "all"})).status_code == 403
    assert (await eve.post(f"{PATH}/new", {"name": "Eve's", "query": ""})).headers[
        "location"
    ] == "/stats?done=view-saved"
    assert (await ada.post(f"{ours}/edit", {"name": "Of all"})).status_code == 303
    async with place.db.write() as tx:
        actions = (await tx.scalars(select(audit_entries.c.action).order_by(audit_entries.c.id))).all()
        await memberships.remove(tx, ada.account.id, eve.person.id)  # type: ignore[union-attr]
    assert sorted(each for each in actions if each.startswith("saved")) == ["saved_view.created", "saved_view.updated"]
    context = new_context(place.db, place.clock)
    [exported] = [rows async for rows in account_data.read_views(context, ada.account.id)]
    assert len(exported) == 2, "those of who left are gone"
    assert ("ada@example.com", "/stats?period=7d") in [(row["email"], row["url"]) for row in exported]
    assert len([step async for step in delete_rows(context, ada.account.id, saved_views)]) == 1
    assert sidebar((await ada.get("/stats")).text) == ""


async def test_opens_what_is_left(place: WebApp) -> None:
    ada, eve = await place.browser("ada@example.com"), await place.browser("eve@example.com")
    gone, kept = await link_of(place, ada), await link_of(place, ada)
    both = urlencode([("period", "7d"), ("link_id", f"-{gone.id}"), ("link_id", f"{kept.id}"), ("country", "DE")])
    for fields in ({"query": both}, {"query": "metric=scans&country=DE", "link_id": f"{gone.id}"}):
        await ada.post(f"{PATH}/new", {"name": fields["query"][:20], **fields})
    paths = re.findall(rf'class="wrap" href="({PATH}/[^"]+)"', (await ada.get(PATH)).text)
    opened = {(await ada.get(path)).headers["location"] for path in paths}
    assert opened == {f"/stats?{both}", f"/links/{gone.id}?metric=scans&country=DE"}
    async with place.db.write() as tx:
        await link_store.hide(tx, [gone], place.clock())
    opened = {(await ada.get(path)).headers["location"] for path in paths}
    left = f"/stats?period=7d&link_id={kept.id}&country=DE&done=view-reduced"
    assert opened == {left, "/stats?metric=scans&country=DE&done=view-reduced"}
    page = await ada.get(left)
    assert (page.status_code, "You see what is left of the view." in page.text) == (200, True)
    assert (await eve.post(f"{PATH}/new", {"name": "x", "link_id": f"{kept.id}"})).status_code == 404
    assert (await ada.get(f"{PATH}/new?link_id={gone.id}")).status_code == 404


async def test_limits(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    for number in range(service.MAX_VIEWS):
        assert (await ada.post(f"{PATH}/new", {"name": f"view {number}"})).status_code == 303
    for fields, problem in (
        ({"name": "one more"}, service.TOO_MANY),
        ({"name": "VIEW 1"}, service.TAKEN),
        ({"name": "x" * 61}, "at most 60 characters"),
        ({"name": "a\0b"}, "control characters"),
        ({"name": ""}, "This field is required."),
        (
            {"name": "long", "query": urlencode({"referrer": ["a" * 600 + f"{n}" for n in range(9)]}, doseq=True)},
            service.TOO_LONG,
        ),
    ):
        refused = await ada.post(f"{PATH}/new", {"query": "", **fields})
        assert (refused.status_code, problem in words(refused.text)) == (422, True), fields
    assert (await ada.post(f"{PATH}/new", {"name": "view 1", "members": "all"})).status_code == 303
    page = await ada.get("/stats")
    assert "All saved views" in sidebar(page.text)
    assert sidebar(page.text).count("view ") == 20


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("", ""),
        ("done=x&lists=1&period=7d&evil=<b>", "period=7d"),
        ("from=2030-01-01&to=2030-01-02&period=custom", "period=custom&from=2030-01-01&to=2030-01-02"),
        ("period=30d&from=2030-01-01", "period=30d"),
        ("country=DE,AT&country=xxx&is_scan=maybe&tag=-a", "country=DE&country=AT&tag=-a"),
        ("&".join("a=b" for _ in range(400)), ""),
        ("%FF=%00&country=%00", ""),
    ],
)
def test_only_the_state_of_a_page_is_kept(query: str, kept: str) -> None:
    assert state.clean_query(query, is_of_link=False) == kept
