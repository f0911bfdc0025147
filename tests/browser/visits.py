"""Every page of the dashboard, in the states that somebody can bring it into."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from playwright.async_api import Page, expect

from browser.furnished import HOSTS, SeededService


@dataclass(frozen=True)
class Visit:
    path: str
    click: str = ""
    """A control that opens something."""
    shows: str = ""
    """What it opens."""
    form: str = ""
    """One to be sent as it is, but for `fields`: past what the browser would check."""
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.path} {self.click}{self.form}".strip()

    async def make(self, page: Page) -> None:
        answer = await page.goto(self.path)
        assert answer
        assert answer.status < 500, self.name
        if self.form:
            for selector, value in self.fields.items():
                await page.eval_on_selector(selector, "(field, value) => { field.value = value }", value)
            async with page.expect_navigation():
                await page.eval_on_selector(self.form, "form => HTMLFormElement.prototype.submit.call(form)")
            await expect(page.locator(".error:visible, .notice.bad, #conflict-title").first).to_be_visible()
        for each in filter(None, self.click.split(" then ")):
            await page.click(each)
            await expect(page.locator(".htmx-request")).to_have_count(0)  # it may replace what is clicked next
        if self.shows:
            await expect(page.locator(self.shows)).to_be_visible()
        if not self.click:
            await page.evaluate("for (const each of document.querySelectorAll('details:not(.drop)')) each.open = true")


def of_nobody(seeded: SeededService) -> Iterator[Visit]:
    yield from (Visit("/login"), Visit("/login?done=deleted"), Visit("/signup"), Visit("/forgot"))
    yield from (Visit("/help/"), Visit("/help/guides/domains/"), Visit(seeded.shared))
    yield Visit(f"{seeded.shared}?country=ZZ&period=custom&from=x")
    for purpose, token in seeded.tokens.items():
        yield Visit(f"/{purpose}/{token}")
    yield Visit("/login", form="form[action='/login']", fields={"#email": "ada@example.com", "#password": "wrong"})
    yield Visit("/signup", form="form", fields={"#email": "nobody", "#password": "short"})
    yield Visit(f"/reset/{seeded.tokens['reset']}", form="form", fields={"#password": "short"})
    yield Visit(f"/confirm/{seeded.tokens['confirm']}", form="form", fields={"#password": "wrong"})
    yield Visit("/confirm/spent")


def of_who_has_nothing() -> Iterator[Visit]:
    """Where they find how to begin."""
    names = [
        "",
        "stats",
        "links",
        "links/new",
        "tags",
        "tags/new",
        "domains",
        "shares",
        "pixels",
        "webhooks",
        "integrations",
    ]
    names.append("integrations/api")
    yield from (Visit(f"/{name}") for name in names)


def of_everybody() -> Iterator[Visit]:
    yield from of_who_has_nothing()
    names = ["shares/new", "pixels/new", "webhooks/new", "integrations/api/new", "plan", "links/nothing/here"]
    names += [
        "account",
        "account/security",
        "account/sessions",
        "account/audit",
        "account/settings",
        "account/members",
        "account/members/invite",
        "account/accounts",
        "account/delete-person",
        "account/data",
        "account/delete",
        "account/verify",
        "stats/reports",
        "stats/views",
        "stats/views/new",
    ]
    yield from (Visit(f"/{name}") for name in names)


def of_owner(seeded: SeededService) -> Iterator[Visit]:
    yield from of_everybody()
    yield from _of_links(seeded)
    yield from _of_resources(seeded)
    yield from _of_imports(seeded)
    yield Visit(f"/stats/views/new?link_id={seeded.links[1]}&query=period%3D7d", form="form[action='/stats/views/new']")
    yield Visit(f"/stats/reports?link_id={seeded.links[1]}")
    yield Visit("/stats/reports", form="form[action='/stats/reports']", fields={"#period": "x"})
    key, passkey = f"/integrations/api/{seeded.key}", f"/account/passkeys/{seeded.passkey}"
    yield from (Visit(key), Visit(f"{key}/revoke"), Visit(f"{passkey}/remove"))
    yield Visit("/tags", click="[data-jump]", shows="dialog.jump[open] #jump-0")
    yield from (Visit("/design"), Visit("/design", click="[data-dialog]", shows="dialog[open]"))
    yield Visit("/integrations/api", click="[data-dialog]", shows="dialog[open]")
    yield Visit("/integrations/api/new", form="#new-key")
    yield Visit("/account/verify?next=/links", form="main form", fields={"#current_password": "wrong"})
    yield Visit("/account", form="form[action='/account/name']", fields={"#name": " "})
    yield Visit("/account", form="form[action='/account/preferences']", fields={"#timezone": "x"})
    yield Visit("/account", form="form[action='/account/email']", fields={"#email": "nobody"})
    yield Visit("/account/security", form="form[action='/account/password']", fields={"#password": "short"})
    yield from (Visit("/account/audit?text=nothing+like+it"), Visit("/account/audit?since=never"))
    yield from (Visit(f"/account/members/{seeded.member}"), Visit("/account/members?search=nothing+like+it"))
    yield Visit(f"/account/members/invitations/{seeded.invitation}")
    yield Visit(f"/invite/account/{seeded.tokens['invite/account']}")
    yield Visit("/account/members/invite", form="form[action='/account/members/invite']", fields={"#email": "nobody"})
    yield Visit("/account/settings", form="form[action='/account/settings/name']", fields={"#name": " "})
    yield from (Visit("/account/data?done=others"), Visit("/account?done=name"))


def of_viewer(seeded: SeededService) -> Iterator[Visit]:
    """What members see otherwise who cannot change it."""
    link, domain = f"/links/{seeded.links[2]}", f"/domains/{seeded.domains[1]}"
    for path in ("/links", link, f"{link}/edit", f"{link}/qrcode", f"{link}/addresses", f"{link}/routing"):
        yield Visit(path)
    for path in (
        domain,
        f"{domain}/app-links",
        f"{domain}/appearance",
        f"/pixels/{seeded.pixels[1]}",
        "/webhooks",
        "/integrations/api",
    ):
        yield Visit(path)
    yield from (Visit("/links/new"), Visit("/plan"), Visit("/account/members"), Visit("/account/settings"))
    yield from (Visit(f"/account/members/{seeded.member}"), Visit("/account/accounts"))


def _of_links(seeded: SeededService) -> Iterator[Visit]:
    first, long, tagged, *_ = (f"/links/{each}" for each in seeded.links)
    yield from (Visit("/links?page=2"), Visit("/links?search=nothing+like+it"), Visit(f"/links?search={'a' * 300}"))
    yield from (Visit("/links?done=disabled"), Visit(f"/links/new?from={seeded.links[2]}"))
    yield from (Visit(first), Visit(long), Visit(f"{first}?done=created"), Visit(f"{first}?period=custom&from=x"))
    yield from (Visit(f"/links/{seeded.links[-1]}"), Visit(f"/links/{seeded.links[5]}"))
    yield from (Visit(f"{first}/qrcode"), Visit(f"{long}/qrcode?foreground=red&size=9"), Visit(f"{first}/delete"))
    yield from (Visit(f"{tagged}/edit"), Visit(f"{long}/edit"))
    add = "[value='add:rules'] then [value='add:variants']"
    yield Visit(f"{first}/routing", click=add, shows="#variants-0-name")
    yield Visit(f"{first}/routing", click=f"{add} then #save", shows="#rules-0-conditions-0-new-error")
    many = "/links/bulk?all=1"
    yield from (Visit("/qrcodes"), Visit("/qrcodes?all=1"))
    yield Visit("/qrcodes?all=1", form="#sheet", fields={"#labels": "own", "#grid-columns": "100", "#start": "0"})
    yield from (Visit("/links/bulk"), Visit(many), Visit(f"{many}&action=delete"), Visit(f"{many}&action=set"))
    yield from (Visit(f"{many}&action=set&set[add_tags]=a&expiry=never"), Visit(f"{many}&action=replace&find=e"))
    yield Visit("/links", click="summary[title='More actions'] >> nth=0", shows="details.drop[open] .card")
    yield Visit(
        "/links",
        click="summary[title='More actions'] >> nth=0 then details.drop[open] a.danger",
        shows="dialog#confirm[open] button",
    )
    wrong = {"#destination_url": "javascript:x", "#slug": "a b", "#new_tags": "t" * 300, "#og_image": "x"}
    wrong |= {"#title": "W" * 300, "#expires_at": "2020-01-01T00:00", "#password": "abc", "#fallback_url": "x"}
    yield Visit("/links/new", form="#link", fields=wrong)
    yield Visit(f"{first}/edit", form="#link", fields={"#slug": "", "#destination_url": ""})


def _of_resources(seeded: SeededService) -> Iterator[Visit]:
    domains = [f"/domains/{each}" for each in seeded.domains]
    pixels, shares = ([f"/{name}/{each}" for each in getattr(seeded, name)] for name in ("pixels", "shares"))
    webhook = f"/webhooks/{seeded.webhook}"
    assert len(domains) == len(HOSTS)
    yield from (Visit(each) for each in (*domains, *pixels, *shares, webhook, f"{webhook}?status=failed"))
    yield from (Visit(f"{webhook}/deliveries/{each}") for each in seeded.deliveries)
    for each in (domains[0], pixels[1], shares[1], webhook):
        yield Visit(each, click="[data-dialog]", shows="dialog[open]")
        yield Visit(f"{each}/delete")
    yield Visit("/domains", form="#new-domain", fields={"#hostname": "co.uk"})
    yield Visit(domains[0], form="#pages", fields={"#root_url": "x", "#not_found_url": "javascript:x"})
    app_links = {"#apple_app_site_association": '{"applinks": {"details": [{}]}}', "#assetlinks": "[\n5"}
    yield Visit(f"{domains[1]}/app-links", form="#app-links", fields=app_links)
    wrong_color = {"#name": "N" * 60, "#color": "red", "#expired_text": "t" * 300}
    yield Visit(f"{domains[1]}/appearance", form="#appearance", fields=wrong_color)
    old = {"#name": "Acme", "#expired_text": "Over.\nCome back.", "#appearance [name=version]": "0"}
    yield Visit(f"{domains[1]}/appearance", form="#appearance", fields=old)
    wrong = {
        "#name": " ",
        "#tag": "t" * 300,
        "#from": "2030-01-02T00:00",
        "#to": "2030-01-01T00:00",
        "#hide_below": "x",
    }
    wrong |= {"#password": "abc", "#expires_at": "2020-01-01T00:00", "#embed_origins": "x"}
    yield Visit(f"/shares/new?period=custom&from=2026-01-01&to=2026-01-31&country=DE&link_id={seeded.links[0]}")
    yield Visit("/shares/new", form="#new-share", fields=wrong)
    yield from (Visit(f"/tags/{seeded.tags[0]}{each}") for each in ("", "/delete"))
    yield Visit("/tags/new", form="#tag", fields={"#name": " "})
    yield Visit("/links/utm-templates")
    yield Visit("/links/utm-templates/new", form="#utm-template", fields={"#name": " "})
    yield Visit(f"{domains[0]}/missed")
    yield Visit("/links/addresses/new", form="#new-address", fields={"#link": "nothing"})
    yield Visit("/pixels/new", form="#new-pixel")
    yield Visit(pixels[0], form="#pixel", fields={"#name": " ", "#pixel_id": "x"})
    yield Visit("/webhooks/new", form="#new-webhook", fields={"#url": "http://127.0.0.1/"})


def _of_imports(seeded: SeededService) -> Iterator[Visit]:
    yield Visit("/links", click="summary:has-text('Columns')", shows="details.columns-of[open] .card")
    yield from (Visit("/links/import"), *(Visit(f"/links/imports/{each}") for each in seeded.imports))
    yield Visit("/links/import/yourls", form="#new-import", fields={"#url": "x"})
