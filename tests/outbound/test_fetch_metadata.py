"""One look at a destination: reachable, public, safe, and what its page says of itself."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
import servers
from servers import OPEN, NameServer, Receiver, canary, page, paths, redirect, response

from waypost.kit.errors import Unavailable
from waypost.kit.ids import new_id
from waypost.kit.urls import canonical
from waypost.outbound import (
    BadRedirect,
    Blocklist,
    DestinationChecker,
    NotPublic,
    Outbound,
    PageMetadata,
    Unreachable,
    Unsafe,
    UrlSafety,
)
from waypost.outbound import destination_checker as module

PAGE = """<!doctype html><html><head><title> A  page </title>
<meta property="og:title" content="Its &quot;title&quot;"><meta property="og:description" content="What it is about">
<meta property="og:image" content="/image.png"></head><body>…</body></html>"""


@pytest.fixture
def destinations(outbound: Outbound) -> DestinationChecker:
    return DestinationChecker(outbound, UrlSafety())


@pytest.fixture
def short_deadline(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module, "DEADLINE", 0.3)
    return


async def look(destinations: DestinationChecker, url: str, account: UUID | None = None) -> PageMetadata:
    return await destinations.fetch_metadata(canonical(url), account=account or new_id())


async def test_returns_the_preview_of_a_reachable_page(destinations: DestinationChecker) -> None:
    async with Receiver(page(PAGE)) as receiver:
        seen = await look(destinations, receiver.url("/page"))
    assert seen == PageMetadata("A page", 'Its "title"', "What it is about", receiver.url("/image.png"))
    assert receiver.connections == 1
    assert b"Waypost" in receiver.heads[0]
    assert receiver.heads[0].startswith(b"GET /page ")


class TestReachable:
    @pytest.mark.parametrize("status", [200, 204, 304, 401, 403, 404, 429, 451, 999])
    async def test_by_any_answer_but_a_5xx(self, destinations: DestinationChecker, status: int) -> None:
        async with Receiver(servers.always(response(status))) as receiver:
            assert await look(destinations, receiver.url()) == PageMetadata()

    @pytest.mark.parametrize("status", [500, 502, 503, 530])
    async def test_not_by_a_5xx(self, destinations: DestinationChecker, status: int) -> None:
        async with Receiver(page(PAGE, status)) as receiver:
            with pytest.raises(Unreachable, match=f"the server responded {status}"):
                await look(destinations, receiver.url())

    async def test_an_error_page_is_no_preview(self, destinations: DestinationChecker) -> None:
        async with Receiver(page("<title>Access denied</title>", 403)) as receiver:
            assert await look(destinations, receiver.url()) == PageMetadata()

    async def test_a_file_is_reachable_without_being_read(self, destinations: DestinationChecker) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 99999999999\r\n\r\n"
        async with Receiver(servers.always(head)) as receiver:
            assert await look(destinations, receiver.url()) == PageMetadata()

    async def test_half_a_megabyte_of_html_is_read(self, destinations: DestinationChecker) -> None:
        async with Receiver(servers.endless) as receiver:
            assert (await look(destinations, receiver.url())).title == "endless"
            await receiver.gone.wait()

    @pytest.mark.usefixtures("short_deadline")
    @pytest.mark.parametrize("script", [servers.stall, servers.drip, servers.stall_after_head])
    async def test_not_when_it_takes_too_long(self, destinations: DestinationChecker, script: servers.Script) -> None:
        async with Receiver(script) as receiver:
            with pytest.raises(Unreachable, match="timed out"):
                await look(destinations, receiver.url())


class TestRedirects:
    async def test_the_page_at_their_end_counts(self, destinations: DestinationChecker) -> None:
        async with Receiver(
            paths({"/": redirect("/next/"), "/next/": redirect("a?b=c"), "/next/a?b=c": page(PAGE)})
        ) as r:
            seen = await look(destinations, r.url())
        assert (seen.title, seen.og_image) == ("A page", r.url("/image.png"))

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    async def test_every_kind_is_followed(self, destinations: DestinationChecker, status: int) -> None:
        async with Receiver(paths({"/": redirect("/end", status), "/end": page(PAGE)})) as receiver:
            assert (await look(destinations, receiver.url())).title == "A page"

    async def test_five_are_followed_and_no_more(self, destinations: DestinationChecker) -> None:
        chain = {f"/{left}": redirect(f"/{left - 1}") for left in range(1, 7)} | {"/0": page(PAGE)}
        async with Receiver(paths(chain)) as receiver:
            assert (await look(destinations, receiver.url("/5"))).title == "A page"
            with pytest.raises(Unreachable, match="too many redirects"):
                await look(destinations, receiver.url("/6"))

    @pytest.mark.usefixtures("short_deadline")
    async def test_the_deadline_is_one_for_all_hops(self, destinations: DestinationChecker) -> None:
        async with Receiver(paths({"/": redirect("/stall"), "/stall": servers.stall})) as receiver:
            with pytest.raises(Unreachable, match="timed out"):
                await look(destinations, receiver.url())

    async def test_none_leads_inside(self, names: NameServer, destinations: DestinationChecker) -> None:
        names.has("inside.test", [servers.PRIVATE])
        async with canary() as forbidden:
            for target in (forbidden.url(), forbidden.url(host="inside.test"), f"//inside.test:{forbidden.port}/"):
                async with Receiver(redirect(target)) as receiver:
                    with pytest.raises(NotPublic):
                        await look(destinations, receiver.url())
            assert forbidden.connections == 0

    @pytest.mark.parametrize(
        "target", ["file:///etc/passwd", "javascript:alert(1)", "ftp://a.test/", "http://[", "x" * 9000]
    )
    async def test_none_leads_to_another_scheme(self, destinations: DestinationChecker, target: str) -> None:
        async with Receiver(redirect(target)) as receiver:
            with pytest.raises(BadRedirect, match="it redirects to"):
                await look(destinations, receiver.url())

    async def test_each_hop_must_be_safe(self, names: NameServer, outbound: Outbound, tmp_path: Path) -> None:
        names.has("bad.test", [OPEN])
        (tmp_path / "list").write_text("bad.test\n")
        destinations = DestinationChecker(outbound, UrlSafety(Blocklist(tmp_path / "list")))
        async with Receiver(page(PAGE)) as bad, Receiver(redirect(bad.url(host="bad.test"))) as receiver:
            with pytest.raises(Unsafe):
                await look(destinations, receiver.url())
            with pytest.raises(Unsafe):
                await look(destinations, bad.url(host="bad.test"))
            assert (receiver.connections, bad.connections) == (1, 0)


class TestTurns:
    async def test_one_at_a_time_at_one_host(self, destinations: DestinationChecker) -> None:
        gate = Gate()
        async with Receiver(gate) as receiver:
            looks = [asyncio.create_task(look(destinations, receiver.url())) for _ in range(5)]
            await gate.open_when_quiet(looks)
        assert gate.most == 1
        assert receiver.connections == 5

    async def test_four_at_once_for_one_account(self, names: NameServer, destinations: DestinationChecker) -> None:
        gate, account = Gate(), new_id()
        async with Receiver(gate) as receiver:
            looks = [asyncio.create_task(self._look(names, destinations, receiver, n, account)) for n in range(9)]
            await gate.open_when_quiet(looks, waiting=4)
        assert gate.most == 4

    async def test_accounts_do_not_wait_for_each_other(
        self, names: NameServer, destinations: DestinationChecker
    ) -> None:
        gate = Gate()
        async with Receiver(gate) as receiver:
            looks = [asyncio.create_task(self._look(names, destinations, receiver, n, new_id())) for n in range(9)]
            await gate.open_when_quiet(looks, waiting=9)
        assert gate.most == 9

    async def test_nothing_is_remembered_of_those_who_left(self, destinations: DestinationChecker) -> None:
        async with Receiver(page(PAGE)) as receiver:
            await asyncio.gather(*(look(destinations, receiver.url()) for _ in range(3)))
        assert not destinations._hosts
        assert not destinations._checks._running

    @pytest.mark.usefixtures("short_deadline")
    async def test_waiting_does_not_count_against_the_deadline(self, destinations: DestinationChecker) -> None:
        async with Receiver(servers.stall) as receiver:
            looks = [look(destinations, receiver.url()) for _ in range(3)]
            results = await asyncio.gather(*looks, return_exceptions=True)
        assert [type(result) for result in results] == [Unreachable] * 3
        assert receiver.connections == 3, "each had all of its time"

    @pytest.mark.parametrize("by", ["account", "host"])
    async def test_who_waits_too_long_is_told_to_come_again(
        self, names: NameServer, destinations: DestinationChecker, monkeypatch: pytest.MonkeyPatch, by: str
    ) -> None:
        gate, account = Gate(), new_id()
        async with Receiver(gate) as receiver:
            if by == "host":
                before = [asyncio.create_task(look(destinations, receiver.url()))]
            else:
                before = [asyncio.create_task(self._look(names, destinations, receiver, n, account)) for n in range(4)]
            await gate.has(len(before))
            monkeypatch.setattr(module, "MAX_WAIT", 0.05)
            with pytest.raises(Unavailable):
                await look(destinations, receiver.url(), account)
            await gate.open_when_quiet(before)
        assert receiver.connections == len(before), "nobody was asked for the one who left"
        assert not destinations._hosts

    async def test_one_account_does_not_keep_a_host_to_itself(self, destinations: DestinationChecker) -> None:
        gate, greedy = Gate(), new_id()
        async with Receiver(gate) as receiver:
            looks = [asyncio.create_task(look(destinations, receiver.url("/greedy"), greedy)) for _ in range(4)]
            await gate.has(1)
            looks.append(asyncio.create_task(look(destinations, receiver.url("/modest"))))
            await gate.open_when_quiet(looks)
        assert [head.split()[1] for head in receiver.heads][:2] == [b"/greedy", b"/modest"]

    async def _look(
        self, names: NameServer, destinations: DestinationChecker, receiver: Receiver, number: int, account: UUID
    ) -> PageMetadata:
        names.has(f"host{number}.test", [OPEN])
        return await look(destinations, receiver.url(host=f"host{number}.test"), account)


class Gate:
    """A page that answers nobody until so many are waiting; knows how many were inside at once."""

    def __init__(self) -> None:
        self.inside = self.most = 0
        self._arrived = asyncio.Condition()
        self._open = asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        async with self._arrived:
            self.inside += 1
            self.most = max(self.most, self.inside)
            self._arrived.notify_all()
        await self._open.wait()
        self.inside -= 1
        await page(PAGE)(reader, writer, head)

    async def has(self, waiting: int) -> None:
        async with self._arrived:
            await self._arrived.wait_for(lambda: self.inside >= waiting)

    async def open_when_quiet(self, looks: list[asyncio.Task[PageMetadata]], waiting: int = 1) -> None:
        await self.has(waiting)
        for _ in range(200):  # whoever else could come, comes now
            await asyncio.sleep(0)
        self._open.set()
        assert {result.title for result in await asyncio.gather(*looks)} == {"A page"}
