"""Shared statistics in a real browser: in a frame of another origin, and as a page that no frame shows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from journeys.service import Service
from playwright.async_api import Browser, expect

from browser.watching import watched


@asynccontextmanager
async def other_site(html: str) -> AsyncIterator[str]:
    """Another origin, which answers all paths with this page. Yields its URL."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(html)}\r\nConnection: close\r\n\r\n"
        writer.write((head + html).encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_other_pages_embed_a_share_and_not_its_plain_page(chromium: Browser, service: Service) -> None:
    made = {"name": "For Bob", "password": "open sesame", "embed_origins": ["https://example.com"]}
    share = service.client.post("/api/v1/shares", json=made).json()["data"]
    visitor = await watched(chromium, timezone_id="Asia/Tokyo")
    page, frames = visitor.page, '<iframe name="embedded" src="{embed_url}"></iframe><iframe src="{url}"></iframe>'
    async with other_site("") as origin:
        await page.goto(origin)
        for origins, count in (["https://example.com"], 0), ([origin], 1):
            change = service.client.patch(f"/api/v1/shares/{share['id']}", json={"embed_origins": origins})
            share = change.json()["data"]
            async with page.expect_response(share["url"]), page.expect_response(share["embed_url"]):
                await page.set_content(frames.format(**share))
            await expect(page.frame_locator("[name=embedded]").locator("h1")).to_have_count(count)
        embedded = page.frame_locator("[name=embedded]")
        await expect(embedded.locator("h1")).to_have_text("For Bob")
        await expect(embedded.locator("#timezone")).to_have_value("Asia/Tokyo")
        await embedded.locator("#period").select_option("7d")
        await expect(embedded.locator("#series")).to_contain_text("No clicks in this time range.")
        await expect(embedded.locator("#dates")).to_contain_text("Times in Asia/Tokyo")
        await expect(page.frame_locator("iframe:not([name])").locator("form")).to_have_count(0)
        assert await page.context.cookies() == []
    await page.goto(share["url"])
    await page.fill("[name=password]", "open sesame")
    await page.press("[name=password]", "Enter")
    await expect(page.locator("#numbers")).to_be_visible()
    paths = {cookie["path"] for cookie in await page.context.cookies()}
    assert paths == {share["url"].removeprefix(service.base_url) + end for end in ("", ".csv")}
