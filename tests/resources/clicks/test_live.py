"""Clicks as they arrive: who is told what, how many may watch, and when a stream ends."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from browsing import Browser, open_place
from people import START
from resources.clicks.visited import fill, new_click, new_link
from sqlalchemy import update

from waypost.auth import sessions
from waypost.auth.model import accounts
from waypost.kit.errors import Unavailable
from waypost.kit.ids import new_id
from waypost.resources.clicks.dashboard import live
from waypost.resources.clicks.dashboard.live import Live
from waypost.resources.clicks.subject import Subject
from waypost.resources.links import store


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "EVERY", 0.01)


@dataclass
class Reader:
    """Somebody's browser that keeps listening."""

    heard: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    head: dict[str, object] = field(default_factory=dict)
    running: "asyncio.Task[None] | None" = None

    async def receive(self) -> dict[str, object]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, object]) -> None:
        if message["type"] == "http.response.start":
            self.head = message
        elif message["body"]:
            self.heard.put_nowait(bytes(message["body"]).decode())

    def listen(self, app: object, **scope: object) -> None:
        given = {"type": "http", "asgi": {"spec_version": "2.3"}, **scope}
        self.running = asyncio.create_task(app(given, self.receive, self.send))

    async def next(self) -> str:
        """The next message, past what only keeps the connection."""
        while not (told := await self.heard.get()).startswith("event"):
            pass
        return told

    async def leave(self) -> None:
        self.gone.set()
        await self.running

    async def ended(self) -> None:
        await self.running


class Figures:
    """A database with one figure."""

    def __init__(self) -> None:
        self.count = 1
        self.asked, self.shown = 0, 0
        self.is_out = self.is_leaving = False
        self.live = Live(self.counts, self.rows, is_leaving=lambda: self.is_leaving)

    async def counts(self, subjects: Collection[UUID]) -> Mapping[UUID, int]:
        self.asked += 1
        if self.is_out:
            raise Unavailable
        return dict.fromkeys(subjects, self.count)

    async def rows(self, subject: Subject) -> str:
        self.shown += 1
        return f"<tr>\n{self.count}\u2028"

    async def asked_again(self) -> None:
        before = self.asked
        while self.asked < before + 2:
            await asyncio.sleep(0.01)


async def welcome() -> bool:
    return True


async def unwelcome() -> bool:
    return False


async def test_it_works() -> None:
    figures, subject = Figures(), Subject(new_id())
    readers = [Reader(), Reader()]
    for reader in readers:
        reader.listen(figures.live.stream(subject, new_id(), welcome))
    assert [await reader.next() for reader in readers] == ["event: clicks\ndata: <tr>\ndata: 1\n\n"] * 2
    headers = dict(readers[0].head["headers"])
    assert headers[b"content-type"].startswith(b"text/event-stream")
    assert (headers[b"x-accel-buffering"], headers[b"cache-control"]) == (b"no", b"no-store")
    await figures.asked_again()
    assert (figures.shown, readers[0].heard.qsize()) == (1, 0)
    figures.is_out = True
    await figures.asked_again()
    figures.is_out, figures.count = False, 2
    assert [await reader.next() for reader in readers] == ["event: clicks\ndata: <tr>\ndata: 2\n\n"] * 2
    assert figures.shown == 2
    looking = figures.live._looking
    for reader in readers:
        await reader.leave()
    await looking
    assert (figures.live._looking, figures.live._watched, figures.live._watchers) == (None, {}, [])


async def test_only_so_many_watch() -> None:
    figures, account, subject = Figures(), new_id(), Subject(new_id())
    readers = [Reader() for _ in range(live.AT_ONCE + 2)]

    async def listen(reader: Reader, account: UUID) -> None:
        reader.listen(figures.live.stream(subject, account, welcome))
        await reader.next()

    async def admitted(reader: Reader) -> None:
        await reader.ended()
        assert reader.heard.get_nowait() == "retry: 60000\n\n"

    first, second, *rest = readers
    for reader in readers[: live.OF_ACCOUNT + 1]:  # of one account: its fifth gets the place of its first
        await listen(reader, account)
    await admitted(first)
    for reader in readers[live.OF_ACCOUNT + 1 : -1]:
        await listen(reader, new_id())
    assert len(figures.live._watchers) == live.AT_ONCE
    assert not second.running.done()
    await listen(readers[-1], new_id())  # of many: the account that has most gives one
    await admitted(second)
    assert not [reader for reader in rest if reader.running.done()]
    figures.is_leaving = True  # as the process does
    for reader in rest:
        await reader.ended()
    assert figures.live.stream(subject, account, welcome) is None


async def test_a_stream_ends_with_its_session_and_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "HEARTBEAT", 0.02)
    figures, stays, leaves = Figures(), Reader(), Reader()
    leaves.listen(figures.live.stream(Subject(new_id()), new_id(), unwelcome))
    stays.listen(figures.live.stream(Subject(new_id()), new_id(), welcome))
    await leaves.ended()
    while await stays.heard.get() != ": still here\n\n":
        pass
    monkeypatch.setattr(live, "LASTS", 0.0)
    await stays.ended()


async def test_who_reads_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "UNREAD", 0.02)
    figures, reader = Figures(), Reader()

    async def stuck(message: object) -> None:
        await asyncio.Event().wait()

    reader.send = stuck
    reader.listen(figures.live.stream(Subject(new_id()), new_id(), welcome))
    await reader.ended()
    assert figures.live._watchers == []


async def test_who_watches_is_not_left_waiting_when_looking_fails() -> None:
    figures, reader, subject = Figures(), Reader(), Subject(new_id())
    reader.listen(figures.live.stream(subject, new_id(), welcome))
    await reader.next()
    looking = figures.live._looking

    async def fails(subjects: object) -> Mapping[UUID, int]:
        raise ValueError

    figures.live._counts = fails
    await reader.ended()
    with pytest.raises(ValueError):
        await looking
    figures.live._counts, again = figures.counts, Reader()
    again.listen(figures.live.stream(subject, new_id(), welcome))
    await again.next()
    await again.leave()


@contextlib.asynccontextmanager
async def listening(site: object, browser: Browser, path: str) -> AsyncIterator[Reader]:
    cookie = f"waypost={browser.client.cookies['waypost']}".encode()
    reader = Reader()
    reader.listen(
        site,
        method="GET",
        path=path,
        raw_path=path.encode(),
        query_string=b"",
        scheme="http",
        headers=[(b"host", b"app.test"), (b"cookie", cookie)],
    )
    yield reader
    await reader.leave()


async def test_clicks_arrive(database_url: str, tmp_path: Path) -> None:
    async with open_place(database_url, tmp_path) as place:
        ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
        link = new_link(ada.account.id, slug="spring")
        async with place.db.write() as tx:
            await store.add(tx, link)
        async with (
            listening(place.site, ada, f"/links/{link.id}/live") as of_link,
            listening(place.site, ada, "/stats/live") as of_account,
            listening(place.site, bob, "/stats/live") as of_bob,
        ):
            for reader in (of_link, of_account, of_bob):
                assert await reader.next() == "event: clicks\n\n"
            hostile = new_click(link, START, browser="<script>\u2028event: clicks", country="FR")
            await fill(place.db, [hostile, new_click(link, START - timedelta(days=1), kind="crawler")])
            for reader, name in ((of_link, False), (of_account, True)):
                told = await reader.next()
                assert told.count("<tr") == 1
                assert f'id="click-{UUID(bytes=hostile.id)}"' in told
                assert ('href="/links/' in told) == name
                assert "&lt;script&gt;" in told
                assert all(line.startswith("data: ") for line in told.splitlines()[1:-1])
            assert of_bob.heard.empty()


async def test_an_outage_ends_no_stream(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "HEARTBEAT", 0.02)
    find, asked = sessions.find, 0

    async def find_if_there(*args: Any, **rest: Any) -> Any:
        nonlocal asked
        asked += 1
        if 1 < asked < 4:
            raise Unavailable
        return await find(*args, **rest)

    async with open_place(database_url, tmp_path) as place:
        ada = await place.browser("ada@example.com")
        monkeypatch.setattr(sessions, "find", find_if_there)
        async with listening(place.site, ada, "/stats/live") as reader:
            while asked < 5:
                await reader.heard.get()
            assert not reader.running.done()
        monkeypatch.setattr(sessions, "find", find)
        async with place.db.write() as tx:
            await tx.execute(update(accounts).values(confirmed_at=None))
        assert (await ada.get("/stats/live")).status_code == 204
