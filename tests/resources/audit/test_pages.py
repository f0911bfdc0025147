"""The page of the audit log: filters, pages, what it shows of hostile names, the download, and who may see it."""

import csv
import io
from datetime import timedelta
from typing import Any

import pytest
from browsing import Browser, WebApp
from people import START
from sqlalchemy import update

from waypost import audit
from waypost.accounts.model import memberships
from waypost.audit import Actor, AuditAction, Item
from waypost.kit.ids import new_id
from waypost.resources.audit import pages

LINK = Item(new_id(), "go.test/sale")
NO_FILTER = {"text": ""}
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
async def ada(place: WebApp) -> Browser:
    return await place.browser("ada@example.com")


async def add(
    place: WebApp, browser: Browser, action: AuditAction, item: Item = LINK, *, days: int = 0, **values: Any
) -> None:
    assert browser.account
    actor = values.pop("actor", None) or Actor(browser.account.id, "key", new_id(), "CI", "192.0.2.1")
    async with place.db.write() as tx:
        await audit.record(tx, actor, action, START + timedelta(days=days), item, **values)


async def test_shows_who_changed_what(place: WebApp, ada: Browser) -> None:
    await add(place, ada, "link.updated", changes={"title": ["Old title", "New title"], "password": None})
    await add(place, ada, "links.updated", Item(), details={"count": 12, "ids": ["x"], "set": {"add_tags": ["a", "b"]}})
    text = (await ada.get("/account/audit")).text
    for shown in ("Link changed", LINK.name, "Old title", "New title", "192.0.2.1", "API key", "a, b"):
        assert shown in text
    assert "1 Jan 2030, 12:00:00 UTC" in text
    await add(place, ada, "link.updated", changes={"expires_at": [None, "2030-01-31T12:00:05Z"]})
    await ada.post("/account/timezone", {"timezone": "Asia/Kathmandu"})
    assert ">31 Jan 2030, 17:45 Asia/Kathmandu</time>" in (await ada.get("/account/audit")).text


async def test_nothing_yet(ada: Browser) -> None:
    assert "No entries yet" in (await ada.get("/account/audit")).text


async def test_filters_by_action_actor_name_item_and_day(place: WebApp, ada: Browser) -> None:
    assert ada.account
    command = Actor.command(ada.account.id, "waypost import")
    await add(place, ada, "link.created", Item(LINK.id, "first"))
    await add(place, ada, "link.deleted", Item(new_id(), "Second"), days=1)
    await add(place, ada, "import.started", Item(new_id(), "third"), days=2, actor=command)

    async def found(query: str) -> list[str]:
        text = (await ada.get(f"/account/audit?{query}")).text.partition("<tbody>")[2]
        return [name for name in ("first", "Second", "third") if f">{name}<" in text]

    assert await found("") == ["first", "Second", "third"]
    assert await found("action=link.deleted") == ["Second"]
    assert await found("by=command") == ["third"]
    assert await found(f"item={LINK.id}") == ["first"]
    assert await found("text=SECOND") == ["Second"]
    assert await found("since=2030-01-02") == ["Second", "third"]
    assert await found("since=2030-01-02&until=2030-01-02") == ["Second"]
    assert await found("until=2030-01-01&action=link.deleted") == []
    await ada.post("/account/timezone", {"timezone": "Pacific/Kiritimati"})  # the days begin 14 hours earlier
    assert await found("since=2030-01-03&until=2030-01-03") == ["Second"]
    assert "Time (Pacific/Kiritimati)" in (await ada.get("/account/audit")).text
    assert await found("by=nobody&action=nothing&item=1&before=x") == ["first", "Second", "third"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("since=yesterday", "Enter a date such as 2026-11-30."),
        ("until=2026-02-30", "Enter a date such as 2026-11-30."),
        ("text=%00", "control characters"),
        (f"text={'a' * 201}", "at most 200 characters"),
    ],
)
async def test_a_bad_filter_is_refused_beside_its_field(ada: Browser, query: str, message: str) -> None:
    response = await ada.get(f"/account/audit?{query}")
    assert response.status_code == 422
    assert message in response.text
    name, _, value = query.partition("=")
    refused = await ada.post("/account/audit/download", {name: "\0" if "%" in value else value})
    assert refused.status_code == 422


async def test_a_changed_filter_loads_the_entries_alone(place: WebApp, ada: Browser) -> None:
    await add(place, ada, "link.created", Item(None, "first"))
    await add(place, ada, "link.deleted", Item(None, "second"))
    headers = {"HX-Request": "true", "HX-Target": "found"}
    for query, shown in (("action=link.deleted", "second"), ("text=nothing", "No matching entries")):
        response = await ada.get(f"/account/audit?{query}", headers=headers)
        assert response.status_code == 200
        assert shown in response.text
        assert "first" not in response.text
        assert "<html" not in response.text
        assert response.headers["hx-push-url"] == f"/account/audit?{query}"
    assert (await ada.get("/account/audit?since=x", headers=headers)).status_code == 422


async def test_far_dates(ada: Browser) -> None:
    assert (await ada.get("/account/audit?since=0001-01-01&until=9999-12-31")).status_code == 200


async def test_older_entries_are_on_further_pages(place: WebApp, ada: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_PER_PAGE", 2)
    for number in range(5):
        await add(place, ada, "link.created", Item(None, f"link {number}"), days=number)
    path, shown = "/account/audit?action=link.created", []
    while path:
        text = (await ada.get(path)).text
        shown.append([number for number in range(5) if f"link {number}<" in text])
        older = text.partition('rel="next"')[0].rpartition('href="')[2] if 'rel="next"' in text else ""
        path = older.partition('"')[0].replace("&amp;", "&")
    assert shown == [[3, 4], [1, 2], [0]]


async def test_names_are_text(place: WebApp, ada: Browser) -> None:
    assert ada.account
    actor = Actor(ada.account.id, "key", new_id(), HOSTILE, HOSTILE)
    changes = {HOSTILE: [HOSTILE, HOSTILE]}
    await add(place, ada, "link.updated", Item(new_id(), HOSTILE), actor=actor, changes=changes, details={"x": HOSTILE})
    for query in ("", f"?by={actor.id}", f"?text={HOSTILE}"):
        assert HOSTILE not in (await ada.get(f"/account/audit{query}")).text


async def test_another_account_sees_nothing(place: WebApp, ada: Browser) -> None:
    await add(place, ada, "link.created")
    eve = await place.browser("eve@example.com")
    for query in ("", f"?item={LINK.id}", "?text=sale"):
        assert LINK.name not in (await eve.get(f"/account/audit{query}")).text
    assert LINK.name not in (await eve.post("/account/audit/download", NO_FILTER)).text


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("editor", 403), ("admin", 200), ("owner", 200)])
async def test_admins_and_owners_may_see_it(place: WebApp, ada: Browser, role: str, status: int) -> None:
    async with place.db.write() as tx:
        await tx.execute(update(memberships).values(role=role))
    assert (await ada.get("/account/audit")).status_code == status
    assert (await ada.post("/account/audit/download", NO_FILTER)).status_code == status


async def test_an_entry_of_a_download_is_short(place: WebApp, ada: Browser) -> None:
    fields = NO_FILTER | {"by": "x" * 100_000, "action": "y" * 100_000, "item": "z" * 100_000, "text": "link"}
    assert (await ada.post("/account/audit/download", fields)).status_code == 200
    page = (await ada.get("/account/audit")).text
    assert "xxxx" not in page
    assert len(page) < 100_000


async def test_the_download_has_what_matches(place: WebApp, ada: Browser) -> None:
    await add(place, ada, "link.created", Item(LINK.id, "=1+1"), changes={"destination_url": [None, "https://a.test/"]})
    await add(place, ada, "link.deleted", days=1)
    response = await ada.post("/account/audit/download", {"action": "link.created"})
    assert response.headers["content-disposition"] == 'attachment; filename="audit-log-2030-01-01.csv"'
    [row] = csv.DictReader(io.StringIO(response.text))
    assert (row["time"], row["actor_type"], row["actor"]) == ("2030-01-01T12:00:00.000000Z", "key", "CI")
    assert (row["ip"], row["action"], row["item"]) == ("192.0.2.1", "link.created", "'=1+1")
    assert row["changes"] == '{"destination_url": [null, "https://a.test/"]}'
    everything = list(csv.DictReader(io.StringIO((await ada.post("/account/audit/download", NO_FILTER)).text)))
    actions = [row["action"] for row in everything]
    assert actions[0] == "link.deleted"
    assert sorted(actions[1:]) == ["audit_log.downloaded", "audit_log.downloaded", "link.created"]
