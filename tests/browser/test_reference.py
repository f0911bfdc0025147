"""The API's reference in a real Chromium: it is there, its examples carry our address, and it calls nobody else."""

from journeys.service import Service
from playwright.async_api import Browser

from browser.watching import watched


async def test_api_reference_loads_and_calls_no_other_host(chromium: Browser, service: Service) -> None:
    reader = await watched(chromium)
    page = reader.page
    warnings: list[str] = []
    page.on("console", lambda message: warnings.append(message.text) if message.type in {"warning", "error"} else None)
    await reader.visit(f"{service.base_url}/docs#tag/links/POST/api/v1/links")
    await page.locator("pre", has_text=f"curl {service.base_url}/api/v1/links").first.wait_for()
    await page.locator('[id$="tag/links/POST/api/v1/links"]').get_by_role("button", name="curl").click()
    await page.get_by_role("option", name="TypeScript").click()
    await page.locator("pre", has_text="await waypost.links.create({").wait_for()
    await page.get_by_role("button", name="Test Request").first.click()
    await page.get_by_role("button", name="Send").first.wait_for()
    await page.keyboard.press("Escape")
    assert [url for url in reader.loaded if not url.startswith(f"{service.base_url}/")] == []
    assert f"{service.base_url}/api/openapi.json" in reader.loaded
    assert await page.evaluate("violations") == []
    assert warnings == []
