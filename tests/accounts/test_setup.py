"""Set-up: the sign-in link or the code of the first start makes its holder the owner, once."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from accounts.sign_ups import PASSWORD, rows, signed_in, signed_up
from accounts.test_reauthentication import passkey_of
from browsing import BASE_URL, SAME_ORIGIN, Browser, WebApp, open_place
from sqlalchemy import select

from waypost import accounts
from waypost.accounts import model
from waypost.accounts.auth_deps import Deps, new_deps
from waypost.accounts.oidc import identities
from waypost.accounts.setup import first_start, signup
from waypost.accounts.setup import service as setup
from waypost.accounts.setup.first_start import PLACEHOLDER
from waypost.accounts.setup.signup import NO_OWNER
from waypost.accounts.sign_in import passwords
from waypost.accounts.sign_in import service as sign_in
from waypost.audit.model import audit_entries
from waypost.kit.clock import now
from waypost.kit.errors import NotFound
from waypost.secret_key import with_secret_key
from waypost.settings import Settings
from waypost.web_app import open_full_app

ADA = {"name": "Ada", "email": "ada@example.com", "password": PASSWORD}
BOB = {"name": "Bob", "email": "bob@example.com", "password": PASSWORD}


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path) as place:
        await start(place)
        yield place


def deps_of(place: WebApp) -> Deps:
    return new_deps(place.settings, place.db, place.clock)


async def start(place: WebApp, email: str = "", password: str = "") -> None:
    await setup.start(deps_of(place), email=email, password=password)


async def code_of(place: WebApp) -> str:
    pending = await first_start.find_pending(place.db)
    assert pending
    return setup.code(deps_of(place), pending)


async def names(place: WebApp) -> list[Any]:
    """(email, name) of all accounts and people."""
    found = await rows(place, select(model.accounts.c.email, model.accounts.c.name))
    return [tuple(row) for row in [*found, *await rows(place, select(model.people.c.email, model.people.c.name))]]


async def entered(place: WebApp, email: str = PLACEHOLDER) -> tuple[Browser, httpx.Response]:
    """Somebody who has opened a sign-in link, and the answer."""
    person = await accounts.get_person(place.db, email)
    link = await sign_in.create_sign_in_link(deps_of(place), person.id)
    browser = await place.browser()
    return browser, await browser.post(link.removeprefix(BASE_URL))


async def test_the_first_visit_is_set_up_and_the_code_makes_the_owner(place: WebApp) -> None:
    visitor = await place.browser()
    assert [(await visitor.get(path)).headers["location"] for path in ("/", "/login", "/signup")] == [
        "/login",
        "/setup",
        "/setup",
    ]
    assert 'name="code"' in (await visitor.get("/setup")).text
    for wrong in ("", "AAAAA-AAAAA-AAAAA-AAAAA", "é"):
        answer = await visitor.post("/setup", ADA | {"code": wrong})
        assert (answer.status_code, setup.WRONG_CODE in answer.text) == (422, True)
    typed = f" {(await code_of(place)).lower().replace('-', ' ')}"
    unfit = await visitor.post("/setup", {"code": typed, "email": "nobody", "password": "password123"})
    assert (unfit.status_code, "email address" in unfit.text, "too common" in unfit.text) == (422, True, True)
    done = await visitor.post("/setup", ADA | {"code": typed})
    assert (done.status_code, done.headers["location"]) == (303, "/")
    assert [(await visitor.get(path)).status_code for path in ("/links", "/operator")] == [200, 200]
    assert await names(place) == [("ada@example.com", "Ada")] * 2
    assert (await signed_in(place)).headers["location"] == "/"
    [changes] = await rows(place, select(audit_entries.c.changes).where(audit_entries.c.action == "person.updated"))
    assert changes.changes == {"email": [PLACEHOLDER, "ada@example.com"], "name": ["app.test", "Ada"]}


async def test_set_up_is_closed_once_there_is_an_owner(place: WebApp) -> None:
    code, eve = await code_of(place), await place.browser()
    assert (await (await place.browser()).post("/setup", ADA | {"code": code})).status_code == 303
    for answer in (await eve.get("/setup"), await eve.post("/setup", BOB | {"code": code})):
        assert (answer.status_code, answer.headers["location"]) == (303, "/login?done=setup")
    assert await names(place) == [("ada@example.com", "Ada")] * 2
    assert (await eve.get("/login")).status_code == 200
    assert (await eve.post("/signup", BOB)).status_code == 303


async def test_the_code_cannot_be_guessed_often_or_from_another_site(place: WebApp) -> None:
    eve, right = await place.browser(), ADA | {"code": await code_of(place)}
    assert (await eve.client.post("/setup", data=right, headers={"Sec-Fetch-Site": "cross-site"})).status_code == 403
    assert (await eve.client.post("/setup", data=right, headers={"Origin": "http://evil.test"})).status_code == 403
    statuses = [(await eve.post("/setup", ADA | {"code": "AAAAA"})).status_code for _ in range(11)]
    assert statuses == [422] * 10 + [429]
    assert (await eve.post("/setup", right)).status_code == 429
    place.clock.move(timedelta(minutes=1))
    assert await names(place) == [(PLACEHOLDER, "app.test")] * 2


async def test_nobody_signs_up_before_there_is_an_owner(place: WebApp) -> None:
    eve = await place.browser()
    answer = await eve.post("/signup", BOB)
    assert (answer.status_code, NO_OWNER in answer.text) == (403, True)
    assert len(await names(place)) == 2


async def created(place: WebApp, email: str, password_hash: str | None = None) -> None:
    """By a command."""
    about: dict[str, Any] = {"email": email, "name": "", "plan": "none", "now": place.clock(), "trial_days": 1}
    await accounts.create_account(place.db, **about, password_hash=password_hash)


async def test_people_without_credentials_close_no_set_up(database_url: str, tmp_path: Path) -> None:
    """Such as the demo's."""
    async with open_place(database_url, tmp_path) as place:
        await start(place)
        await created(place, "demo@example.com")
        await start(place)  # a later start
        eve = await place.browser()
        assert (await eve.post("/signup", BOB)).status_code == 403
        assert (await eve.post("/setup", ADA | {"code": await code_of(place)})).headers["location"] == "/"
        await start(place)
        assert sorted({email for email, _ in await names(place)}) == ["ada@example.com", "demo@example.com"]
        assert (await (await place.browser()).post("/signup", BOB)).status_code == 303


@pytest.mark.parametrize("is_first", [False, True])
async def test_somebody_with_a_password_closes_set_up(database_url: str, tmp_path: Path, is_first: bool) -> None:
    async with open_place(database_url, tmp_path) as place:
        if not is_first:
            await start(place)
        await created(place, "ada@example.com", await passwords.hash_password(PASSWORD, accounts.SignInClient()))
        await start(place)
        emails = {email for email, _ in await names(place)}
        assert emails == ({"ada@example.com"} if is_first else {"ada@example.com", PLACEHOLDER})
        assert (await (await place.browser()).get("/setup")).headers["location"] == "/login?done=setup"


async def test_the_first_person_of_single_sign_on_closes_set_up(place: WebApp) -> None:
    await created(place, "ann@example.com")
    ann = await accounts.get_person(place.db, "ann@example.com")
    async with place.db.write() as tx:
        await identities.connect(tx, ann.id, "https://id.test", "ann-1", ann.email, place.clock())
    assert (await (await place.browser()).get("/setup")).headers["location"] == "/login?done=setup"


async def test_the_url_in_the_log_fills_in_the_code(place: WebApp) -> None:
    visitor, code = await place.browser(), await code_of(place)
    answer = await visitor.get(f"/setup?code={code}")
    assert f'value="{code}"' in answer.text
    assert (answer.headers["cache-control"], answer.headers["referrer-policy"]) == ("private, no-store", "same-origin")
    assert "&lt;b&gt;" in (await visitor.get("/setup?code=<b>")).text


async def test_the_first_sign_in_link_leads_to_the_same_form_without_a_code(place: WebApp) -> None:
    owner, answer = await entered(place)
    assert answer.headers["location"] == "/setup"
    page = (await owner.get("/setup")).text
    assert ('name="code"' in page, "Skip for now" in page) == (False, True)
    assert 'href="/setup"' in (await owner.get("/links")).text
    assert (await owner.post("/setup", ADA)).headers["location"] == "/"
    assert 'href="/setup"' not in (await owner.get("/links")).text
    assert (await owner.get("/setup")).headers["location"] == "/"
    assert await names(place) == [("ada@example.com", "Ada")] * 2


async def test_a_passkey_closes_set_up_and_leaves_the_profile_to_complete(place: WebApp) -> None:
    owner, _ = await entered(place)
    await passkey_of(place, (await accounts.get_person(place.db, PLACEHOLDER)).id)
    assert (await owner.get("/setup")).headers["location"] == "/account"
    assert (await owner.post("/setup", ADA)).headers["location"] == "/account"
    assert (await (await place.browser()).get("/setup")).headers["location"] == "/login?done=setup"


async def test_other_people_are_led_away_and_close_the_way_with_the_code(place: WebApp) -> None:
    code, bob = await code_of(place), await place.browser("bob@example.com")
    changed = await bob.post("/account/password", {"password": PASSWORD})
    assert changed.headers["location"] == "/account/security?done=password"
    assert [(await bob.get("/setup")).headers["location"], (await bob.post("/setup", ADA)).headers["location"]] == [
        "/"
    ] * 2
    visitor = await place.browser()
    assert (await visitor.post("/setup", ADA | {"code": code})).headers["location"] == "/login?done=setup"
    owner, _ = await entered(place)
    taken = await owner.post("/setup", BOB)
    assert (taken.status_code, "already exists" in taken.text) == (422, True)
    assert (await owner.post("/setup", ADA)).headers["location"] == "/"


async def test_of_two_set_ups_at_once_one_makes_the_owner(place: WebApp) -> None:
    deps, pending = deps_of(place), await first_start.find_pending(place.db)
    assert pending

    async def complete(fields: dict[str, str]) -> accounts.AuthenticationResult:
        return await setup.complete(deps, pending, **fields, client=accounts.SignInClient(), ip="")

    results = await asyncio.gather(complete(ADA), complete(BOB), return_exceptions=True)
    (owner,) = [each for each in results if isinstance(each, accounts.AuthenticationResult)]
    assert [type(each) for each in results if each is not owner] == [NotFound]
    assert await names(place) == [(owner.person.email, owner.person.name)] * 2


@pytest.mark.parametrize("is_begun", [False, True])
async def test_of_two_owners_by_the_settings_at_once_there_is_one(
    database_url: str, tmp_path: Path, is_begun: bool
) -> None:
    async with open_place(database_url, tmp_path) as place:
        if is_begun:
            await start(place)
        await asyncio.gather(*(start(place, email, PASSWORD) for email in ("Ada@example.com", "bob@example.com", "")))
        [account, person] = await names(place)
        assert account == person
        assert account in [("ada@example.com", "ada"), ("bob@example.com", "bob")]
        assert (await signed_in(place, email=account[0])).status_code == 303
        await start(place, "carol@example.com", PASSWORD)  # a later start
        assert await names(place) == [account] * 2


async def test_every_node_derives_the_code_and_no_other_key_does(place: WebApp, tmp_path: Path) -> None:
    pending, code = await first_start.find_pending(place.db), await code_of(place)
    assert pending
    key = place.settings.secret_key.get_secret_value() if place.settings.secret_key else ""

    def node(secret: str) -> Deps:
        return new_deps(Settings(data_dir=tmp_path, secret_key=secret), place.db, place.clock)

    assert setup.code(node(key), pending) == code
    assert setup.code(node("another"), pending) != code
    setup.check_code(node(f"another,{key}"), pending, code)  # during a rotation


async def test_only_this_machine_needs_no_code_where_nobody_else_reaches_the_service(
    sqlite_template: Path, tmp_path: Path
) -> None:
    (tmp_path / "waypost.db").write_bytes(sqlite_template.read_bytes())
    settings = with_secret_key(Settings(data_dir=tmp_path))
    local = settings.base_url

    @contextlib.asynccontextmanager
    async def opened(base_url: str, *, listens_locally: bool) -> AsyncIterator[Any]:
        chosen = settings.model_copy(update={"base_url": base_url})
        async with open_full_app(chosen, listens_locally=listens_locally) as web:
            await setup.start(new_deps(chosen, web.db, now), email="", password="")

            async def answers(peer: str = "127.0.0.1", **headers: str) -> tuple[bool, object]:
                """Whether the page asks for a code, and the status of a form without code and email."""
                transport = httpx.ASGITransport(web.app, client=(peer, 1))
                async with httpx.AsyncClient(transport=transport, base_url=base_url) as client:
                    page = await client.get("/setup", headers=headers)
                    sent = SAME_ORIGIN | {"Origin": base_url} | headers
                    form = await client.post("/setup", data={"password": "short"}, headers=sent)
                return 'name="code"' in page.text, "code" if setup.WRONG_CODE in form.text else form.status_code

            yield answers

    async with opened(local, listens_locally=True) as answers:
        assert await answers() == (False, 422)
        assert await answers(peer="::1") == (False, 422)
        assert await answers(peer="192.0.2.1") == (True, "code")
        for header in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"):
            assert await answers(**{header: "127.0.0.1"}) == (True, "code"), header
        assert await answers(Origin="https://go.example.com") == (False, "code")  # by a proxy that sends no headers
        assert await answers(Host="evil.test:8000") == (False, 405)  # DNS rebinding
        assert await answers(**{"Sec-Fetch-Site": "cross-site"}) == (False, 403)
    for base_url, listens_locally in ((local, False), ("http://go.example.com", True)):
        async with opened(base_url, listens_locally=listens_locally) as answers:
            assert await answers() == (True, "code")


@pytest.mark.parametrize("email", [PLACEHOLDER, "bob@example.com"])
async def test_who_has_no_credential_sets_a_password_at_any_time_of_the_session(place: WebApp, email: str) -> None:
    if email != PLACEHOLDER:
        await place.browser(email)
    browser, _ = await entered(place, email)
    place.clock.move(timedelta(minutes=15))
    page = (await browser.get("/account/security")).text
    assert "Confirm it's you" not in page
    assert 'href="/account/security"' in (await browser.get("/account/verify")).text
    assert (await browser.post("/account/passkeys/options")).status_code == 200
    changed = await browser.post("/account/password", {"password": PASSWORD})
    assert changed.headers["location"] == "/account/security?done=password"
    place.clock.move(timedelta(minutes=15))
    assert (await browser.post("/account/password", {"password": PASSWORD[::-1]})).status_code == 422
    assert (await browser.post("/account/passkeys/options")).status_code == 422


async def test_who_has_a_passkey_confirms_before_a_password_is_set(place: WebApp) -> None:
    browser, _ = await entered(place)
    await passkey_of(place, (await accounts.get_person(place.db, PLACEHOLDER)).id)
    place.clock.move(timedelta(minutes=15))
    refused = await browser.post("/account/password", {"password": PASSWORD})
    assert (refused.status_code, sign_in.CONFIRM_FIRST.split(".")[0] in refused.text.replace("&#39;", "'")) == (
        422,
        True,
    )


async def test_single_sign_on_alone_has_no_set_up(database_url: str, tmp_path: Path) -> None:
    oidc = {"oidc_issuer": "https://id.test", "oidc_client_id": "waypost", "oidc_client_secret": "secret"}
    async with open_place(database_url, tmp_path, **oidc, password_sign_in=False) as place:
        await start(place)
        visitor = await place.browser()
        assert (await visitor.get("/login")).status_code == 200
        assert (await visitor.get("/setup")).status_code == 403


async def test_an_invitation_is_still_good_for_an_account(place: WebApp) -> None:
    invitation = await signup.invite(deps_of(place), "ada@example.com")
    visitor = await place.browser()
    assert (await visitor.post(invitation.url.removeprefix(BASE_URL), ADA)).status_code == 303


async def test_who_signs_up_later_gets_an_account_of_their_own(place: WebApp) -> None:
    await (await place.browser()).post("/setup", ADA | {"code": await code_of(place)})
    await signed_up(place, "bob@example.com")
    assert sorted(await names(place)) == [("ada@example.com", "Ada")] * 2 + [("bob@example.com", "Ada")] * 2
