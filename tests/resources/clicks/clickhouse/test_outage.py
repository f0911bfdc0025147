"""While ClickHouse is away, everything else goes on, and pages and responses say what is missing."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from browsing import WebApp, open_place
from clickhouse.server import ClickHouse as ClickHouseServer
from people import START, new_key
from resources.clicks.intake.test_drain import visit
from resources.clicks.visited import Env, new_click, new_link
from resources.links.added import add_links
from sqlalchemy import update
from structlog.testing import capture_logs

from waypost.kit.errors import Unavailable
from waypost.redirect import ChangeFeed, Spool
from waypost.resources.clicks.backends.clickhouse import ClickHouseStore, schema
from waypost.resources.clicks.backends.clickhouse import client as client_module
from waypost.resources.clicks.backends.clickhouse.client import ClickHouse
from waypost.resources.links.model import link_clicks
from waypost.worker_process import worker_parts

UNAVAILABLE = "Statistics are not available right now."


@pytest.fixture(params=["clickhouse"])
def urls(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.getfixturevalue("postgres_url"), request.getfixturevalue("clickhouse").url


@pytest.fixture
async def place(postgres_url: str, clickhouse: ClickHouseServer, tmp_path: Path) -> AsyncIterator[WebApp]:
    client = ClickHouse(clickhouse.url)
    await schema.migrate(client)
    await client.close()
    async with open_place(postgres_url, tmp_path, clickhouse_url=clickhouse.url) as opened:
        yield opened


@pytest.mark.parametrize("fault", ["refuse", "error", "close", "kill"])
async def test_statistics_and_lists_of_clicks_answer_503(env: Env, clickhouse: ClickHouseServer, fault: str) -> None:
    link = await env.link()
    await env.fill([new_click(link)])
    if fault == "kill":
        clickhouse.kill()
    elif fault == "refuse":
        clickhouse.faults.refuse()
    else:
        getattr(clickhouse.faults, fault)(times=None)
    for path in ("/stats", f"/links/{link.id}/stats", "/clicks", f"/links/{link.id}/clicks"):
        response = await env.get(path)
        assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
        message = "Clicks and statistics are not available right now. Try again in a moment."
        assert response.json() == {"error": {"code": "http_error", "message": message}}
    assert (await env.get(f"/links/{new_link(link.account_id).id}/stats")).status_code == 404


async def test_logs_an_outage_once_and_recovers(
    env: Env, clickhouse: ClickHouseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "_RETRY_AFTER", 0.0)
    link = await env.link()
    await env.fill([new_click(link)])
    clickhouse.faults.refuse()
    with capture_logs() as logs:
        for _ in range(3):
            assert (await env.get("/stats")).status_code == 503
        clickhouse.faults.accept()
        assert (await env.stats(link))["clicks"] == 1
    assert [line["event"] for line in logs] == ["ClickHouse unavailable", "ClickHouse available again"]
    assert "secret" not in str(logs)


async def test_a_worker_logs_an_outage_once(place: WebApp, clickhouse: ClickHouseServer) -> None:
    """Its drainer, retention and statistics have one client."""
    ada = await place.browser("ada@example.com")
    assert ada.account
    link = new_link(ada.account.id)
    async with place.db.write() as tx:
        await add_links(tx, [link])
    spool = Spool(place.settings.data_dir / "spool", limit=1 << 20)
    spool.append(visit(link.id))
    spool.close()
    feed = ChangeFeed(place.settings.data_dir / "run" / "changes")
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(feed.close)
        parts = worker_parts(place.settings, place.db, feed, stack)
        clickhouse.faults.refuse()
        with capture_logs() as logs:
            outages = [await is_unavailable(step) for part in parts for _, step in part.periodic]
    assert outages.count(True) >= 3
    assert [line["event"] for line in logs if "ClickHouse" in line["event"]] == ["ClickHouse unavailable"]


async def is_unavailable(step: Callable[[], Awaitable[bool]]) -> bool:
    try:
        await step()
    except Unavailable:
        return True
    return False


async def test_a_hanging_server_holds_no_connections_of_postgresql(
    env: Env, clickhouse: ClickHouseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statistics of many accounts wait; reads of others find a connection at once."""
    monkeypatch.setattr(client_module, "QUERY_TIMEOUT", 5.0)
    assert isinstance(env.click_store, ClickHouseStore)
    accounts = [new_link(env.alice.account_id).id for _ in range(32)]
    clickhouse.faults.hang(times=None)

    async def wait_for_clickhouse(number: int) -> None:
        async with env.click_store.reader(env.db, accounts[number]) as reader:
            await reader.clicks_per_day(accounts, [1])

    waiting = [asyncio.create_task(wait_for_clickhouse(number)) for number in range(32)]
    await asyncio.to_thread(clickhouse.wait_for_fault)
    for gauge in env.db.gauges():
        if gauge.name in {"waypost_database_connections_in_use", "waypost_database_waiting"}:
            assert gauge.value == 0
    async with env.db.read_for(env.alice.account_id):
        assert not any(task.done() for task in waiting)
    clickhouse.faults.clear()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_only_one_statement_waits_for_a_server_that_hangs_on(
    clickhouse: ClickHouseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    client = ClickHouse(clickhouse.url, monotonic=lambda: clock[0])
    await client.query("SELECT 1")
    clickhouse.faults.hang(times=None)
    with pytest.raises(client_module.ClickStoreUnavailable, match=r"not available"):
        await client.query("SELECT 1", limit=-0.8)  # 0.2 s
    clock[0] += 3.0
    monkeypatch.setattr(client_module, "_PROBE_TIMEOUT", 0.2)
    before = len(clickhouse.requests())
    results = await asyncio.gather(*(client.query("SELECT 2") for _ in range(8)), return_exceptions=True)
    assert all(isinstance(result, client_module.ClickStoreUnavailable) for result in results)
    assert len(clickhouse.requests()) == before + 1
    await client.close()


async def test_pages_show_the_rest(place: WebApp, clickhouse: ClickHouseServer) -> None:
    ada = await place.browser("ada@example.com")
    assert ada.account
    link = new_link(ada.account.id, slug="spring", title="Spring sale", created_at=START, clicks=7)
    async with place.db.write() as tx:
        await add_links(tx, [link])
        await tx.execute(update(link_clicks).values(clicks=7))
    headers = (await new_key(place.db, ada.account.id)).headers
    sent = {"name": "Spring", "embed_origins": ["https://a.example"]}
    share = (await ada.client.post("/api/v1/shares", json=sent, headers=headers)).json()["data"]
    clickhouse.faults.refuse()
    shared = await ada.get(share["embed_url"])
    assert (shared.status_code, UNAVAILABLE in shared.text, "<h1>Spring</h1>" in shared.text) == (200, True, True)
    assert "frame-ancestors https://a.example;" in shared.headers["content-security-policy"]
    assert (await ada.get(f"{share['url']}.csv")).status_code == 503
    overview = (await ada.get("/")).text
    assert (UNAVAILABLE in overview, "The latest clicks are not available" in overview) == (True, True)
    for path in ("/stats", f"/links/{link.id}"):
        page = await ada.get(path)
        assert (page.status_code, UNAVAILABLE in page.text) == (200, True)
        assert "The latest clicks are not available right now." in page.text
        part = await ada.get(path, headers={"HX-Request": "true"})
        assert (part.status_code, UNAVAILABLE in part.text) == (200, True)
        lists = await ada.get(f"{path}?lists=1", headers={"HX-Request": "true", "HX-Target": "lists"})
        assert (lists.status_code, UNAVAILABLE in lists.text) == (200, True)
    assert "Spring sale" in (await ada.get(f"/links/{link.id}")).text
    page = await ada.get("/links")
    assert page.status_code == 200
    assert "Spring sale" in page.text
    assert UNAVAILABLE in page.text
    assert (await ada.get(f"/links/{new_link(ada.account.id).id}")).status_code == 404
