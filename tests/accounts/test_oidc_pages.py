"""Single sign-on in the dashboard, with a provider that answers what a test wants."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import structlog
from browsing import SAME_ORIGIN, Browser, WebApp, open_place
from identity_provider import CLIENT_ID, CLIENT_SECRET, Answer, IdentityProvider, identity_provider
from people import FakeClock
from sqlalchemy import select, update

from waypost.accounts import create_account, get_person
from waypost.accounts.auth_deps import new_deps
from waypost.accounts.model import memberships
from waypost.accounts.oidc import provider as provider_module
from waypost.accounts.oidc import service
from waypost.accounts.people import store as people
from waypost.accounts.people import tokens
from waypost.accounts.person_pages import PROVE_FIRST
from waypost.accounts.sign_in import passkeys
from waypost.accounts.sign_in import service as sign_in
from waypost.audit.model import audit_entries

PASSWORD = "four plain words suffice"
START, FINISH, CONNECT = "/login/oidc", "/login/oidc/callback", "/account/single-sign-on"
DISCONNECT = f"{CONNECT}/disconnect"
DISCOVERY = "/.well-known/openid-configuration"


@dataclass
class Office:
    """A service with single sign-on, and its provider."""

    place: WebApp
    provider: IdentityProvider
    http: httpx.AsyncClient = field(default_factory=lambda: httpx.AsyncClient(trust_env=False, timeout=60))

    async def callback(self, browser: Browser, start: str = START) -> str:
        """Go to the provider. Return the address that it sends the browser back to."""
        answer = await browser.get(start)
        assert answer.status_code == 303, answer.text
        back = urlsplit((await self.http.get(answer.headers["location"])).headers["location"])
        return f"{back.path}?{back.query}"

    async def sign_in(self, browser: Browser | None = None, start: str = START) -> tuple[Browser, httpx.Response]:
        browser = browser or await self.place.browser()
        return browser, await browser.get(await self.callback(browser, start))

    async def sign_in_link(self, email: str) -> str:
        auth = new_deps(self.place.settings, self.place.db, self.place.clock)
        person = await get_person(self.place.db, email)
        return urlsplit(await sign_in.create_sign_in_link(auth, person.id)).path


def settings_of(provider: IdentityProvider) -> dict[str, Any]:
    return {
        "oidc_issuer": provider.issuer,
        "oidc_client_id": CLIENT_ID,
        "oidc_client_secret": CLIENT_SECRET,
        "oidc_roles": ["marketing=editor", "it=admin"],
        "oidc_account": "owner@example.com",
    }


async def open_office(database_url: str, tmp_path: Path, **settings: Any) -> AsyncIterator[Office]:
    clock = FakeClock()
    async with (
        identity_provider(clock) as provider,
        open_place(database_url, tmp_path, **settings_of(provider), **settings) as place,
    ):
        provider.clock = place.clock
        provider.signs_in("ann-1", "ann@example.com", name="Ann", groups=["marketing"], sid="session-1")
        await create_account(
            place.db, email="owner@example.com", name="Us", plan="lifetime", now=place.clock(), trial_days=1
        )
        office = Office(place, provider)
        async with office.http:
            yield office


@pytest.fixture
async def office(database_url: str, tmp_path: Path) -> AsyncIterator[Office]:
    async for office in open_office(database_url, tmp_path):
        yield office


@pytest.fixture
async def strict(database_url: str, tmp_path: Path) -> AsyncIterator[Office]:
    """Only single sign-on."""
    async for office in open_office(database_url, tmp_path, password_sign_in=False):
        yield office


async def test_a_new_person_signs_in(office: Office) -> None:
    browser, answer = await office.sign_in(start=f"{START}?next=/links")
    assert (answer.status_code, answer.headers["location"]) == (303, "/links")
    assert (await browser.get("/links")).status_code == 200
    page = (await browser.get("/account/security")).text
    assert "Connected as" in page
    assert "ann@example.com" in page
    assert (await browser.get("/pixels/new")).status_code == 403  # an editor
    async with office.place.db.read() as tx:
        entries = {(entry.action, *(entry.details or {}).values()) for entry in await tx.execute(select(audit_entries))}
    assert entries == {("member.added",), ("person.signed_in", "single sign-on")}


async def test_keeps_the_time_zone_of_the_first_sign_in(office: Office) -> None:
    for zone in ("Asia%2FCalcutta", "Asia%2FTokyo"):
        browser, _ = await office.sign_in(start=f"{START}?next=/links&timezone={zone}")
        page = (await browser.get("/account")).text
        assert ("data-timezone" in page, 'value="Asia/Kolkata" selected' in page) == (False, True), zone
    office.provider.signs_in("bob-1", "bob@example.com", name="Bob", groups=["marketing"])
    browser, answer = await office.sign_in(start=f"{START}?next=/links&timezone={'x' * 65}")
    assert answer.headers["location"] == "/links"
    assert "data-timezone" in (await browser.get("/account")).text


async def test_the_sign_in_page_offers_it(office: Office) -> None:
    page = (await (await office.place.browser()).get("/login?next=/links%3Fa%3Db")).text
    assert 'href="/login/oidc?next=/links%3Fa%3Db"' in page
    assert 'name="password"' in page


@pytest.mark.parametrize(
    "path", ["//evil.test", "https://evil.test/", "/\\evil.test", "/abc", "/login", "/links/../abc", "/%2e%2e/abc"]
)
async def test_leads_to_own_pages_alone(office: Office, path: str) -> None:
    browser = await office.place.browser()
    answer = await browser.get(START, params={"next": path})
    back = urlsplit((await office.http.get(answer.headers["location"])).headers["location"])
    assert (await browser.get(f"{back.path}?{back.query}")).headers["location"] == "/"


async def test_a_callback_counts_once(office: Office) -> None:
    office.provider.codes_stay = True
    browser = await office.place.browser()
    path = await office.callback(browser)
    cookies = dict(browser.client.cookies)
    await browser.get(path)
    elsewhere = await office.place.browser()
    elsewhere.client.cookies.update({name: value for name, value in cookies.items() if name != "waypost"})
    answer = await elsewhere.get(path)
    assert (answer.status_code, "already used" in answer.text) == (403, True)
    assert (await elsewhere.get("/links")).status_code == 303


async def test_a_callback_needs_the_browser_that_started(office: Office) -> None:
    victim, attacker = await office.place.browser(), await office.place.browser()
    answer = await victim.get(await office.callback(attacker))
    assert answer.status_code == 403
    assert (await victim.get("/links")).status_code == 303


async def test_says_that_the_provider_is_down(office: Office) -> None:
    office.provider.answers[DISCOVERY] = Answer(503)
    browser = await office.place.browser()
    answer = await browser.get(START)
    assert answer.status_code == 503
    assert "Single sign-on is not available" in answer.text
    assert office.provider.issuer not in answer.text
    assert (await browser.get("/login")).status_code == 200


async def test_nobody_else_waits_for_a_slow_provider(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_module, "DEADLINE", 1.0)
    office.provider.answers[DISCOVERY] = None
    browsers = [await office.place.browser() for _ in range(3)]
    waiting = [asyncio.create_task(browser.get(START)) for browser in browsers]
    while not office.provider.asked:
        await asyncio.sleep(0)
    fields = {"name": "Bob", "email": "bob@example.com", "password": PASSWORD}
    assert (await (await office.place.browser()).post("/signup", fields)).status_code == 303
    assert not any(task.done() for task in waiting)
    assert [(await task).status_code for task in waiting] == [503] * 3


async def test_shows_no_text_of_the_provider(office: Office) -> None:
    browser = await office.place.browser()
    path = await office.callback(browser)
    state = re.sub(r".*state=", "", path)
    answer = await browser.get(f"{FINISH}?state={state}&error=access_denied&error_description=<b>telephone+0900</b>")
    assert answer.status_code == 403
    assert "did not sign you in" in answer.text
    assert "telephone" not in answer.text


async def test_refuses_whoever_has_no_group(office: Office) -> None:
    office.provider.signs_in("ann-1", "ann@example.com", groups=["others"])
    _, answer = await office.sign_in()
    assert (answer.status_code, "None of your groups" in answer.text) == (403, True)


async def test_a_lost_group_ends_the_sessions(office: Office) -> None:
    browser, _ = await office.sign_in()
    office.provider.user["groups"] = []
    await office.sign_in()
    assert (await browser.get("/links")).headers["location"] == "/login?next=/links"


async def test_limits_attempts(office: Office) -> None:
    browser = await office.place.browser()
    answers = [(await browser.get(FINISH)).status_code for _ in range(61)]
    assert (answers[0], answers[-1]) == (403, 429)
    assert (await browser.get(START)).status_code == 429


# ── people who were here before ───────────────────────────────────────────────────────────────────────────────────────


async def test_connects_after_signing_in_as_before(office: Office) -> None:
    ann = await office.place.browser()
    await ann.post("/signup", {"name": "Ann", "email": "ann@example.com", "password": PASSWORD})
    elsewhere, answer = await office.sign_in()
    assert answer.status_code == 200
    assert "already has an account" in answer.text
    assert (await elsewhere.get("/links")).status_code == 303  # not signed in
    answer = await elsewhere.post("/login", {"email": "ann@example.com", "password": PASSWORD})
    assert answer.headers["location"] == CONNECT
    assert "ann@example.com" in (await elsewhere.get(CONNECT)).text
    answer = await elsewhere.post(CONNECT, {"connect": "yes"})
    assert answer.headers["location"] == "/account/security?done=connected"
    assert (await elsewhere.get(CONNECT)).headers["location"] == "/account/security"
    _, answer = await office.sign_in()
    assert answer.status_code == 303


async def test_connecting_needs_a_recent_authentication_and_the_own_page(office: Office) -> None:
    ann = await office.place.browser("ann@example.com")
    _, answer = await office.sign_in(ann, f"{START}?for=connect")
    assert answer.headers["location"] == CONNECT
    cross_site = {"Sec-Fetch-Site": "cross-site"}
    assert (await ann.client.post(CONNECT, headers=cross_site, data={})).status_code == 403
    office.place.clock.move(timedelta(minutes=11))
    answer = await ann.post(CONNECT, {"connect": "yes"})
    assert answer.status_code == 422
    assert "/account/verify" in answer.text
    _, answer = await office.sign_in()
    assert answer.status_code == 200  # still not connected


async def test_an_identity_of_somebody_else_cannot_be_connected(office: Office) -> None:
    await office.sign_in()
    bob = await office.place.browser("bob@example.com")
    await office.sign_in(bob, f"{START}?for=connect")
    answer = await bob.post(CONNECT, {"connect": "yes"})
    assert (answer.status_code, "belongs to another person" in answer.text) == (422, True)


async def test_connecting_needs_a_session(office: Office) -> None:
    browser = await office.place.browser()
    for path in (f"{START}?for=connect", f"{START}?for=verify", CONNECT):
        assert (await browser.get(path)).headers["location"].startswith("/login")


# ── reauthentication ──────────────────────────────────────────────────────────────────────────────────────────────────


async def test_single_sign_on_reauthenticates(office: Office) -> None:
    browser, _ = await office.sign_in()
    office.place.clock.move(timedelta(minutes=11))
    page = (await browser.get("/account/verify?next=/account")).text
    assert "/login/oidc?for=verify&amp;next=/account" in page
    _, answer = await office.sign_in(browser, f"{START}?for=verify&next=/account")
    assert answer.headers["location"] == "/account"
    assert (await browser.get("/account/verify?next=/account")).status_code == 303  # recent


async def test_another_site_starts_no_reauthentication(office: Office) -> None:
    browser, _ = await office.sign_in()
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 303)):
        answer = await browser.get(f"{START}?for=verify", headers={"Sec-Fetch-Site": site})
        assert answer.status_code == status
    assert (
        await (await office.place.browser()).get(START, headers={"Sec-Fetch-Site": "cross-site"})
    ).status_code == 303


async def test_a_reauthentication_may_begin_another_session_at_the_provider(office: Office) -> None:
    browser, _ = await office.sign_in()
    office.provider.user["sid"] = "session-2"
    await office.sign_in(browser, f"{START}?for=verify")
    for session, status in (("session-1", 200), ("session-2", 303)):
        token = office.provider.logout_token(sub="ann-1", sid=session)
        await browser.client.post("/login/oidc/logout", data={"logout_token": token})
        assert (await browser.get("/links")).status_code == status


async def test_a_reauthentication_applies_the_groups_of_now(office: Office) -> None:
    ann, _ = await office.sign_in()
    office.provider.user["groups"] = ["it"]
    await office.sign_in(ann, f"{START}?for=verify")
    assert (await ann.get("/pixels/new")).status_code == 200  # an admin
    office.provider.user["groups"] = []
    _, refused = await office.sign_in(ann, f"{START}?for=verify")
    assert (refused.status_code, (await ann.get("/links")).status_code) == (403, 303)


async def test_another_identity_does_not_reauthenticate(office: Office) -> None:
    browser, _ = await office.sign_in()
    office.place.clock.move(timedelta(minutes=11))
    office.provider.signs_in("bob-1", "bob@example.com", groups=["it"])
    _, answer = await office.sign_in(browser, f"{START}?for=verify")
    assert answer.status_code == 403
    assert (await browser.get("/account/verify?next=/account")).status_code == 200


# ── sign-out ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_signs_out_at_the_provider(office: Office) -> None:
    browser, _ = await office.sign_in()
    answer = await browser.post("/logout")
    assert answer.status_code == 200
    assert answer.headers["refresh"].startswith(f"0; url={office.provider.issuer}/logout?from=waypost&client_id=")
    assert "id_token_hint=" in answer.headers["refresh"]
    assert (await browser.get("/links")).status_code == 303


async def test_signs_out_here_if_the_provider_is_down(office: Office) -> None:
    browser, _ = await office.sign_in()
    office.place.clock.move(timedelta(hours=2))
    office.provider.answers[DISCOVERY] = Answer(503)
    assert (await browser.post("/logout")).headers["location"] == "/login"
    assert (await browser.get("/links")).status_code == 303


async def test_the_provider_signs_out(office: Office) -> None:
    browser, _ = await office.sign_in()
    stranger = await office.place.browser()
    path = "/login/oidc/logout"
    token = office.provider.logout_token(sub="ann-1", sid="session-1")
    answer = await stranger.client.post(path, data={"logout_token": token})
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert (await browser.get("/links")).status_code == 303
    with structlog.testing.capture_logs() as logs:
        for wrong in (token, "a.b.c", ""):
            answer = await stranger.client.post(path, data={"logout_token": wrong})
            assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
        office.place.clock.move(timedelta(minutes=1))
        await stranger.client.post(path, data={"logout_token": "a.b.c"})
    assert [(line["reason"], line["count"]) for line in logs if line["event"] == "sign-in refused"] == [
        ("logout token: jti was used", 1),
        ("logout token: signature", 3),
    ]


async def set_password(ann: Browser) -> None:
    answer = await ann.post("/account/password", {"password": PASSWORD})
    assert answer.headers["location"] == "/account/security?done=password"


async def change_password(ann: Browser) -> None:
    await set_password(ann)
    answer = await ann.post("/account/password", {"password": f"{PASSWORD}!", "current_password": PASSWORD})
    assert answer.headers["location"] == "/account/security?done=password"


async def sign_in_with_it(ann: Browser) -> None:
    await set_password(ann)
    answer = await ann.post("/login", {"email": "ann@example.com", "password": PASSWORD})
    assert answer.headers["location"] == "/"


@pytest.mark.parametrize("change", [set_password, change_password, sign_in_with_it])
async def test_what_replaces_a_session_of_the_provider_ends_with_it_too(office: Office, change: Any) -> None:
    ann, _ = await office.sign_in()
    await change(ann)
    assert (await ann.get("/links")).status_code == 200
    token = office.provider.logout_token(sub="ann-1", sid="session-1")
    await ann.client.post("/login/oidc/logout", data={"logout_token": token})
    assert (await ann.get("/links")).status_code == 303


async def test_in_a_session_of_the_provider_the_password_does_not_stand_for_it(office: Office) -> None:
    ann, _ = await office.sign_in()
    await set_password(ann)
    office.place.clock.move(timedelta(minutes=11))
    assert (await ann.post("/account/verify", {"current_password": PASSWORD})).status_code == 303
    refused = await ann.post("/account/passkeys/options")
    assert (refused.status_code, refused.json()) == (422, {"error": PROVE_FIRST})
    await office.sign_in(ann, f"{START}?for=verify")
    assert (await ann.post("/account/passkeys/options")).status_code == 200


# ── only single sign-on ───────────────────────────────────────────────────────────────────────────────────────────────

DISABLED = [
    ("POST", "/login"), ("POST", "/login/passkey/options"), ("POST", "/login/passkey"), ("GET", "/signup"),
    ("POST", "/signup"), ("GET", "/invite/a"), ("POST", "/invite/a"), ("GET", "/forgot"), ("POST", "/forgot"),
    ("GET", "/reset/a"), ("POST", "/reset/a"), ("POST", "/account/password"), ("POST", "/account/passkeys/options"),
    ("POST", "/account/passkeys"), ("POST", "/account/verify"), ("POST", "/account/verify/passkey/options"),
    ("POST", "/account/verify/passkey"),
]  # fmt: skip


async def test_there_are_no_passwords(strict: Office) -> None:
    ann = await strict.place.browser("ann@example.com")
    for method, path in DISABLED:
        answer = await ann.client.request(method, path, headers=SAME_ORIGIN)
        assert (answer.status_code, "uses single sign-on" in answer.text) == (403, True), path
    for path in ("/login", "/account/security", "/account/verify"):
        page = (await (ann if "account" in path else await strict.place.browser()).get(path)).text
        assert 'type="password"' not in page
        assert "passkey" not in page


async def test_a_link_in_an_email_needs_a_session(strict: Office) -> None:
    """Otherwise it would be the one page that still takes a password."""
    ann = await strict.place.browser("ann@example.com")
    async with strict.place.db.write() as tx:
        now, person = strict.place.clock(), await get_person(strict.place.db, "ann@example.com")
        token = await tokens.issue(tx, "change_email", now=now, person_id=person.id, email="new@example.com")
    stranger = await strict.place.browser()
    assert (await stranger.get(f"/confirm/{token}")).headers["location"] == f"/login?next=/confirm/{token}"
    assert (await stranger.post(f"/confirm/{token}", {"password": PASSWORD})).headers["location"] == "/login"
    assert (await ann.post(f"/confirm/{token}")).headers["location"] == "/account?done=confirmed"


async def test_a_link_of_the_operator_signs_in_and_connects(strict: Office) -> None:
    await strict.place.browser("ann@example.com")
    browser, answer = await strict.sign_in()
    assert "Ask the administrator for a sign-in link" in answer.text
    answer = await browser.post(await strict.sign_in_link("ann@example.com"))
    assert answer.headers["location"] == CONNECT
    assert (await browser.post(CONNECT, {"connect": "yes"})).status_code == 303
    _, answer = await strict.sign_in()
    assert answer.status_code == 303


# ── without it ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_there_is_nothing_where_it_is_not_configured(database_url: str, tmp_path: Path) -> None:
    async with open_place(database_url, tmp_path) as place:
        browser = await place.browser()
        assert "single sign-on" not in (await browser.get("/login")).text
        for path in (START, FINISH, CONNECT):
            assert (await browser.get(path)).status_code == 404


async def test_an_unconfirmed_person_connects_nothing(database_url: str, tmp_path: Path) -> None:
    """Otherwise who signs up with another's email would still sign in after its owner reset the password."""
    async for office in open_office(database_url, tmp_path, smtp_url="smtp://mail.test"):
        eve = await office.place.browser()
        await eve.post("/signup", {"name": "Eve", "email": "victim@example.com", "password": PASSWORD})
        await eve.post("/login", {"email": "victim@example.com", "password": PASSWORD})
        await office.sign_in(eve, f"{START}?for=connect")
        refused = await eve.post(CONNECT, {"connect": "yes"})
        assert (refused.status_code, passkeys.UNCONFIRMED in refused.text) == (422, True)


@pytest.mark.parametrize("is_confirmed", [True, False])
async def test_a_reset_removes_the_identity(office: Office, is_confirmed: bool) -> None:
    ann = await office.place.browser("ann@example.com")
    await office.sign_in(ann, f"{START}?for=connect")
    assert (await ann.post(CONNECT, {"connect": "yes"})).status_code == 303
    assert ann.person
    now = office.place.clock()
    async with office.place.db.write() as tx:
        await people.change(tx, ann.person.id, now, confirmed_at=now if is_confirmed else None)
        text = await tokens.issue(tx, "reset", now=now, person_id=ann.person.id, email="ann@example.com")
    browser = await office.place.browser()
    assert ("Single sign-on as ann@example.com" in (await browser.get(f"/reset/{text}")).text) == is_confirmed
    fields = {"password": PASSWORD} | ({"remove_credentials": "yes"} if is_confirmed else {})
    assert (await browser.post(f"/reset/{text}", fields)).status_code == 303
    elsewhere, answer = await office.sign_in()
    assert "already has an account" in answer.text
    assert (await elsewhere.get("/account")).status_code == 303


async def test_disconnects_and_signs_out(office: Office) -> None:
    ann = await office.place.browser()
    await ann.post("/signup", {"name": "Ann", "email": "ann@example.com", "password": PASSWORD})
    assert (await ann.get(DISCONNECT)).headers["location"] == "/account/security"  # nothing to disconnect
    office.provider.signs_in("ann-1", "ann@example.com", name="Ann", groups=["marketing"], sid="session-1")
    await office.sign_in(ann, f"{START}?for=connect")
    assert (await ann.post(CONNECT, {"connect": "yes"})).status_code == 303
    refused = await ann.post(DISCONNECT, {})
    assert (refused.status_code, service.ROLE_BY_GROUPS in refused.text) == (422, True)
    async with office.place.db.write() as tx:
        await tx.execute(update(memberships).values(by_groups=False))
    other = await office.place.browser()
    await other.post("/login", {"email": "ann@example.com", "password": PASSWORD})
    assert (await other.post(DISCONNECT, {"current_password": PASSWORD})).status_code == 422  # not proven
    assert "Disconnect" in (await ann.get("/account/security")).text
    assert "ann@example.com" in (await ann.get(DISCONNECT)).text
    assert (await ann.post(DISCONNECT, {})).headers["location"] == "/login?done=without-sso"
    assert "was disconnected" in (await ann.get("/login?done=without-sso")).text
    assert (await other.get("/account")).status_code == 200  # began with the password
    _, answer = await office.sign_in()
    assert "already has an account" in answer.text


async def test_the_only_way_to_sign_in_stays(office: Office) -> None:
    ann, _ = await office.sign_in()
    refused = await ann.post(DISCONNECT, {})
    assert (refused.status_code, service.NO_OTHER_WAY in refused.text) == (422, True)
    assert (await ann.get("/account")).status_code == 200


async def test_a_password_beside_an_identity_does_not_replace_it(office: Office) -> None:
    ann = await office.place.browser()
    await ann.post("/signup", {"name": "Ann", "email": "ann@example.com", "password": PASSWORD})
    await office.sign_in(ann, f"{START}?for=connect")
    assert (await ann.post(CONNECT, {"connect": "yes"})).status_code == 303
    eve = await office.place.browser()
    await eve.post("/login", {"email": "ann@example.com", "password": PASSWORD})
    office.provider.signs_in("eve-1", "eve@example.com", name="Eve", groups=["marketing"], sid="session-2")
    await office.sign_in(eve, f"{START}?for=connect")
    refused = await eve.post(CONNECT, {"current_password": PASSWORD})
    assert (refused.status_code, "/account/verify" in refused.text) == (422, True)
    assert "for=verify" in (await eve.get("/account/verify")).text
