"""An account can require two factors, or passkeys, of the sign-ins of its members."""

from collections.abc import AsyncIterator
from datetime import timedelta
from html import unescape
from pathlib import Path
from uuid import uuid4

import pytest
from accounts.second_factors import (
    ADA,
    NO_FIELDS,
    PASSWORD,
    PATH,
    Phone,
    sealed_of,
    secret_of,
    set_up,
    signed_up,
    subjects,
)
from browsing import Browser, WebApp, open_place
from sqlalchemy import insert, select

from waypost.accounts import service
from waypost.accounts.auth_deps import new_deps
from waypost.accounts.members import store as memberships
from waypost.accounts.model import ProviderSession
from waypost.accounts.person_pages import PROVE_FIRST
from waypost.accounts.second_factor import required as required_factor
from waypost.accounts.second_factor import service as second_factor
from waypost.accounts.sessions import provider_sessions
from waypost.accounts.sessions import store as sessions
from waypost.accounts.sign_in import passkeys
from waypost.accounts.sign_in import service as sign_in

RULES = "/account/sign-in-rules"
BOB = "bob@example.com"


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path) as place:
        yield place


async def with_passkey(place: WebApp, browser: Browser) -> Browser:
    """The same person elsewhere, signed in with a passkey."""
    assert browser.person
    row = {"id": uuid4(), "person_id": browser.person.id, "credential_id": uuid4().bytes, "public_key": b"2"}
    elsewhere = await place.browser()
    async with place.db.write() as tx:
        await tx.execute(insert(passkeys.passkeys), row | {"uses": 0, "name": "phone", "created_at": place.clock()})
        token = await sessions.create(
            tx,
            browser.person.id,
            user_agent="",
            ip="",
            now=place.clock(),
            passkey=row["id"],  # type: ignore[arg-type]
        )
    elsewhere.client.cookies.set("waypost", token, domain="app.test")
    elsewhere.account, elsewhere.person = browser.account, browser.person
    return elsewhere


async def joined(place: WebApp, owner: Browser, role: str = "editor") -> Browser:
    """Bob, who has an account of his own, and looks at the owner's."""
    bob = await place.browser(BOB)
    assert owner.account
    assert bob.person
    async with place.db.write() as tx:
        await memberships.add(tx, owner.account.id, bob.person.id, role, place.clock())  # type: ignore[arg-type]
    await switch(bob, owner)
    return bob


async def switch(bob: Browser, to: Browser) -> None:
    assert to.account
    assert (await bob.post(f"/account/accounts/{to.account.id}")).status_code == 303


async def require(browser: Browser, factor: str) -> int:
    return (await browser.post(RULES, {"required_factor": factor})).status_code


async def location(browser: Browser, path: str = "/links") -> str:
    answer = await browser.get(path)
    return answer.headers.get("location", "") if answer.status_code == 303 else str(answer.status_code)


async def test_a_requirement_holds_in_running_sessions_and_ends_when_it_is_lifted(place: WebApp) -> None:
    ada = await signed_up(place)
    await set_up(place, ada)
    bob = await joined(place, ada)
    assert await location(bob) == "200"
    assert await require(ada, "second_factor") == 303
    for path in ("/links", "/", "/links/new", "/account/data"):
        assert (path, await location(bob, path)) == (path, "/account/required")
    assert (await bob.post("/links/new", {"destination_url": "https://example.com/"})).headers[
        "location"
    ] == "/account/required"
    fragment = await bob.get("/links", headers={"HX-Request": "true", "HX-Target": "links"})
    assert (fragment.status_code, fragment.headers["hx-redirect"]) == (204, "/account/required")
    page = (await bob.get("/account/required")).text
    assert "ada" in page.lower()
    assert PATH in page
    assert 'href="/plan"' not in page.replace("/account/plan", "")

    assert await require(ada, "none") == 303
    assert (await location(bob), await location(bob, "/account/required")) == ("200", "/")


async def test_other_accounts_of_a_member_open_as_before(place: WebApp) -> None:
    ada = await signed_up(place)
    await set_up(place, ada)
    bob = await joined(place, ada)
    await require(ada, "second_factor")
    assert await location(bob) == "/account/required"
    for path in ("/account", "/account/security", "/account/sessions", "/account/accounts", PATH):
        assert (path, await location(bob, path)) == (path, "200")
    await switch(bob, bob)
    assert (await location(bob), await location(bob, "/account/required")) == ("200", "/")
    await switch(bob, ada)
    assert await location(bob) == "/account/required"


async def test_setting_up_and_removing_a_second_factor_opens_and_closes_the_account(place: WebApp) -> None:
    ada = await signed_up(place)
    await set_up(place, ada)
    bob = await joined(place, ada)
    await require(ada, "second_factor")
    await set_up(place, bob)
    assert await location(bob) == "200"
    assert (await bob.post(f"{PATH}/remove", NO_FIELDS)).status_code == 303
    assert await location(bob) == "/account/required"


@pytest.mark.parametrize("factor", ["second_factor", "passkey"])
async def test_a_passkey_or_a_provider_meets_each_requirement(place: WebApp, factor: str) -> None:
    ada = await signed_up(place)
    bob = await joined(place, ada)
    assert await require(await with_passkey(place, ada), factor) == 303
    assert (await location(ada), await location(bob)) == ("/account/required", "/account/required")
    elsewhere = await with_passkey(place, bob)
    await switch(elsewhere, ada)
    assert (await location(elsewhere), await location(bob)) == ("200", "/account/required")
    assert 'data-passkey="use"' in (await bob.get("/account/required")).text

    async with place.db.write() as tx:
        assert bob.person
        own = list(await sessions.list_active(tx, bob.person, now=place.clock()))
        for session in own:
            await provider_sessions.connect(tx, session.id, ProviderSession("https://id.test", "bob", None, ""))
    assert await location(bob) == "200"


async def test_a_password_does_not_prolong_what_a_provider_proved(place: WebApp) -> None:
    ada = await signed_up(place)
    assert await require(await with_passkey(place, ada), "passkey") == 303
    assert ada.person
    async with place.db.write() as tx:
        [session] = [each for each in await sessions.list_active(tx, ada.person, now=place.clock()) if each.user_agent]
        await sessions.connect(tx, session.id, ProviderSession("https://id.test", "ada", None, ""))
    for _ in range(3):
        assert await location(ada) == "200"
        place.clock.move(timedelta(days=28))
        await ada.post("/login", {"email": ADA, "password": PASSWORD})
    assert await location(ada) == "200"
    place.clock.move(timedelta(days=7))
    assert await location(ada) == "/login?next=/links"
    await ada.post("/login", {"email": ADA, "password": PASSWORD})
    assert await location(ada) == "/account/required"


async def test_a_code_does_not_meet_the_requirement_of_passkeys(place: WebApp) -> None:
    ada = await signed_up(place)
    bob = await joined(place, ada)
    assert await require(await with_passkey(place, ada), "passkey") == 303
    await set_up(place, bob)
    assert await location(bob) == "/account/required"


async def test_who_sets_it_must_meet_it_first_and_be_an_owner(place: WebApp) -> None:
    ada = await signed_up(place)
    bob = await joined(place, ada, role="admin")
    for factor, fault in required_factor.NOT_MET.items():
        refused = await ada.post(RULES, {"required_factor": factor})
        assert (refused.status_code, fault in refused.text) == (422, True)
    assert (await ada.post(RULES, {"required_factor": "dance"})).status_code == 422
    await set_up(place, ada)
    assert await require(ada, "passkey") == 422
    assert (await require(bob, "none"), await location(bob, RULES)) == (403, "403")
    place.clock.move(sign_in.RECENT)
    assert await require(ada, "second_factor") == 422
    assert await location(bob) == "200"


async def test_api_keys_are_not_affected(place: WebApp) -> None:
    ada = await signed_up(place)
    bob = await joined(place, ada)
    assert ada.account
    assert bob.person
    _, key = await service.create_key(
        place.db, account_id=ada.account.id, name="k", scopes=(), now=place.clock(), created_by=bob.person.id
    )
    await set_up(place, ada)
    await require(ada, "second_factor")
    answer = await bob.get("/api/v1/links", headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 200


async def test_an_owner_who_lost_everything_gets_back_in(place: WebApp) -> None:
    """With a link of the operator, which does not meet the requirement but lets set up what does."""
    ada, elsewhere = await signed_up(place), await place.browser()
    await set_up(place, ada)
    await require(ada, "second_factor")
    assert (await ada.post(f"{PATH}/remove", NO_FIELDS)).status_code == 303
    assert ada.person
    link = await sign_in.create_sign_in_link(new_deps(place.settings, place.db, place.clock), ada.person.id)
    await elsewhere.post(link.removeprefix("http://app.test"))
    assert await location(elsewhere) == "/account/required"
    place.clock.move(timedelta(seconds=30))
    await set_up(place, elsewhere)
    assert await location(elsewhere) == "200"
    assert (await require(elsewhere, "none"), ADA) == (303, ADA)


async def test_a_password_beside_a_passkey_changes_nothing_about_the_sign_in(place: WebApp) -> None:
    """Otherwise the password alone would open an account that requires passkeys."""
    ada = await signed_up(place)
    phone = await with_passkey(place, ada)
    assert await require(phone, "passkey") == 303
    assert ada.person
    async with place.db.read() as tx:
        passkey = await tx.scalar(select(passkeys.passkeys.c.id))
    removal = f"/account/passkeys/{passkey}/remove"
    attempts = {
        "/account/passkeys/options": NO_FIELDS,
        "/account/passkeys": {"credential": "{}"},
        removal: {},
        PATH: {},
        "/account/email": {"email": "mallory@example.com"},
        "/account/delete-person": {},
    }
    for recent in (True, False):
        for path, fields in attempts.items():
            refused = await ada.post(path, fields | {"current_password": PASSWORD})
            assert (path, refused.status_code, unescape(refused.text).count(PROVE_FIRST) > 0) == (path, 422, True)
        assert await location(ada) == "/account/required"
        assert "/account/verify?next=/account/two-factor" in (await ada.get(PATH)).text
        assert 'name="current_password"' not in (await ada.get(removal)).text
        page = (await ada.get("/account/verify")).text
        assert 'data-passkey="use"' in page
        assert ('name="current_password"' in page) is not recent
        place.clock.move(sign_in.RECENT)
    assert (await phone.post(PATH, {"current_password": PASSWORD})).status_code == 422, "a stale session"
    phone = await with_passkey(place, ada)
    await set_up(place, phone)
    assert (await phone.post("/account/email", {"email": "lovelace@example.com"})).status_code == 303


async def test_a_setup_that_began_before_the_first_passkey_is_refused(place: WebApp) -> None:
    ada = await signed_up(place)
    page = (await ada.post(PATH, NO_FIELDS)).text
    await with_passkey(place, ada)
    code = Phone(secret_of(page), [], place.clock).code()
    refused = await ada.post(f"{PATH}/confirm", {"setup": sealed_of(page), "code": code})
    assert (refused.status_code, unescape(refused.text).count(PROVE_FIRST) > 0) == (422, True)


async def test_the_command_lets_in_who_has_lost_the_passkey(place: WebApp) -> None:
    ada, elsewhere = await signed_up(place), await place.browser()
    phone = await with_passkey(place, ada)
    await require(phone, "passkey")
    assert ada.person
    await second_factor.remove_by_command(new_deps(place.settings, place.db, place.clock), ada.person)
    assert await location(phone) == "/login?next=/links"
    assert "Only your password signs you in now" in await subjects(place)
    await elsewhere.post("/login", {"email": ADA, "password": PASSWORD})
    assert await location(elsewhere) == "/account/required"
    assert (await elsewhere.post("/account/passkeys/options", NO_FIELDS)).status_code == 200
