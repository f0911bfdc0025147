"""The list of links and their form in a real browser: answers while typing, and that no script is needed."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from journeys.service import OWNER, Service, Website
from playwright.async_api import Browser, expect

from browser.watching import Watched, watched
from waypost.accounts import get_person
from waypost.accounts.people import store as people
from waypost.accounts.sessions import store as sessions
from waypost.database import Database
from waypost.kit.clock import now
from waypost.kit.urls import canonical, with_query

PATIENCE = 240_000  # milliseconds; only a broken service makes anybody wait that long
UTM = {"utm_source": "news (1)*!'", "utm_campaign": "ä&=é", "utm_term": ""}
DESTINATIONS = (
    "https://example.com",
    "HTTPS://Example.COM/Pricing?b=2&utm_source=old&a#top",
    "https://example.com/guide.pdf?&&x=%41",
    "https://example.com/a/?utm%5Fsource=1&q=a+b",
    "https://bücher.example/schöne straße".replace(" ", "%20"),
    "https://example.com:8443/a.b/c#x?utm_source=kept",
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Each test leaves no link behind."""
    with Service(tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture
def website() -> Iterator[Website]:
    with Website() as site:
        yield site


async def owner(chromium: Browser, service: Service, **context: object) -> Watched:
    db = Database(f"sqlite:///{service.directory}/data/waypost.db")
    person = await get_person(db, OWNER)
    async with db.write() as tx:
        await people.change(tx, person.id, now(), timezone="Asia/Tokyo")
        token = await sessions.create(tx, person.id, user_agent="", ip="127.0.0.1", now=now())
    await db.close()
    watch = await watched(chromium, base_url=service.base_url, **context)
    watch.page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    await watch.page.context.add_cookies([{"name": "waypost", "value": token, "url": service.base_url}])
    return watch


async def test_link_form_answers_while_typing(chromium: Browser, service: Service, website: Website) -> None:
    ada = await owner(chromium, service, viewport={"width": 360, "height": 800})
    page = ada.page
    await ada.visit("/links/new")
    await page.fill("#destination_url", website.url)
    await expect(page.locator("#card-title")).to_have_text("A page")
    await page.fill("#slug", "login")
    await expect(page.locator("#slug-state")).to_contain_text("reserved")
    await page.fill("#slug", "spring")
    await expect(page.locator("#slug-state")).to_have_text("This slug is available.")
    await expect(page.locator("#short")).to_have_text(re.compile("/spring$"))
    await page.fill("#new_tags", "one")
    await page.press("#new_tags", "Enter")
    await expect(page.locator("#chips label")).to_have_text(["one"])
    for summary in ("Campaign", "Title and", "Password"):
        await page.locator("summary", has_text=summary).click()
    await page.fill("[data-utm=utm_source]", "mail")
    await expect(page.locator("#destination-with-utm")).to_have_text(f"{website.url}/?utm_source=mail")
    await page.fill("#og_title", "Typed")
    await expect(page.locator("#card-title")).to_have_text("Typed")
    for name, text, time in (("starts_at", "Tomorrow", "00:00"), ("expires_at", "In a week", "23:59")):
        await page.locator(f"[data-fills={name}]").get_by_role("button", name=text).press("Enter")
        await expect(page.locator(f"#{name}")).to_have_value(re.compile(f"T{time}$"))
    await page.fill("#starts_at", "")
    await page.fill("#expires_at", "2035-06-01T12:00")
    await page.get_by_role("button", name="Random slug").click()
    await expect(page.locator("#slug")).to_have_value(re.compile(r"^\w{7,}$"))
    for network, shown in (("X", False), ("WhatsApp, Slack", True), ("Facebook, LinkedIn", True)):
        await page.get_by_role("radio", name=network, exact=True).press("Space")
        await expect(page.locator("#card-description")).to_be_visible(visible=shown)
    await page.fill("#password", "open sesame")
    await page.click("[data-reveal=password]")
    kept = await page.evaluate("document.dispatchEvent(new Event('htmx:timeout')), JSON.stringify(sessionStorage)")
    assert ("Typed" in kept, "open sesame" in kept) == (True, False)
    await page.locator("button.primary").dblclick()
    await expect(page.get_by_text("Link created.")).to_be_visible()
    (made,) = service.client.get("/api/v1/links").json()["data"]
    assert (made["expires_at"], made["tags"], made["og_title"]) == ("2035-06-01T03:00:00.000000Z", ["one"], "Typed")

    assert urlsplit(page.url).path == f"/links/{made['id']}"
    await page.get_by_role("link", name="Edit").click()
    await expect(page.locator("#expires_at")).to_have_value("2035-06-01T12:00")
    await page.goto("/links")
    await page.locator("summary[title='More actions']").click()
    await page.get_by_role("button", name="Disable").click()
    await expect(page.locator("#found .badge.warn")).to_have_text("Disabled")
    await page.fill("#search", "nothing like it")
    await expect(page.get_by_text("No links found")).to_be_visible()
    await expect(page).to_have_url(re.compile(r"/links\?search=nothing\+like\+it$"))
    await page.go_back()
    await page.locator("summary[title='More actions']").click()
    await page.get_by_role("link", name="Delete").click()
    await page.get_by_role("button", name="Delete link").click()
    await expect(page.get_by_text("No links yet")).to_be_visible()
    assert ada.trouble == []
    assert await page.evaluate("violations") == []
    assert all(url.startswith(service.base_url) for url in ada.loaded)

    script = await page.get_attribute("script[src*=links]", "src")
    shown = await page.evaluate(
        "async ([script, urls, utm]) => { const { destinationWithUtm } = await import(script);"
        " return urls.map((url) => destinationWithUtm(url, utm)) }",
        [script, DESTINATIONS, UTM],
    )
    given = {key: value for key, value in UTM.items() if value}
    assert shown == [with_query(canonical(url).text, given) for url in DESTINATIONS]


async def test_a_destination_in_the_address_waits_for_somebody(
    chromium: Browser, service: Service, website: Website
) -> None:
    ada = await owner(chromium, service)
    page, asked = ada.page, []
    page.on("request", lambda request: asked.append(request.url))
    await ada.visit(f"/links/new?url={website.url}")
    await page.wait_for_load_state("networkidle")
    assert not [url for url in asked if url.endswith("/links/preview")]
    await page.press("#slug", "a")
    await expect(page.locator("#card-title")).to_have_text("A page")
    await page.locator("summary", has_text="Title and").click()
    await page.fill("#og_image", f"{website.url}/card.png")
    async with page.expect_event("console", lambda message: "404" in message.text):
        await page.press("#og_image", "Tab")
    await expect(page.locator("#card-image")).to_have_text("The image cannot be loaded.")
    await page.fill("#destination_url", f"{website.url}/other")
    async with page.expect_event("console", lambda message: "404" in message.text):  # it is asked for once more
        await page.press("#destination_url", "Tab")
    await expect(page.locator("#card-image")).to_have_text("The image cannot be loaded.")
    await page.fill("#og_image", "")
    await page.press("#og_image", "Tab")
    await expect(page.locator("#card-image")).to_have_text("No image")


async def test_without_scripts(chromium: Browser, service: Service, website: Website) -> None:
    ada = await owner(chromium, service, java_script_enabled=False)
    page = ada.page
    await page.goto("/links/new")
    await expect(page.get_by_label("Preview")).to_be_hidden()
    await page.fill("#destination_url", website.url)
    await page.fill("#slug", "a b")
    await page.fill("#new_tags", "one, two")
    await page.locator("summary", has_text="Password").click()
    await page.fill("#expires_at", "2035-06-01T12:00")
    await page.locator("button.primary").click()
    await expect(page.locator("#slug-hint")).to_contain_text("only letters")
    await page.fill("#slug", "a")
    await page.locator("button.primary").click()
    await expect(page.get_by_text("Link created.")).to_be_visible()
    await page.goto("/links")
    await expect(page.locator(".tags li")).to_have_text(["one", "two"])
    await expect(page.locator("[data-copy]").first).to_be_hidden()
    (made,) = service.client.get("/api/v1/links").json()["data"]
    assert (made["slug"], made["expires_at"]) == ("a", "2035-06-01T03:00:00.000000Z")
    await page.select_option("[name=tag]", "two")
    await page.get_by_role("button", name="Apply filters").click()
    await expect(page.get_by_text("1 link", exact=True)).to_be_visible()
    await page.locator("summary[title='More actions']").click()
    await page.get_by_role("link", name="Delete").click()
    await page.get_by_role("button", name="Delete link").click()
    await expect(page.get_by_text("Link deleted.")).to_be_visible()


async def test_routing_is_edited_by_keyboard_and_tested(chromium: Browser, service: Service, website: Website) -> None:
    (link,) = [
        service.client.post("/api/v1/links", json={"destination_url": website.url, "slug": "routed"}).json()["data"]
    ]
    ada = await owner(chromium, service, viewport={"width": 360, "height": 800})
    page = ada.page
    await ada.visit(f"/links/{link['id']}/routing")
    for name, type_, value in (("First", "platform", "iOS"), ("Second", "country", "germ")):
        await page.get_by_label("Condition of a new rule").select_option(type_)
        await page.get_by_role("button", name="Add rule").press("Enter")
        rule = page.get_by_role("group", name=f"Rule {1 if name == 'First' else 2}")
        await expect(rule.get_by_label("Name", exact=True)).to_be_focused()
        await page.keyboard.type(name)
        await rule.get_by_label("Destination URL").fill(f"{website.url}/{name}")
        await rule.locator("[name$='.new']").fill(value)
        await page.keyboard.press("Enter")
        await expect(rule.get_by_role("checkbox", name="iOS" if value == "iOS" else "Germany")).to_be_checked()
        await expect(rule.locator("[name$='.new']")).to_be_focused()
        await expect(rule.locator("[name$='.new']")).to_have_value("")
    await page.keyboard.type("Austria, swi,")
    for country in ("Austria", "Switzerland"):
        await expect(rule.get_by_role("checkbox", name=country)).to_be_checked()
    await page.get_by_role("button", name="Move up rule 2").press("Enter")
    await expect(page.locator("#rules-0-name")).to_have_value("Second")
    await expect(page.get_by_role("button", name="Move down rule 1")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("#rules-0-name")).to_have_value("First")
    await expect(page.get_by_role("button", name="Move up rule 2")).to_be_focused()
    for dragged, other, first in ((0, 1, "Second"), (1, 0, "First")):
        await page.locator(".handle").nth(dragged).hover()
        await page.mouse.down()
        passed = await page.locator(".entries > li").nth(other).bounding_box()
        assert passed
        await page.mouse.move(passed["x"], passed["y"] + passed["height"] * (0.9 if other else 0.1))
        await page.mouse.up()
        await expect(page.locator("#rules-0-name")).to_have_value(first)
    await page.get_by_role("button", name="Add variant").click()
    await expect(page.locator("#variants-0-name")).to_be_focused()
    await page.keyboard.type("B")
    await page.get_by_label("Weight in %").fill("40")
    await page.get_by_role("group", name="Variant 1").get_by_label("Destination URL").fill(f"{website.url}/b")
    await expect(page.locator("#shares")).to_contain_text("B 40% · Link")
    await page.locator("#test-country").fill("Germany")
    await page.get_by_role("button", name="Test", exact=True).click()
    await expect(page.locator("#editor [role=status]")).to_contain_text("Rule 'Second' matches: country is DE")
    await page.get_by_role("button", name="Save routing").click()
    await expect(page.get_by_text("Routing saved.")).to_be_visible()
    saved = service.client.get(f"/api/v1/links/{link['id']}/routing").json()["data"]
    assert [rule["name"] for rule in saved["rules"]] == ["First", "Second"]
    service.client.delete(f"/api/v1/links/{link['id']}")
    assert await page.evaluate("violations") == []


async def test_pasting_a_url_and_enter_copies_a_short_link(
    chromium: Browser, service: Service, website: Website
) -> None:
    ada = await owner(chromium, service, permissions=["clipboard-read", "clipboard-write"])
    page = ada.page
    await ada.visit("/")
    await expect(page.get_by_label("Paste a long URL")).to_be_focused()
    await page.keyboard.insert_text(website.url)
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Link created", exact=True)).to_be_visible()
    await expect(page.locator("#toast")).to_have_text("Copied")
    short = await page.evaluate("navigator.clipboard.readText()")
    assert re.fullmatch(rf"{service.base_url}/\w+", short)
    await expect(page.get_by_alt_text(f"QR code of {short}")).to_be_visible()
    await expect(page.locator(".steps .done")).to_contain_text(["Create your first link"])
    assert (ada.trouble, await page.evaluate("violations")) == ([], [])
    path = await page.get_by_role("link", name="Edit", exact=True).get_attribute("href")
    await page.goto(f"{(path or '').removesuffix('/edit')}/delete")
    await page.get_by_role("button", name="Delete link").click()


async def test_two_people_who_edit_one_link_choose_a_version(
    chromium: Browser, service: Service, website: Website
) -> None:
    first = await owner(chromium, service)
    key = {"Authorization": f"Bearer {service.new_key()}"}
    link = service.client.post("/api/v1/links", headers=key, json={"destination_url": website.url, "tags": ["a"]})
    path = f"/links/{link.json()['data']['id']}/edit"
    for choice, is_scripted in {"Keep the saved version": True, "Save your changes": False}.items():
        second = await owner(chromium, service, java_script_enabled=is_scripted)
        for watch in (first, second):
            await watch.page.goto(path)
        slug = f"{choice.split()[0].lower()}-slug"
        await first.page.get_by_label("Slug", exact=True).fill(slug)
        await first.page.get_by_role("button", name="Save changes").click()
        await first.page.wait_for_url("**/links/*done=changed*")
        await second.page.get_by_label("Slug", exact=True).fill("second-slug")
        await second.page.get_by_role("button", name="Save changes").click()
        await expect(second.page.get_by_role("row", name=f"Slug Changed by both {slug} second-slug")).to_be_visible()
        await expect(second.page.get_by_role("row")).to_have_count(2)
        role = "link" if choice.startswith("Keep") else "button"
        await second.page.get_by_role(role, name=choice).click()
        if role == "link":
            await expect(second.page.get_by_label("Slug", exact=True)).to_have_value(slug)
    await second.page.wait_for_url("**/links/*done=changed*")
    saved = service.client.get(f"/api/v1{path.removesuffix('/edit')}", headers=key).json()["data"]
    assert (saved["slug"], saved["tags"]) == ("second-slug", ["a"])
    service.client.delete(f"/api/v1{path.removesuffix('/edit')}", headers=key)
