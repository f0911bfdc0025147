"""The blocklist and Safe Browsing: what counts as unsafe, and what happens when a source fails."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import servers
from servers import Receiver, SafeBrowsingServer, always, response

from waypost.kit.errors import SettingsError
from waypost.kit.urls import canonical
from waypost.outbound import Blocklist, Outbound, SafeBrowsing, UrlSafety

KEY = "AIza-secret"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "blocklist.txt"
    path.write_text("bad.example\n")
    return path


async def is_unsafe(safety: UrlSafety, *urls: str) -> bool:
    return bool(await safety.find_unsafe([canonical(url) for url in urls]))


async def test_a_url_on_the_blocklist_is_unsafe(path: Path) -> None:
    safety = UrlSafety(Blocklist(path))
    assert await is_unsafe(safety, "https://good.example/", "https://bad.example/page")
    assert not await is_unsafe(safety, "https://good.example/")


async def test_without_sources_nothing_is_unsafe() -> None:
    assert not await is_unsafe(UrlSafety(), "https://bad.example/")


class TestSafeBrowsing:
    @pytest.fixture
    async def google(self) -> AsyncIterator[Receiver]:
        async with SafeBrowsingServer(KEY, "https://evil.example/malware").running() as receiver:
            yield receiver

    async def test_a_url_that_safe_browsing_lists_is_unsafe(self, google: Receiver, outbound: Outbound) -> None:
        safety = UrlSafety(safe_browsing=SafeBrowsing(outbound, KEY, google.url()))
        assert await is_unsafe(safety, "https://evil.example/malware")
        assert await is_unsafe(safety, "https://good.example/", "https://evil.example/malware")
        assert not await is_unsafe(safety, "https://good.example/")
        assert google.heads[0].startswith(b"POST /v4/threatMatches:find?key=AIza-secret HTTP/1.1\r\n")

    async def test_many_urls_are_asked_about_together(self, google: Receiver, outbound: Outbound) -> None:
        safety = UrlSafety(safe_browsing=SafeBrowsing(outbound, KEY, google.url()))
        urls = [canonical(f"https://good.example/{number}") for number in range(150)]
        evil = canonical("https://evil.example/malware")
        assert await safety.find_unsafe([*urls, evil]) == {evil}
        assert len(google.heads) == 2

    async def test_the_blocklist_is_asked_first(self, path: Path, google: Receiver, outbound: Outbound) -> None:
        safety = UrlSafety(Blocklist(path), SafeBrowsing(outbound, KEY, google.url()))
        assert await is_unsafe(safety, "https://bad.example/")
        assert google.connections == 0

    async def test_a_wrong_key_lets_pass_and_is_logged_without_it(
        self, google: Receiver, outbound: Outbound, capsys: pytest.CaptureFixture[str]
    ) -> None:
        safety = UrlSafety(safe_browsing=SafeBrowsing(outbound, "wrong-key", google.url()))
        assert not await is_unsafe(safety, "https://evil.example/malware")
        logged = capsys.readouterr().out
        assert "status 400" in logged
        assert "wrong-key" not in logged

    @pytest.mark.parametrize(
        "script",
        [
            always(response(503)),
            always(response(200, b"<html>")),
            always(response(200, b"[]")),
            always(response(302, location="http://127.0.0.1/")),
            servers.reset,
        ],
    )
    async def test_an_outage_lets_pass(
        self, outbound: Outbound, capsys: pytest.CaptureFixture[str], script: servers.Script
    ) -> None:
        async with Receiver(script) as receiver:
            safety = UrlSafety(safe_browsing=SafeBrowsing(outbound, KEY, receiver.url()))
            assert not await is_unsafe(safety, "https://evil.example/malware")
        logged = capsys.readouterr().out
        assert logged.count("Safe Browsing unavailable") == 1
        assert KEY not in logged

    async def test_requests_are_sent_some_at_once_and_none_after_an_outage(
        self, outbound: Outbound, capsys: pytest.CaptureFixture[str]
    ) -> None:
        waiting, four_wait = 0, asyncio.Event()

        async def refuse_together(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _head: bytes) -> None:
            nonlocal waiting
            waiting += 1
            if waiting == 4:
                four_wait.set()
            await four_wait.wait()
            writer.write(response(503))

        async with Receiver(refuse_together) as receiver:
            safety = UrlSafety(safe_browsing=SafeBrowsing(outbound, KEY, receiver.url()))
            assert not await is_unsafe(safety, *(f"https://good.example/{number}" for number in range(16_000)))
        assert 4 <= waiting <= 8
        logged = capsys.readouterr().out
        assert logged.count("Safe Browsing unavailable") == logged.count("status 503") == 1

    def test_its_address_must_be_a_url(self, outbound: Outbound) -> None:
        with pytest.raises(SettingsError, match="WAYPOST_SAFE_BROWSING_URL"):
            SafeBrowsing(outbound, KEY, "http://localhost/")
