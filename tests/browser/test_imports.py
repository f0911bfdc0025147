"""An import in a real browser, whose script sends a large file in pieces."""

from collections.abc import Iterator

import pytest
from journeys.service import Service
from playwright.async_api import Browser, expect

from browser.test_dashboard_links import owner


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("service")) as running:
        yield running


async def test_imports_a_large_file_after_its_plan(chromium: Browser, service: Service) -> None:
    page = (await owner(chromium, service)).page
    rows = "".join(f"https://example.com/{number},go.brand.test/k{number},{'x' * 20_000}\n" for number in range(60))
    content = f"Destination URL,Short link,Notes\n{rows}".encode()
    assert len(content) > 1 << 20
    pieces: list[str] = []
    page.on("request", lambda request: pieces.append(request.url) if "/pieces" in request.url else None)
    await page.goto("/links/import/csv")
    await page.set_input_files("#file", {"name": "links.csv", "mimeType": "text/csv", "buffer": content})
    await page.fill("[name=timezone]", "Mars")
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_text("This is not a time zone")).to_be_visible()
    await page.fill("[name=timezone]", "Europe/Berlin")  # the file is still chosen
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("region", name="Plan")).to_contain_text("To create60")
    assert len(pieces) == 2
    columns = page.get_by_role("region", name="Columns")
    await expect(columns.get_by_role("row", name="Short link")).to_contain_text("go.brand.test/k1")
    await columns.get_by_role("combobox", name="Notes").select_option("Title")
    await columns.get_by_role("combobox", name="Destination URL").select_option("Leave out")
    await page.get_by_role("button", name="Update plan").click()
    await expect(page.get_by_text("Choose which column is the Destination URL.")).to_be_visible()
    await columns.get_by_role("combobox", name="Destination URL").select_option("Destination URL")
    await page.get_by_role("button", name="Update plan").click()
    await expect(page.get_by_role("region", name="Plan")).to_contain_text("To create60")
    await expect(columns.get_by_role("combobox", name="Notes")).to_have_value("title")
    await page.get_by_role("button", name="Start import").click()
    await expect(page.get_by_text("The import is done.")).to_be_visible()
    answer = service.client.get("/api/v1/links").json()
    assert answer["meta"]["total"] == 60
    assert answer["data"][0]["title"].startswith("xxx")
    assert len(pieces) == 2
