"""R18: whatever is written into a link, the page that bots are shown of it says it and does nothing."""

from collections.abc import Iterator

import pytest
from journeys.service import Service, Website
from playwright.async_api import Browser

from browser.hostile import HARM, TEXTS
from browser.watching import GOOGLEBOT, watched


@pytest.fixture(scope="module")
def website() -> Iterator[Website]:
    with Website() as site:
        yield site


def make(service: Service, **fields: str) -> str:
    """The short link's address."""
    answer = service.client.post("/api/v1/links", json=fields)
    assert answer.status_code == 201, answer.text
    return f"http://{answer.json()['data']['short_url']}"


async def test_bot_gets_the_preview_page(chromium: Browser, service: Service, website: Website) -> None:
    destination = f"{website.url}/spring?a=1&lt;b&copy=2"
    url = make(service, destination_url=destination, title="Spring", og_description="One\nTwo")
    bot = await watched(chromium, user_agent=GOOGLEBOT)
    await bot.visit(url)
    assert (bot.loaded, bot.trouble) == ([url], [])
    page = bot.page
    assert [await page.title(), await page.inner_text("h1")] == ["Spring", "Spring"]
    assert await page.inner_text("p >> nth=0") == "One\nTwo"
    assert await page.eval_on_selector("body", "body => getComputedStyle(body).textAlign") == "center"
    await page.click("text=/spring")
    assert page.url == destination


async def test_hostile_text_does_nothing(chromium: Browser, service: Service, website: Website) -> None:
    bot = await watched(chromium, user_agent=GOOGLEBOT)
    for name, text in TEXTS.items():
        url = make(
            service,
            destination_url=f"{website.url}/'><script>{HARM}</script>",
            title=text,
            og_title=text,
            og_description=text * 3,
            og_image="https://images.example.com/'onerror='window.harmed=1'.png",
        )
        await bot.visit(url)
        assert (bot.loaded, bot.trouble) == ([url], []), name
        assert await bot.page.text_content("h1") == text, name
        assert await bot.page.get_attribute('meta[property="og:description"]', "content") == text * 3, name
        assert await bot.page.evaluate("document.querySelectorAll('script, img, base, iframe, svg').length") == 0, name


async def test_what_a_harmful_page_did_would_be_seen(chromium: Browser, service: Service) -> None:
    """The same policy, on a page that was written without care."""
    policy = service.client.get("/nothing").headers["content-security-policy"]
    bot = await watched(chromium)

    async def careless(route: object) -> None:
        body = "<script>1</script><img src=https://images.example.com/a.png>"
        await route.fulfill(body=body, headers={"content-type": "text/html", "content-security-policy": policy})

    await bot.page.route(f"{service.base_url}/careless", careless)
    await bot.visit(f"{service.base_url}/careless")
    refused = "".join(bot.trouble)
    assert "script-src-elem inline" in refused
    assert "img-src https://images.example.com/a.png" in refused
