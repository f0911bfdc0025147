"""R30: an account that has its share waits, and nobody else does: at every list and statistic of the whole site."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from browsing import Browser, WebApp, open_place
from people import START, new_key
from resources.clicks.visited import new_link
from resources.links.added import add_links

PATHS = [
    "/api/v1/links?search=a",
    "/api/v1/clicks",
    "/api/v1/links/{id}/clicks",
    "/api/v1/stats",
    "/api/v1/links/{id}/stats",
    "/links?search=a",
    "/links/{id}",
    "/",
]


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path) as opened:
        yield opened


class Visitor:
    """Somebody with a link, a session and a key."""

    def __init__(self, browser: Browser, key: dict[str, str], link: str) -> None:
        self.browser, self.key, self.link = browser, key, link

    @property
    def id(self) -> object:
        assert self.browser.account
        return self.browser.account.id

    async def get(self, path: str) -> int:
        return (await self.browser.get(path.replace("{id}", self.link), headers=self.key)).status_code


async def visitor(place: WebApp, email: str) -> Visitor:
    browser = await place.browser(email)
    assert browser.account
    link = new_link(browser.account.id, created_at=START)
    async with place.db.write() as tx:
        await add_links(tx, [link])
    return Visitor(browser, (await new_key(place.db, browser.account.id)).headers, str(link.id))


async def test_an_account_with_a_full_share_delays_no_other(place: WebApp) -> None:
    greedy, modest = await visitor(place, "greedy@example.com"), await visitor(place, "modest@example.com")
    shares = place.db._fair_slots
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(shares._per_key):
            await stack.enter_async_context(shares.slot(greedy.id))
        waiting = [asyncio.create_task(greedy.get(path)) for path in PATHS]
        for path in PATHS:
            assert (path, await modest.get(path)) == (path, 200)
        while sum(map(len, shares._queues.values())) < len(PATHS):
            await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)
    assert await asyncio.gather(*waiting) == [200] * len(PATHS)
    assert not shares._running


@pytest.mark.parametrize("path", ["/api/v1/links", "/links"])
async def test_refuses_too_many_waiting_requests_with_retry_after(place: WebApp, path: str) -> None:
    greedy = await visitor(place, "greedy@example.com")
    place.db._fair_slots._per_key = place.db._fair_slots._max_waiting_per_key = 0
    answer = await greedy.browser.get(path, headers=greedy.key)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "busy" in answer.text
