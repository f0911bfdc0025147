"""Sessions end by themselves, and what a stolen one must not do asks for the password or a passkey once more (R35)."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from browsing import BASE_URL, Browser, WebApp, open_place
from sqlalchemy import func, select

from waypost import accounts
from waypost.accounts.auth_deps import new_deps
from waypost.accounts.model import api_keys
from waypost.accounts.sessions import store as sessions
from waypost.accounts.sign_in import passkeys
from waypost.accounts.sign_in import service as sign_in

PASSWORD, OTHER = "four plain words suffice", "five other words are fine"
STALE = sign_in.RECENT
KEYS = "/integrations/api"
KEY = {"name": "Robot", "scopes[]": "links:read"}


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path) as place:
        yield place


async def signed_up(place: WebApp, email: str = "ada@example.com") -> Browser:
    ada = await place.browser()
    answer = await ada.post("/signup", {"name": "Ada", "email": email, "password": PASSWORD})
    assert answer.status_code == 303
    ada.account = await accounts.get_account(place.db, email)
    ada.person = await accounts.get_person(place.db, email)
    return ada


async def passkey_of(place: WebApp, person_id: UUID) -> UUID:
    row = {"id": uuid4(), "person_id": person_id, "credential_id": uuid4().bytes, "public_key": b"2", "uses": 0}
    async with place.db.write() as tx:
        await tx.execute(passkeys.passkeys.insert(), row | {"name": "phone", "created_at": place.clock()})
    return row["id"]  # type: ignore[return-value]


async def signed_in_by(place: WebApp, browser: Browser, passkey: UUID | None) -> Browser:
    """The same person elsewhere."""
    assert browser.person
    elsewhere = await place.browser()
    async with place.db.write() as tx:
        token = await sessions.create(tx, browser.person.id, user_agent="", ip="", now=place.clock(), passkey=passkey)
    elsewhere.client.cookies.set("waypost", token, domain="app.test")
    elsewhere.account, elsewhere.person = browser.account, browser.person
    return elsewhere


async def count(place: WebApp, table: object = api_keys) -> int:
    async with place.db.read() as tx:
        return await tx.scalar(select(func.count()).select_from(table)) or 0  # type: ignore[arg-type]


async def test_a_session_ends_when_unused_for_30_days_and_after_90_in_any_case(place: WebApp) -> None:
    idle, busy = await signed_up(place), await signed_up(place, "bob@example.com")
    cookie = (await busy.post("/login", {"email": "bob@example.com", "password": PASSWORD})).headers.get_list(
        "set-cookie"
    )
    assert any("waypost=" in each and f"Max-Age={90 * 24 * 3600}" in each for each in cookie)
    for _ in range(3):
        assert (await busy.get("/account")).status_code == 200
        place.clock.move(timedelta(days=29, hours=23))
    assert (await busy.get("/account")).status_code == 200
    assert (await idle.get("/account")).headers["location"].startswith("/login")
    async with place.db.read() as tx:
        assert (
            len(
                await sessions.list_active(
                    tx, await accounts.get_person(place.db, "bob@example.com"), now=place.clock()
                )
            )
            == 1
        )
    place.clock.move(timedelta(hours=3))
    assert (await busy.get("/account")).headers["location"].startswith("/login")


@pytest.mark.parametrize("what", ["key", "email", "delete", "export"])
async def test_sensitive_changes_require_the_password(place: WebApp, what: str) -> None:
    ada = await signed_up(place)
    assert ada.account
    if what != "email":  # who has a passkey needs it to change the email
        await passkey_of(place, ada.person.id)
    path, fields, done = {
        "key": (KEYS, KEY, 201),
        "email": ("/account/email", {"email": "lovelace@example.com"}, 303),
        "delete": ("/account/delete", {}, 303),
        "export": ("/account/data/export", {}, 200),
    }[what]
    place.clock.move(STALE)
    page = {"key": f"{KEYS}/new", "email": "/account", "export": "/account/data"}.get(what, path)
    assert 'name="current_password"' in (await ada.get(page)).text
    for password, fault in (("", sign_in.NO_PASSWORD), (OTHER, sign_in.WRONG_PASSWORD)):
        refused = await ada.post(path, fields | {"current_password": password})
        assert refused.status_code == 422
        assert fault in refused.text
        assert all(f'value="{value}"' in refused.text for value in fields.values())  # what was typed stays
        assert ("/account/verify?next=" in refused.text) == (what != "email")  # where a passkey does it
    assert await count(place) == 0
    assert (await accounts.get_account(place.db, "ada@example.com")).id == ada.account.id
    assert (await ada.post(path, fields | {"current_password": PASSWORD})).status_code == done


async def test_reauthentication_is_valid_for_ten_minutes_in_one_session(place: WebApp) -> None:
    ada = await signed_up(place)
    elsewhere = await signed_in_by(place, ada, None)
    place.clock.move(STALE)
    page = await ada.get(f"/account/verify?next={KEYS}/new")
    assert f'name="next" value="{KEYS}/new"' in page.text
    wrong = await ada.post("/account/verify", {"current_password": OTHER, "next": f"{KEYS}/new"})
    assert (wrong.status_code, sign_in.WRONG_PASSWORD in wrong.text) == (422, True)
    assert f'name="next" value="{KEYS}/new"' in wrong.text
    for way, leads_to in ((f"{KEYS}/new", f"{KEYS}/new"), ("https://evil.example", "/")):
        right = await ada.post("/account/verify", {"current_password": PASSWORD, "next": way})
        assert (right.status_code, right.headers["location"]) == (303, leads_to)
    assert (await ada.get(f"/account/verify?next={KEYS}/new")).headers["location"] == f"{KEYS}/new"
    assert "current_password" not in (await ada.get(f"{KEYS}/new")).text
    assert (await ada.post(KEYS, KEY)).status_code == 201
    assert (await elsewhere.post(KEYS, KEY)).status_code == 422
    place.clock.move(STALE)
    assert (await ada.post(KEYS, KEY)).status_code == 422


async def test_reauthentication_attempts_are_limited(place: WebApp) -> None:
    ada = await signed_up(place)
    place.clock.move(STALE)
    statuses = [(await ada.post("/account/verify", {"current_password": OTHER})).status_code for _ in range(11)]
    assert statuses == [422] * 10 + [429]
    assert (await ada.post(KEYS, KEY | {"current_password": PASSWORD})).status_code == 429


async def test_without_a_password_a_first_one_a_passkey_or_a_new_link_reauthenticates(
    database_url: str, tmp_path: Path
) -> None:
    async with open_place(database_url, tmp_path) as place:
        ada = await place.browser("ada@example.com")
        assert ada.account
        assert (await ada.post(KEYS, KEY)).status_code == 201  # signed in just now
        place.clock.move(STALE)
        refused = await ada.post(KEYS, KEY)
        assert (refused.status_code, sign_in.WRONG_PASSWORD in refused.text) == (422, False)
        assert f"/account/verify?next={KEYS}/new" in refused.text
        page = (await ada.get(f"/account/verify?next={KEYS}/new")).text
        assert 'href="/account/security"' in page
        assert "Confirm with a passkey" not in page
        link = await sign_in.create_sign_in_link(new_deps(place.settings, place.db, place.clock), ada.person.id)
        await ada.post(link.removeprefix(BASE_URL))
        assert (await ada.post(KEYS, KEY)).status_code == 201
        await passkey_of(place, ada.person.id)
        place.clock.move(STALE)
        page = (await ada.get("/account/verify")).text
        assert "Confirm with a passkey" in page
        assert 'name="current_password"' not in page
        forged = await ada.post("/account/verify/passkey", {"credential": "{}"})
        assert (forged.status_code, passkeys.REJECTED in forged.text) == (422, True)
        assert (await ada.post(KEYS, KEY)).status_code == 422
    async with open_place(database_url, tmp_path, smtp_url="smtp://mail.test") as place:
        bob = await place.browser("bob@example.com")
        place.clock.move(STALE)
        await passkey_of(place, bob.person.id)
        page = (await bob.get("/account/verify")).text
        assert 'action="/forgot"' in page
        assert "waypost account sign-in-link bob@example.com" in page


async def test_the_passkey_of_another_account_is_refused(place: WebApp, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, bob = await signed_up(place), await signed_up(place, "bob@example.com")
    assert ada.account
    assert bob.account
    mine, his = await passkey_of(place, ada.person.id), await passkey_of(place, bob.person.id)
    results = {
        "mine": accounts.AuthenticationResult(ada.person, passkey=mine),
        "his": accounts.AuthenticationResult(bob.person, passkey=his),
    }

    async def authenticate(_: object, answer: str) -> accounts.AuthenticationResult:
        return results[answer]

    monkeypatch.setattr(passkeys, "authenticate", authenticate)
    place.clock.move(STALE)
    assert (await ada.post("/account/verify/passkey", {"credential": "his"})).status_code == 422
    assert (await ada.post(KEYS, KEY)).status_code == 422
    assert (await ada.post("/account/verify/passkey", {"credential": "mine"})).status_code == 303
    assert (await ada.post(KEYS, KEY)).status_code == 201


async def test_removing_a_passkey_ends_its_sessions(place: WebApp) -> None:
    ada = await signed_up(place)
    assert ada.account
    lost, kept = [await passkey_of(place, ada.person.id) for _ in range(2)]
    thief, phone = [await signed_in_by(place, ada, each) for each in (lost, kept)]
    assert (await thief.get("/account")).status_code == 200
    removed = await phone.post(f"/account/passkeys/{lost}/remove", {"current_password": ""})
    assert removed.headers["location"] == "/account/security?done=passkey-removed"
    assert [(await each.get("/account")).status_code for each in (ada, phone, thief)] == [200, 200, 303]
    own = await phone.post(f"/account/passkeys/{kept}/remove", {"current_password": ""})
    assert own.headers["location"] == "/login?done=without-passkey"
    assert "The passkey was removed" in (await phone.get(own.headers["location"])).text


@pytest.mark.parametrize("revokes", [True, False])
async def test_a_password_change_revokes_keys_on_request(place: WebApp, revokes: bool) -> None:
    ada, bob = await signed_up(place), await place.browser("bob@example.com")
    assert 'name="revoke_keys"' not in (await ada.get("/account/security")).text
    assert ada.account
    assert bob.account
    bearers = []
    for account in (ada.account, ada.account, bob.account):
        _, text = await accounts.create_key(
            place.db, account_id=account.id, name="<b>Robot", scopes=(), now=place.clock()
        )
        bearers.append({"Authorization": f"Bearer {text}"})
    page = (await ada.get("/account/security")).text
    assert "Revoke all API keys (2)" in page
    assert "&lt;b&gt;Robot" in page
    fields = {"current_password": PASSWORD, "password": OTHER} | ({"revoke_keys": "yes"} if revokes else {})
    wrong = await ada.post("/account/password", fields | {"password": "short"})
    assert ('value="yes" aria-describedby="revoke_keys-hint" checked' in wrong.text) == revokes
    assert (await ada.client.get("/api/v1/me", headers=bearers[0])).status_code == 200
    await ada.post("/account/password", fields)
    statuses = [(await ada.client.get("/api/v1/me", headers=each)).status_code for each in bearers]
    assert statuses == ([401, 401, 200] if revokes else [200, 200, 200])
