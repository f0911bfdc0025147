"""A failed request shows one line that says what to do; the input stays, even through a reload."""

from collections.abc import Awaitable, Callable

from journeys.service import Service
from playwright.async_api import Browser, Route, expect

from browser.test_dashboard_links import owner

SLUGS = "**/links/check-slug*"


def answer(status: int, **headers: str) -> Callable[[Route], Awaitable[None]]:
    return lambda route: route.fulfill(status=status, headers=headers, body="")


async def nothing(route: Route) -> None:
    await route.abort("connectionfailed")


async def test_failed_requests_show_one_line_and_keep_the_input(chromium: Browser, service: Service) -> None:
    page = (await owner(chromium, service)).page
    await page.goto("/links/new")
    await page.fill("#destination_url", "http://127.0.0.1:1/a")
    await expect(page.locator("#card .error")).to_be_visible()  # the earlier request has a response
    line = page.locator("#request-error")
    for index, (happens, reported) in enumerate(
        (
            (answer(429, **{"Retry-After": "7"}), "Try again in 7 seconds"),
            (answer(500), "on our side"),
            (answer(404), "no longer exists"),
            (answer(403), "refused"),
            (nothing, "No response."),
        )
    ):
        await page.route(SLUGS, happens)
        await page.fill("#slug", f"spring-{index}")
        await expect(line).to_contain_text(reported)
        assert await page.input_value("#slug") == f"spring-{index}"
        await page.unroute(SLUGS)
    await page.reload()
    assert await page.input_value("#destination_url") == "http://127.0.0.1:1/a"
    assert await page.input_value("#slug") == "spring-4"
    await page.route(SLUGS, answer(503))
    await page.fill("#slug", "summer")
    await expect(line).to_contain_text("on our side")
    await page.unroute(SLUGS)
    await page.fill("#slug", "autumn")
    await expect(page.locator("#slug-state")).to_have_text("This slug is available.")
    await expect(line).to_be_empty()
