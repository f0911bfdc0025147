"""The domains' pages, as a browser gets them."""

import asyncio
import re
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from browsing import Browser, WebApp, open_place
from servers import name_server
from sqlalchemy import Boolean, column, func, select, table, update

from waypost import accounts
from waypost.outbound import dns_records
from waypost.resources.domains import change_links_counts, history
from waypost.resources.domains.model import domains

NAME = "go.brand.test"


@pytest.fixture
async def place(database_url: str, tmp_path: Path):
    async with open_place(database_url, tmp_path, shared_domain="go.test") as place:
        yield place


async def add(browser: Browser, hostname: str = NAME) -> str:
    """Its path."""
    answer = await browser.post("/domains", {"hostname": hostname})
    assert answer.status_code == 303, answer.text
    path, _, done = answer.headers["location"].partition("?")
    assert done == "done=domain-added"
    assert "Domain added." in (await browser.get(answer.headers["location"])).text
    return path


async def set_(place: WebApp, path: str, **values: Any) -> None:
    """What only checks do."""
    async with place.db.write() as tx:
        await tx.execute(update(domains).where(domains.c.id == UUID(path.rpartition("/")[2])).values(values))


async def row(place: WebApp, path: str) -> Any:
    async with place.db.read() as tx:
        found = select(domains).where(domains.c.id == UUID(path.rpartition("/")[2]))
        return (await tx.execute(found)).one_or_none()


async def test_new_links_start_on_the_default_domain(place: WebApp) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    path, other = await add(ada, NAME), await add(ada, "other.brand.test")
    assert "Use for new links" not in (await ada.get(path)).text
    for each in (path, other):
        await set_(place, each, status="verified", is_served=True)
        assert (await ada.post(f"{each}/default", {"is_default": "1"})).status_code == 303
    assert (await bob.post(f"{path}/default", {"is_default": "1"})).status_code == 404
    assert 'value="other.brand.test" selected' in (await ada.get("/links/new")).text
    quick = {"form_id": str(uuid4()), "destination_url": "https://example.com/"}
    refused = await ada.post("/links/new", quick)  # no host of the internet is known in this test
    assert 'value="other.brand.test" selected' in refused.text
    assert [(await row(place, each)).is_default for each in (path, other)] == [False, True]
    await ada.post(f"{other}/default", {"is_default": "0"})
    assert 'brand.test" selected' not in (await ada.get("/links/new")).text


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_the_default_domain_changes_while_links_are_created(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    paths = [await add(ada, f"{name}.brand.test") for name in ("a", "b", "c")]
    waiting = select(func.count()).select_from(table("pg_locks")).where(~column("granted", Boolean))
    for path in paths:
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks, place.db.write() as tx:
            await change_links_counts(tx, [(None, UUID(path.rpartition("/")[2]))])
            changes = [tasks.create_task(ada.post(f"{each}/default", {"is_default": "1"})) for each in paths]
            while await tx.scalar(waiting) < len(changes):
                await asyncio.sleep(0.01)
            assert await accounts.adjust_links_count(tx, ada.account.id, 1)
        assert [change.result().status_code for change in changes] == [303, 303, 303]
        assert sorted([(await row(place, each)).is_default for each in paths]) == [False, False, True]


async def test_adds_a_domain_and_shows_its_records_and_status(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    assert "No domains yet" in (await ada.get("/domains")).text
    path = await add(ada, "GO.Brand.test.")
    token = (await row(place, path)).token
    page = (await ada.get(path)).text
    for text in (NAME, f"_waypost.{NAME}", token, "go.test"):
        assert f'data-copy="{text}"' in page
    assert ("Not checked yet" in page, "hx-trigger" in page) == (True, False)

    assert (await ada.post(f"{path}/verify")).headers["location"] == path
    asked = await ada.post(f"{path}/verify", headers={"HX-Request": "true"})  # again, and by a script
    assert asked.text.lstrip().startswith('<section class="card" id="state"')
    assert 'hx-trigger="every 2s"' in (await ada.get(path)).text
    now = place.clock()
    await set_(place, path, status="failed", error="No record was found", last_checked_at=now)
    seen = (await ada.get(f"{path}/state")).text
    assert ("Not verified" in seen, "No record was found" in seen, "every 30s" in seen) == (True, True, True)
    live = {"status": "verified", "is_served": True, "error": None, "verified_at": now, "unverified_since": None}
    await set_(place, path, **live, tls_status="active", tls_expires_at=now + timedelta(days=60), links_count=1234)
    seen = (await ada.get(f"{path}/state")).text
    assert ("its links work" in seen, ">2 Mar 2030</time>" in seen) == (True, True)
    listed = (await ada.get("/domains")).text
    assert (NAME in listed, "Verified" in listed, "1,234" in listed) == (True, True, True)


async def test_the_list_reloads_while_a_check_is_in_flight(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    path, other = await add(ada), await add(ada, "go.bücher.example")
    assert "hx-trigger" not in (await ada.get("/domains")).text
    await ada.post(f"{path}/verify")
    shown = (await ada.get("/domains")).text
    assert 'hx-get="/domains?page=1" hx-trigger="every 3s"' in shown
    assert (await ada.get("/domains?page=2")).text.count("hx-trigger") == 0
    part = await ada.get("/domains?page=1", headers={"HX-Request": "true", "HX-Target": "found"})
    assert part.text.strip().startswith('<div class="stack" id="found" hx-get')
    assert ("Checking" in part.text, "<form" in part.text) == (True, False)
    await set_(place, path, status="failed")
    part = await ada.get("/domains?page=1", headers={"HX-Request": "true", "HX-Target": "found"})
    assert ("Not verified" in part.text, "hx-trigger" in part.text) == (True, False)

    letters, machine = (
        "<bdi>bücher</bdi>.<bdi>example</bdi>",
        '<span class="muted small wrap">go.xn--bcher-kva.example<',
    )
    one = (await ada.get(other)).text
    assert all(text in page for text in (letters, machine) for page in (part.text, one))
    assert f'{path}">{NAME}</a>' in part.text
    copied = re.findall(r'data-copy="([^"]+)"', one)
    assert "go.xn--bcher-kva.example" in copied
    assert all(text.isascii() for text in copied)


async def test_changes_and_clears_the_target_urls(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    path = await add(ada)
    typed = {"root_url": "https://brand.example", "not_found_url": "http://app.test/x"}
    refused = await ada.post(path, typed)
    assert (refused.status_code, "redirect loop" in refused.text) == (422, True)
    assert all(f'value="{text}"' in refused.text for text in typed.values())
    saved = await ada.post(path, typed | {"not_found_url": "", "hostname": "other.brand.test"})
    assert saved.headers["location"] == f"{path}?done=saved"
    found = await row(place, path)
    assert (found.hostname, found.root_url, found.not_found_url) == (NAME, "https://brand.example", None)
    await ada.post(path, {"root_url": "", "not_found_url": ""})
    assert (await row(place, path)).root_url is None


async def test_a_rejected_hostname_stays_in_its_field(place: WebApp) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com", plan="none")
    await add(ada)
    for typed, errors in (
        ("", "This field is required."),
        (NAME, "already in your account"),
        ("app.test", "belongs to Waypost itself"),
        ("com", "cannot be registered"),
        ('"><img src=x onerror=alert(1)>', ""),
    ):
        refused = await ada.post("/domains", {"hostname": typed})
        assert (refused.status_code, errors in refused.text, "<img src=x" in refused.text) == (422, True, False), typed
        assert 'aria-describedby="hostname-hint hostname-error"' in refused.text
        assert f'value="{typed}"' in unescape(refused.text)
    unpaid = await bob.post("/domains", {"hostname": "bob.brand.test"})
    assert (unpaid.status_code, "no active plan" in unpaid.text, "bob.brand.test" in unpaid.text) == (402, True, True)


async def test_shows_the_consequences_before_deleting(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    path = await add(ada)
    await set_(place, path, links_count=2)
    for page in (await ada.get(path), await ada.get(f"{path}/delete")):
        assert "Its 2 links move to the shared domain" in " ".join(page.text.split())
        assert f'action="{path}/delete"' in page.text
    gone = await ada.post(f"{path}/delete")
    assert (gone.status_code, await row(place, path)) == (303, None)
    assert (await ada.get(path)).status_code == 404
    assert "Domain deleted." in (await ada.get(gone.headers["location"])).text


async def test_shows_only_the_txt_record_of_a_hostname_verified_by_another_account(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    path = await add(ada)
    await set_(place, path, needs_txt=True)
    page = " ".join((await ada.get(path)).text.split())
    assert "Another account has verified this hostname before. Only this TXT record verifies that it is yours" in page
    assert ("Create the TXT record below" in page, f'data-copy="_waypost.{NAME}"' in page) == (True, True)
    assert f'data-copy="{NAME}"' not in page


async def test_warns_of_dns_that_still_points_here_after_deletion(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        name_server() as names,
        open_place(database_url, tmp_path, shared_domain="go.test", dns_servers=[names.address]) as place,
    ):
        ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")

        async def deleted(hostname: str, *, is_verified: bool = True) -> str:
            """Where a deletion leads."""
            path = await add(ada, hostname)
            if is_verified:
                assert ada.account
                async with place.db.write() as tx:
                    await history.record_verified(tx, ada.account.id, hostname)
                await set_(place, path, is_served=True, status="verified", verified_at=place.clock())
                for page in (await ada.get(path), await ada.get(f"{path}/delete")):
                    assert "has to verify it with a TXT record" in page.text
            return (await ada.post(f"{path}/delete")).headers["location"]

        async def warns(browser: Browser, path: str) -> bool:
            page = (await browser.get(path)).text
            assert "Domain deleted." in page
            return "still points to Waypost. Remove the DNS record" in " ".join(page.split())

        names.has("go.test", ["192.0.2.1"])
        names.has("alias.brand.test", ["go.test"], kind="CNAME")
        names.has("apex.test", ["192.0.2.1"])
        names.has("away.brand.test", ["192.0.2.2"])
        names.has("never.brand.test", ["go.test"], kind="CNAME")
        alias = await deleted("alias.brand.test")
        assert await warns(ada, alias)
        assert await warns(ada, await deleted("apex.test"))
        assert not await warns(ada, await deleted("away.brand.test"))
        assert not await warns(ada, await deleted("never.brand.test", is_verified=False))

        names.questions.clear()
        assert not await warns(bob, alias), "who never had it"
        assert not await warns(ada, "/domains?deleted=%3Cb%3Enothing&done=domain-deleted")
        assert names.questions == [], "nobody has names looked up that were not theirs"
        await add(bob, "alias.brand.test")
        assert not await warns(ada, alias)
        names.silent = True
        monkeypatch.setattr(dns_records, "POINTS_TO_DEADLINE", 0.1)
        assert (await ada.get("/domains?deleted=apex.test")).status_code == 200


@pytest.mark.parametrize(
    "pasted",
    ["https://go.brand.test", " HTTP://GO.Brand.test/path/?q=https://x#y ", "//go.brand.test/", "go.brand.test/"],
)
async def test_strips_a_pasted_url_to_its_hostname(place: WebApp, pasted: str) -> None:
    ada = await place.browser("ada@example.com")
    assert (await row(place, await add(ada, pasted))).hostname == NAME
    refused = await ada.post("/domains", {"hostname": "https://user@go.brand.test:8080/"})
    assert "without a user name" in refused.text


async def test_names_the_settings_to_set_while_the_service_is_local(database_url: str, tmp_path: Path) -> None:
    async with open_place(database_url, tmp_path, shared_domain="localhost:8000") as place:
        ada = await place.browser("ada@example.com")
        for path in (await add(ada), await add(ada, "brand.test")):
            page = (await ada.get(path)).text
            settings = re.findall(r"<code>(WAYPOST_\w+)", page)
            assert settings == ["WAYPOST_BASE_URL", "WAYPOST_SHARED_DOMAIN", "WAYPOST_CNAME_TARGET"]
            assert ("localhost" in page, "<code>CNAME" in page, f"{path}/addresses" in page) == (False, False, False)


async def test_shows_an_apex_domain_the_addresses_to_set(database_url: str, tmp_path: Path) -> None:
    async with (
        name_server() as names,
        open_place(database_url, tmp_path, shared_domain="go.test", dns_servers=[names.address]) as place,
    ):
        ada = await place.browser("ada@example.com")
        path = await add(ada, "brand.co.uk")
        page = (await ada.get(path)).text
        assert ("<code>TXT" in page, "<code>CNAME" in page) == (True, False)
        assert ('data-copy="_waypost.brand.co.uk"' in page, f'hx-get="{path}/addresses"' in page) == (True, True)
        assert names.questions == [], "the page waits for no name server"

        unknown = (await ada.get(f"{path}/addresses")).text
        assert "could not be found" in unknown
        names.has("go.test", ["192.0.2.1"])
        names.has("go.test", ["2001:db8::1"], kind="AAAA")
        assert (await ada.get(f"{path}/addresses")).text == unknown, "not asked again at once"
        place.clock.move(timedelta(minutes=1))
        records = (await ada.get(f"{path}/addresses")).text
        shown = re.findall(r"<code[^>]*>([^<]+)", records)
        assert shown == ["A", "brand.co.uk", "192.0.2.1", "AAAA", "brand.co.uk", "2001:db8::1"]
        names.questions.clear()
        assert (await ada.get(f"{path}/addresses")).text == records
        assert names.questions == []
        below = (await ada.get(await add(ada, "go.brand.co.uk"))).text
        assert ("<code>CNAME" in below, "/addresses" in below) == (True, False)


async def test_shows_the_address_if_the_service_has_no_name(database_url: str, tmp_path: Path) -> None:
    async with open_place(database_url, tmp_path, shared_domain="192.0.2.7") as place:
        ada = await place.browser("ada@example.com")
        path = await add(ada)
        assert "<code>CNAME" not in (await ada.get(path)).text
        assert 'data-copy="192.0.2.7"' in (await ada.get(f"{path}/addresses")).text


async def test_others_cannot_see_it_and_other_sites_cannot_change_it(place: WebApp) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    path = await add(ada)
    for each in (path, f"/domains/{uuid4()}", "/domains/1"):
        answers = [await bob.get(f"{each}{rest}") for rest in ("", "/state", "/addresses", "/delete")]
        answers += [await bob.post(f"{each}{rest}") for rest in ("", "/verify", "/delete")]
        assert [answer.status_code for answer in answers] == [404] * 7
    assert NAME not in (await bob.get("/domains")).text
    for each in ("/domains", path, f"{path}/verify", f"{path}/delete"):
        answer = await ada.client.post(each, data={"hostname": "x.brand.test"}, headers={"Sec-Fetch-Site": "same-site"})
        assert answer.status_code == 403
    assert (await row(place, path)).status == "pending"


async def test_options_are_saved_and_shown(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    path = await add(ada)
    box = re.compile(r'<input type="checkbox" name="ignore_case"[^>]*>')
    assert " checked" in box.findall((await ada.get(path)).text)[0]
    for fields, is_checked in (({}, False), ({"ignore_case": "1"}, True)):
        answer = await ada.post(f"{path}/options", fields)
        assert answer.headers["location"] == f"{path}?done=saved"
        assert (" checked" in box.findall((await ada.get(path)).text)[0]) == is_checked
    named = {"options[forward_query]": "names", "options[names]": "utm_*, gclid", "options[forward_path]": "yes"}
    assert (await ada.post(f"{path}/options", named)).status_code == 303
    page = (await ada.get(path)).text
    for text in ('value="names" selected', 'value="utm_*, gclid"', 'value="yes" selected'):
        assert text in page, text
    shown = (await (await place.member("vic@example.com", ada.account, "viewer")).get(path)).text
    assert ("utm_*, gclid" in shown, "Added to the destination" in shown, "Save options" in shown) == (
        True,
        True,
        False,
    )
    wrong = (await ada.post(f"{path}/options", named | {"options[names]": "a*b"})).text
    assert 'value="a*b"' in wrong
    assert "An asterisk may only be at the end" in wrong
    await ada.post(f"{path}/options", {"ignore_case": "1", "options[forward_query]": "none"})
    refused = (await ada.post(path, {"root_url": "nonsense"})).text
    assert " checked" in box.findall(refused)[0], "whatever another form sends"
