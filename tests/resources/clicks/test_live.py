"""Live clicks: messages, the number of streams, and when a stream ends."""

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
from resources.links.added import add_links
from sqlalchemy import update

from waypost.accounts.auth_deps import new_deps
from waypost.accounts.members import service as members
from waypost.accounts.model import people
from waypost.accounts.sessions import store as sessions
from waypost.audit import Actor
from waypost.kit.errors import Unavailable
from waypost.kit.ids import new_id
from waypost.kit.preferences import DEFAULT, Preferences
from waypost.resources.clicks.dashboard import live
from waypost.resources.clicks.dashboard.live import LiveClicks, Viewer
from waypost.resources.clicks.model import Subject


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "POLL_INTERVAL", 0.01)


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
        while not (found := await self.heard.get()).startswith("event"):
            pass
        return found

    async def leave(self) -> None:
        self.gone.set()
        await self.running

    async def ended(self) -> None:
        await self.running


class Counts:
    """A database with one count."""

    def __init__(self) -> None:
        self.count = 1
        self.polls, self.renders = 0, 0
        self.is_out = self.is_shutting_down = False
        self.signed_out: set[Viewer] = set()
        self.live = LiveClicks(
            self.count_clicks, self.render, self.find_active, is_shutting_down=lambda: self.is_shutting_down
        )

    async def find_active(self, viewers: Collection[Viewer]) -> set[Viewer]:
        return set(viewers) - self.signed_out

    async def count_clicks(self, subjects: Collection[UUID]) -> Mapping[UUID, int]:
        self.polls += 1
        if self.is_out:
            raise Unavailable
        return dict.fromkeys(subjects, self.count)

    async def render(self, subject: Subject, preferences: Preferences) -> str:
        self.renders += 1
        return f"<tr>\n{self.count}\u2028"

    async def polled_again(self) -> None:
        before = self.polls
        while self.polls < before + 2:
            await asyncio.sleep(0.01)


def viewer(account: UUID | None = None) -> Viewer:
    return Viewer(new_id(), account or new_id())


async def test_new_clicks_are_sent_to_all_streams() -> None:
    counts, subject = Counts(), Subject(new_id())
    readers = [Reader(), Reader()]
    for reader in readers:
        reader.listen(counts.live.stream(subject, DEFAULT, viewer()))
    assert [await reader.next() for reader in readers] == ["event: clicks\ndata: <tr>\ndata: 1\n\n"] * 2
    headers = dict(readers[0].head["headers"])
    assert headers[b"content-type"].startswith(b"text/event-stream")
    assert (headers[b"x-accel-buffering"], headers[b"cache-control"]) == (b"no", b"no-store")
    await counts.polled_again()
    assert (counts.renders, readers[0].heard.qsize()) == (1, 0)
    counts.is_out = True
    await counts.polled_again()
    counts.is_out, counts.count = False, 2
    assert [await reader.next() for reader in readers] == ["event: clicks\ndata: <tr>\ndata: 2\n\n"] * 2
    assert counts.renders == 2
    polling = counts.live._polling
    for reader in readers:
        await reader.leave()
    await polling
    assert (counts.live._polling, counts.live._channels, counts.live._streams) == (None, {}, [])


async def test_a_new_stream_replaces_the_oldest_of_the_fullest_account() -> None:
    counts, account, subject = Counts(), new_id(), Subject(new_id())
    readers = [Reader() for _ in range(live.MAX_STREAMS + 2)]

    async def listen(reader: Reader, account: UUID) -> None:
        reader.listen(counts.live.stream(subject, DEFAULT, viewer(account)))
        await reader.next()

    async def admitted(reader: Reader) -> None:
        await reader.ended()
        assert reader.heard.get_nowait() == "retry: 60000\n\n"

    first, second, *rest = readers
    for reader in readers[: live.MAX_STREAMS_PER_ACCOUNT + 1]:  # of one account: its fifth gets the place of its first
        await listen(reader, account)
    await admitted(first)
    for reader in readers[live.MAX_STREAMS_PER_ACCOUNT + 1 : -1]:
        await listen(reader, new_id())
    assert len(counts.live._streams) == live.MAX_STREAMS
    assert not second.running.done()
    await listen(readers[-1], new_id())  # of many: the account that has most gives one
    await admitted(second)
    assert not [reader for reader in rest if reader.running.done()]
    counts.is_shutting_down = True  # as the process does
    for reader in rest:
        await reader.ended()
    assert counts.live.stream(subject, DEFAULT, viewer(account)) is None


async def test_a_stream_ends_with_its_session_and_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "HEARTBEAT", 0.02)
    counts, stays, leaves = Counts(), Reader(), Reader()
    leaver = viewer()
    leaves.listen(counts.live.stream(Subject(new_id()), DEFAULT, leaver))
    stays.listen(counts.live.stream(Subject(new_id()), DEFAULT, viewer()))
    await leaves.next()
    counts.signed_out.add(leaver)
    await leaves.ended()
    while await stays.heard.get() != ": heartbeat\n\n":
        pass
    monkeypatch.setattr(live, "MAX_DURATION", 0.0)
    await stays.ended()


async def test_a_stream_that_is_not_read_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "READ_TIMEOUT", 0.02)
    counts, reader = Counts(), Reader()

    async def stuck(message: object) -> None:
        await asyncio.Event().wait()

    reader.send = stuck
    reader.listen(counts.live.stream(Subject(new_id()), DEFAULT, viewer()))
    await reader.ended()
    assert counts.live._streams == []


async def test_streams_end_when_polling_fails() -> None:
    counts, reader, subject = Counts(), Reader(), Subject(new_id())
    reader.listen(counts.live.stream(subject, DEFAULT, viewer()))
    await reader.next()
    polling = counts.live._polling

    async def fails(subjects: object) -> Mapping[UUID, int]:
        raise ValueError

    counts.live._count = fails
    await reader.ended()
    with pytest.raises(ValueError):
        await polling
    counts.live._count, again = counts.count_clicks, Reader()
    again.listen(counts.live.stream(subject, DEFAULT, viewer()))
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


async def test_rendered_clicks_are_sent(database_url: str, tmp_path: Path) -> None:
    async with open_place(database_url, tmp_path) as place:
        ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
        link = new_link(ada.account.id, slug="spring")
        async with place.db.write() as tx:
            await add_links(tx, [link])
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
                found = await reader.next()
                assert found.count("<tr") == 1
                assert f'data-click="{UUID(bytes=hostile.id)}"' in found
                assert ('href="/links/' in found) == name
                assert "&lt;script&gt;" in found
                assert all(line.startswith("data: ") for line in found.splitlines()[1:-1])
            assert of_bob.heard.empty()


async def test_an_outage_ends_no_stream(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "HEARTBEAT", 0.02)
    find, asked = sessions.find_showing, 0

    async def find_if_there(*args: Any, **rest: Any) -> Any:
        nonlocal asked
        asked += 1
        if 1 < asked < 4:
            raise Unavailable
        return await find(*args, **rest)

    async with open_place(database_url, tmp_path) as place:
        ada = await place.browser("ada@example.com")
        monkeypatch.setattr(sessions, "find_showing", find_if_there)
        async with listening(place.site, ada, "/stats/live") as reader:
            while asked < 5:
                await reader.heard.get()
            assert not reader.running.done()
        monkeypatch.setattr(sessions, "find_showing", find)
        async with place.db.write() as tx:
            await tx.execute(update(people).values(confirmed_at=None))
        assert (await ada.get("/stats/live")).status_code == 204


async def test_the_streams_of_a_removed_member_end_at_once(database_url: str, tmp_path: Path) -> None:
    async with open_place(database_url, tmp_path) as place:
        ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
        deps = new_deps(place.settings, place.db, place.clock)
        await members.add(deps, Actor.command(ada.account.id, "a test"), "bob@example.com", "viewer")
        await bob.post(f"/account/accounts/{ada.account.id}")
        async with (
            listening(place.site, bob, "/stats/live") as of_bob,
            listening(place.site, ada, "/stats/live") as of_ada,
        ):
            for reader in (of_bob, of_ada):
                await reader.next()
            await members.remove(deps, Actor.command(ada.account.id, "a test"), bob.person.id)
            await of_bob.ended()
            assert not of_ada.running.done()
