"""axe finds nothing on any page: for who has much, nothing, or no session; light, dark, on a phone; forms refused and
dialogs open. No page is wider than a phone, and screen readers read each in the order in which it is seen.

Each state is looked at once, by day or by night; with BOTH_LOOKS in the environment by both.
"""

import asyncio
import os
import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Literal

import pytest
from journeys.service import Service
from playwright.async_api import Browser, Page, Route, ViewportSize, expect

from browser.furnished import Person, SeededService, furnish
from browser.reading import misread
from browser.visits import Visit, of_nobody, of_owner, of_viewer, of_who_has_nothing
from browser.watching import watched

PATIENCE = 240_000  # milliseconds; only a broken service makes anybody wait that long
AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
LOOK = """async ([rules, excluded]) => {
  const exclude = excluded.filter((each) => document.querySelector(each)).map((each) => [each]);
  const where = { include: [["html"]], exclude };
  const reported = await axe.run(where, { resultTypes: ["violations"], ...(rules && { runOnly: rules }) });
  return reported.violations.flatMap((each) => each.nodes.map((node) => `${each.id}: ${node.html.slice(0, 200)}`));
}"""
WIDE: ViewportSize = {"width": 1280, "height": 800}
NARROW: ViewportSize = {"width": 320, "height": 640}
IS_TOO_WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
SHORTEN = """for (const each of document.querySelectorAll("option:nth-child(n + 6), ul.links > li:nth-child(n + 8)"))
  each.remove()"""
SHORTEN_REFERENCE = """for (const part of ["/links/{id}/", "/links/bulk"])
  for (const each of document.querySelectorAll(`section[id*="${part}"]`)) each.remove()"""
BOTH_LOOKS = "BOTH_LOOKS" in os.environ  # `make test-slow`; half of the time of a page is its contrasts
BY_LOOK = ["color-contrast", "link-in-text-block", "scrollable-region-focusable"]  # the rest is in the markup


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory):
    """Mail is set up, so that addresses are to be confirmed; it gets nowhere."""
    with Service(tmp_path_factory.mktemp("service"), WAYPOST_SMTP_URL="smtp://127.0.0.1:9") as running:
        yield running


@pytest.fixture(scope="module")
def seeded(service: Service) -> SeededService:
    return asyncio.run(furnish(Path(service.directory) / "data", service.base_url))


async def new_page(chromium: Browser, service: Service, person: Person | None) -> Page:
    watch = await watched(chromium, base_url=service.base_url, viewport=WIDE)
    watch.page.set_default_timeout(PATIENCE)
    await watch.page.add_init_script(AXE)  # the pages' policy lets no script of ours in
    if person:
        cookie = {"name": "waypost", "value": person.cookie, "url": service.base_url}
        await watch.page.context.add_cookies([cookie])
    return watch.page


async def show(page: Page, size: ViewportSize, colors: Literal["light", "dark"]) -> None:
    await page.emulate_media(color_scheme=colors)
    await page.set_viewport_size(size)


async def look(page: Page, *, rules: list[str] | None = None, excluded: Iterable[str] = ()) -> list[str]:
    reported: list[str] = await page.evaluate(LOOK, [rules, list(excluded)])
    return reported


async def troubles(page: Page, visits: Iterable[Visit]) -> list[str]:
    """Each page is opened once. In turn they are looked at on a wide screen by day and on a narrow one by night.

    What is the same on all pages is looked at on the first two, and of long lists what comes first.
    """
    found = []
    for number, visit in enumerate(visits):
        await show(page, WIDE, "light")
        await visit.make(page)
        seen = {"read": await misread(page)}
        await show(page, NARROW, "dark")
        seen["narrow"] = ["wider than the screen"] if await page.evaluate(IS_TOO_WIDE) else []
        if BOTH_LOOKS:
            seen["narrow"] += await look(page, rules=BY_LOOK)
        else:
            await page.evaluate(SHORTEN)
        excluded = ["header.sidebar"] if number > 1 and not BOTH_LOOKS else []
        if BOTH_LOOKS or number % 2 == 0:
            await show(page, WIDE, "light")
            seen["wide"] = await look(page, excluded=excluded)
        else:
            seen["narrow"] += await look(page, excluded=excluded)
        found += [f"{visit.name}, {look}: {each}" for look, reported in seen.items() for each in reported]
        found += [f"{visit.name}: {each}" for each in await page.evaluate("violations")]
    return found


@pytest.mark.parametrize("part", range(3))
async def test_every_page(chromium: Browser, service: Service, seeded: SeededService, part: int) -> None:
    expect.set_options(timeout=PATIENCE)
    many = list(of_owner(seeded))[part::3]
    halves = many[::2], many[1::2]
    found = await asyncio.gather(*[troubles(await new_page(chromium, service, seeded.ada), half) for half in halves])
    assert [each for reported in found for each in reported] == []


async def test_pages_of_who_has_nothing(chromium: Browser, service: Service, seeded: SeededService) -> None:
    expect.set_options(timeout=PATIENCE)
    unproven = [Visit(path) for path in ("/", "/links/new", "/plan", "/account")]
    rounds = (seeded.eve, of_who_has_nothing()), (seeded.bob, unproven)
    begun = [troubles(await new_page(chromium, service, person), visits) for person, visits in rounds]
    found = await asyncio.gather(*begun)
    assert [each for reported in found for each in reported] == []


async def test_pages_of_viewers(chromium: Browser, service: Service, seeded: SeededService) -> None:
    expect.set_options(timeout=PATIENCE)
    assert await troubles(await new_page(chromium, service, seeded.viewer), of_viewer(seeded)) == []


async def test_pages_of_nobody(chromium: Browser, service: Service, seeded: SeededService) -> None:
    expect.set_options(timeout=PATIENCE)
    nobody = await new_page(chromium, service, None)
    assert await troubles(nobody, of_nobody(seeded)) == []
    await nobody.goto("/signup")
    await nobody.get_by_label("Email").fill("carol@example.org")
    await nobody.get_by_label("Password").fill("four plain words suffice")
    await nobody.get_by_role("button", name="Create account").click()
    await expect(nobody.get_by_role("heading", name="Check your email")).to_be_visible()
    assert await look(nobody) == []


async def test_finds_what_is_read_wrong(chromium: Browser) -> None:
    """So that a page without findings was looked at."""
    page = await (await chromium.new_context(viewport=WIDE)).new_page()
    refused = "<form method=post><input aria-label=Name aria-invalid=true><p role=alert>Wrong</p></form>"
    swapped = "<div style='display: flex; flex-direction: column-reverse'><button>A</button><button>B</button></div>"
    await page.set_content(f"<a href=/>Home</a><main><h3>Title</h3>{refused}{swapped}<button></button></main>")
    found = [each.partition(":")[0] for each in await misread(page)]
    assert found == [
        "no name",
        "the first control is no skip link",
        "the content does not begin with its one heading of level 1",
        "no reason beside the refused field",
        "read before what is seen first",
        "no message before the refused field",
    ]


async def test_an_address_is_confirmed_from_any_page(
    chromium: Browser, service: Service, seeded: SeededService
) -> None:
    page = await new_page(chromium, service, seeded.bob)
    await page.goto("/links")
    await page.get_by_role("button", name="Resend email").click()
    await expect(page.get_by_text("We send at most one email every 2 minutes.")).to_be_visible()


async def test_the_reference(chromium: Browser, service: Service) -> None:
    """Scalar's own markup, fixed in place: see reference.js. Of one resource the first endpoints: all are alike."""
    page = await new_page(chromium, service, None)
    await page.goto("/docs#tag/links/POST/api/v1/links")
    await page.locator("pre", has_text="curl").first.wait_for()
    await page.wait_for_load_state("networkidle")
    await page.locator("ul.endpoints[tabindex]").last.wait_for()
    await page.locator("h1").first.wait_for(state="attached")  # sections above the one of the address are drawn later
    if not BOTH_LOOKS:
        await page.evaluate(SHORTEN_REFERENCE)
    assert await look(page) == []
    await show(page, NARROW, "dark")
    await page.locator("body.dark-mode").wait_for()
    assert await look(page, rules=BY_LOOK) == []


async def test_by_keyboard(chromium: Browser, service: Service, seeded: SeededService) -> None:
    """What is opened is left with Escape, and focus returns to where it was."""
    expect.set_options(timeout=PATIENCE)
    page = await new_page(chromium, service, seeded.ada)
    await page.goto("/links")
    await page.keyboard.press("Tab")
    await expect(page.get_by_text("Skip to content")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("main")).to_be_focused()
    more = page.locator("summary[title='More actions']").first
    await more.focus()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Duplicate")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(more).to_be_focused()
    await page.keyboard.press("Enter")
    for _ in range(3):
        await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Delete link")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.locator("#confirm")).to_be_hidden()
    await expect(more).to_be_focused()

    await page.keyboard.press("j")
    await page.keyboard.press("x")
    await expect(page.locator("#selected")).to_have_text("1 selected")
    await page.keyboard.press("/")
    await expect(page.locator("#search")).to_be_focused()
    await page.keyboard.press("Control+K")
    await expect(page.locator(".jump input")).to_be_focused()
    await page.keyboard.type("spring-0")
    await expect(page.locator("#jump-list li")).to_have_text(re.compile("spring-0"))
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/links/{seeded.links[0]}")
    for words, found in (
        ("audit", "Audit log"),
        ("time zone", "Profile"),
        ("members", "Team"),
        ("sessions", "Sessions"),
    ):
        await page.keyboard.press("Control+K")
        await page.locator(".jump input").fill(words)
        await expect(page.locator("#jump-list li").first).to_contain_text(found)
        await page.keyboard.press("Escape")

    await page.goto("/integrations/api")
    revoke = page.locator("[data-dialog]").first
    await revoke.focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("dialog[open]")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(revoke).to_be_focused()

    await page.set_viewport_size(NARROW)
    await page.goto("/plan")
    summary = page.locator("details.menu summary")
    await summary.press("Enter")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Overview")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(summary).to_be_focused()
    overview = page.get_by_role("link", name="Overview")
    await expect(overview).to_be_hidden()
    await page.set_viewport_size({"width": 1280, "height": 720})
    await expect(overview).to_be_visible()
    await page.set_viewport_size(NARROW)
    await expect(overview).to_be_hidden()


async def test_the_menu_keeps_what_was_chosen_until_links_are_found(
    chromium: Browser, service: Service, seeded: SeededService
) -> None:
    page = await new_page(chromium, service, seeded.ada)
    answered = asyncio.Event()

    async def hold(route: Route) -> None:
        await answered.wait()
        await route.continue_()

    await page.goto("/tags")
    await page.route("**/links/find?*", hold)
    await page.keyboard.press("Control+K")
    await expect(page.locator(".jump input")).to_be_focused()
    await page.keyboard.type("spring-0")
    await page.keyboard.press("Enter")
    answered.set()
    await page.wait_for_url(f"**/links/{seeded.links[0]}")

    answered.clear()
    await page.keyboard.press("Control+K")
    await expect(page.locator(".jump input")).to_be_focused()
    await page.keyboard.type("s")
    await page.keyboard.press("ArrowDown")
    selected, found = page.locator("#jump-list [aria-selected=true]"), page.locator("#jump-list [data-link]")
    chosen = await selected.inner_text()
    await expect(found).to_have_count(0)
    answered.set()
    await expect(found).to_have_count(8)
    await expect(selected).to_have_text(chosen)
    answered.clear()
    await page.keyboard.type("zz")
    await expect(found).to_have_count(8)
    answered.set()
    status, field = page.locator(".jump [role=status]"), page.locator(".jump input")
    await expect(status).to_have_text("Nothing found")
    await expect(field).to_have_attribute("aria-expanded", "false")
    await page.unroute("**/links/find?*")
    await page.route("**/links/find?*", lambda route: route.fulfill(body="no JSON"))
    await page.keyboard.type("z")
    await expect(status).to_have_text("Links could not be searched")
