"""A second factor for sign-in with a password: codes of an authenticator app, recovery codes."""

import asyncio
import io
import zipfile
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from accounts.second_factors import (
    ADA,
    NO_FIELDS,
    OTHER,
    PASSWORD,
    PATH,
    Phone,
    attacker,
    codes_of,
    is_signed_in,
    sealed_of,
    secret_of,
    send_password,
    set_up,
    signed_up,
    subjects,
)
from browsing import WebApp, open_place
from sqlalchemy import select, text, update

from waypost.accounts.second_factor import service, store, totp, verification
from waypost.accounts.sign_in import service as sign_in

CODE = "/login/code"


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path) as place:
        yield place


@pytest.mark.parametrize(
    ("at", "code"),
    [(59, "287082"), (1111111109, "081804"), (1234567890, "005924"), (2000000000, "279037"), (20000000000, "353130")],
)
def test_codes_are_those_of_rfc_6238(at: int, code: str) -> None:
    assert totp.code_of("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", at // 30) == code


async def test_a_password_asks_for_the_code_and_starts_no_session_before(place: WebApp) -> None:
    ada = await signed_up(place)
    phone, elsewhere = await set_up(place, ada), await place.browser()
    await send_password(elsewhere)
    assert not await is_signed_in(elsewhere)
    page = await elsewhere.get(f"{CODE}?next=/links")
    assert (page.status_code, ADA in page.text, 'value="/links"' in page.text) == (200, True, True)
    wrong = await elsewhere.post(CODE, {"code": phone.wrong_code(), "next": "/links"})
    assert (wrong.status_code, verification.WRONG_CODE in wrong.text) == (422, True)
    assert not await is_signed_in(elsewhere)
    right = await elsewhere.post(CODE, {"code": phone.next_code(), "next": "/links"})
    assert (right.status_code, right.headers["location"]) == (303, "/links")
    assert await is_signed_in(elsewhere)
    assert "waypost-code" not in elsewhere.client.cookies
    assert (await elsewhere.get(CODE)).headers["location"] == "/login?done=expired"


async def test_the_password_step_is_bound_to_the_browser_and_to_five_minutes(place: WebApp) -> None:
    phone = await set_up(place, await signed_up(place))
    first, second = await place.browser(), await place.browser()
    await send_password(first)
    answer = await second.post(CODE, {"code": phone.next_code()})
    assert answer.headers["location"] == "/login?done=expired"
    place.clock.move(timedelta(minutes=5))
    answer = await first.post(CODE, {"code": phone.code()})
    assert answer.headers["location"] == "/login?done=expired"
    assert "five minutes" in (await first.get("/login?done=expired")).text
    assert not await is_signed_in(first)


async def test_a_new_password_voids_the_password_step(place: WebApp) -> None:
    ada = await signed_up(place)
    phone, elsewhere = await set_up(place, ada), await place.browser()
    await send_password(elsewhere)
    changed = await ada.post("/account/password", {"current_password": PASSWORD, "password": OTHER})
    assert changed.status_code == 303
    assert await is_signed_in(ada)
    answer = await elsewhere.post(CODE, {"code": phone.next_code()})
    assert answer.headers["location"] == "/login?done=expired"


async def test_a_code_is_accepted_within_one_step_and_once(place: WebApp) -> None:
    phone = await set_up(place, await signed_up(place))
    place.clock.move(timedelta(minutes=10))
    browser = await place.browser()
    for steps, status in ((-2, 422), (2, 422), (-1, 303), (-1, 422), (0, 303), (1, 303), (0, 422), (1, 422)):
        await send_password(browser)
        answer = await browser.post(CODE, {"code": phone.code(steps=steps)})
        assert (steps, answer.status_code) == (steps, status)


async def test_the_code_of_the_setup_signs_in_no_more(place: WebApp) -> None:
    phone, browser = await set_up(place, await signed_up(place)), await place.browser()
    await send_password(browser)
    assert (await browser.post(CODE, {"code": phone.code()})).status_code == 422
    assert (await browser.post(CODE, {"code": f" {phone.next_code()[:3]} {phone.code()[3:]} "})).status_code == 303


@pytest.mark.parametrize("kind", ["code", "recovery code"])
async def test_of_concurrent_uses_one_signs_in(place: WebApp, kind: str) -> None:
    phone = await set_up(place, await signed_up(place))
    browsers = [await place.browser() for _ in range(4)]
    for browser in browsers:
        await send_password(browser)
    code = phone.next_code() if kind == "code" else phone.recovery_codes[0]
    answers = await asyncio.gather(*(browser.post(CODE, {"code": code}) for browser in browsers))
    assert min(answer.status_code for answer in answers) == 303
    assert [await is_signed_in(browser) for browser in browsers].count(True) == 1


async def test_each_recovery_code_signs_in_once(place: WebApp) -> None:
    ada = await signed_up(place)
    phone = await set_up(place, ada)
    assert len(set(phone.recovery_codes)) == 10
    for used, code in enumerate((phone.recovery_codes[0], phone.recovery_codes[1].replace("-", " ").upper())):
        browser = await place.browser()
        await send_password(browser)
        assert "Recovery code" in (await browser.get(f"{CODE}?recovery=1")).text
        assert (await browser.post(CODE, {"code": code})).status_code == 303
        assert f"{9 - used} recovery codes left" in (await browser.get("/account/security")).text
    await send_password(browser)
    assert (await browser.post(CODE, {"code": code})).status_code == 422
    assert (await subjects(place)).count("A recovery code was used") == 2

    replaced = codes_of((await ada.post(f"{PATH}/recovery-codes", NO_FIELDS)).text)
    assert (await browser.post(CODE, {"code": phone.recovery_codes[5]})).status_code == 422
    assert (await browser.post(CODE, {"code": replaced[5]})).status_code == 303


async def test_a_code_of_another_person_is_wrong(place: WebApp) -> None:
    await set_up(place, await signed_up(place))
    bobs = await set_up(place, await signed_up(place, "bob@example.com"))
    browser = await place.browser()
    await send_password(browser)
    for code in (bobs.next_code(), bobs.recovery_codes[0]):
        assert (await browser.post(CODE, {"code": code})).status_code == 422


async def test_guesses_get_a_growing_delay_and_an_email_but_not_the_owner(place: WebApp) -> None:
    ada = await signed_up(place)
    phone = await set_up(place, ada)
    delays = []
    for n in range(14):
        guess = await (await attacker(place, n)).post(CODE, {"code": phone.wrong_code()})  # the password resets nothing
        delays.append(int(guess.headers.get("retry-after", 0)))
        assert guess.status_code == (429 if delays[-1] else 422)
        place.clock.move(timedelta(seconds=delays[-1]))
    assert delays == [0, 0, 0, 1, 0, 2, 0, 4, 0, 8, 0, 16, 0, 32]
    assert (await (await attacker(place, 14)).post(CODE, {"code": phone.wrong_code()})).status_code == 422
    waiting = await attacker(place, 15)
    assert (await waiting.post(CODE, {"code": phone.next_code()})).status_code == 429, "also the right code waits"
    assert (await subjects(place)).count("Someone knows your password") == 1

    await ada.post("/logout")
    await send_password(ada)
    assert (await ada.post(CODE, {"code": phone.code()})).status_code == 303, "a known browser does not wait"


async def test_concurrent_guesses_count_each_other(place: WebApp) -> None:
    phone = await set_up(place, await signed_up(place))
    browsers = [await attacker(place, n) for n in range(8)]
    guesses = (browser.post(CODE, {"code": phone.wrong_code()}) for browser in browsers)
    answers = await asyncio.gather(*guesses)
    assert sorted(answer.status_code for answer in answers) == [422] * 3 + [429] * 5


async def test_a_password_reset_needs_the_code_and_keeps_the_second_factor(place: WebApp) -> None:
    ada = await signed_up(place)
    phone, link = await set_up(place, ada), await reset_link(place)
    assert 'name="code"' in (await ada.get(link)).text
    elsewhere = await place.browser()
    for code, fault in (("", verification.NO_CODE), (phone.wrong_code(), verification.WRONG_CODE)):
        refused = await elsewhere.post(link, {"password": OTHER, "code": code, "remove_credentials": "yes"})
        assert (refused.status_code, fault in refused.text) == (422, True)
    assert await is_signed_in(ada), "nothing was changed"
    done = await elsewhere.post(link, {"password": OTHER, "code": phone.next_code()})
    assert (done.status_code, await is_signed_in(elsewhere), await is_signed_in(ada)) == (303, True, False)
    await send_password(ada, OTHER)
    assert (await ada.post(CODE, {"code": phone.next_code()})).status_code == 303


async def reset_link(place: WebApp) -> str:
    from waypost.accounts.people import tokens

    async with place.db.write() as tx:
        person = await sign_in.people.find_by_email(tx, ADA)
        assert person
        token = await tokens.issue(tx, "reset", now=place.clock(), person_id=person.id, email=ADA)
    return f"/reset/{token}"


async def test_a_confirmed_email_asks_for_the_code_too(place: WebApp) -> None:
    from waypost.accounts.people import tokens

    ada, elsewhere = await signed_up(place), await place.browser()
    phone = await set_up(place, ada)
    assert ada.person
    async with place.db.write() as tx:
        token = await tokens.issue(
            tx, "change_email", now=place.clock(), person_id=ada.person.id, email="a@example.com"
        )
    answer = await elsewhere.post(f"/confirm/{token}", {"password": PASSWORD})
    assert answer.headers["location"].startswith("/login/code?next=/account")
    assert not await is_signed_in(elsewhere)
    assert (await elsewhere.post(CODE, {"code": phone.next_code()})).status_code == 303


async def test_links_of_the_operator_and_passkeys_need_no_code(place: WebApp) -> None:
    from waypost.accounts.auth_deps import new_deps

    ada, elsewhere = await signed_up(place), await place.browser()
    await set_up(place, ada)
    assert ada.person
    link = await sign_in.create_sign_in_link(new_deps(place.settings, place.db, place.clock), ada.person.id)
    answer = await elsewhere.post(link.removeprefix("http://app.test"))
    assert (answer.status_code, await is_signed_in(elsewhere)) == (303, True)


@pytest.mark.parametrize("what", ["key", "email", "passkey", "password", "codes", "remove"])
async def test_reauthentication_asks_for_the_code(place: WebApp, what: str) -> None:
    ada = await signed_up(place)
    phone = await set_up(place, ada)
    place.clock.move(sign_in.RECENT)
    path, fields, done = {
        "key": ("/integrations/api", {"name": "Robot", "scopes[]": "links:read"}, 201),
        "email": ("/account/email", {"email": "lovelace@example.com"}, 303),
        "passkey": ("/account/passkeys/options", {}, 200),
        "password": ("/account/password", {"password": OTHER}, 303),
        "codes": (f"{PATH}/recovery-codes", {}, 200),
        "remove": (f"{PATH}/remove", {}, 303),
    }[what]
    fields |= {"current_password": PASSWORD}
    refused = await ada.post(path, fields)
    assert refused.status_code == 422
    assert sign_in.CONFIRM_FIRST in refused.text.replace("&#39;", "'")
    if what != "passkey":
        assert "/account/verify?next=" in refused.text
    page = await ada.get("/account/verify?next=/links")
    assert 'name="code"' in page.text
    for password, code in ((PASSWORD, ""), (PASSWORD, phone.wrong_code()), (OTHER, phone.next_code()), ("", "")):
        wrong = await ada.post("/account/verify", {"current_password": password, "code": code, "next": "/links"})
        assert wrong.status_code == 422
    assert (await ada.post(path, fields)).status_code == 422
    right = await ada.post("/account/verify", {"current_password": PASSWORD, "code": phone.code(), "next": "/links"})
    assert (right.status_code, right.headers["location"]) == (303, "/links")
    assert (await ada.post(path, fields)).status_code == done


async def test_codes_of_a_stolen_session_are_guessed_slowly(place: WebApp) -> None:
    ada = await signed_up(place)
    phone = await set_up(place, ada)
    place.clock.move(sign_in.RECENT)
    guess = {"current_password": PASSWORD, "code": phone.wrong_code()}
    statuses = [(await ada.post("/account/verify", guess)).status_code for _ in range(4)]
    assert statuses == [422, 422, 422, 429]


async def test_setting_up_needs_a_recent_authentication_and_ends_other_sessions(place: WebApp) -> None:
    ada, elsewhere = await signed_up(place), await place.browser()
    await elsewhere.post("/login", {"email": ADA, "password": PASSWORD})
    place.clock.move(sign_in.RECENT)
    assert 'name="current_password"' in (await ada.get(PATH)).text
    assert (await ada.post(PATH, {"current_password": OTHER})).status_code == 422
    page = (await ada.post(PATH, {"current_password": PASSWORD})).text
    phone = Phone(secret_of(page), [], place.clock)
    wrong = await ada.post(f"{PATH}/confirm", {"setup": sealed_of(page), "code": phone.wrong_code()})
    assert (wrong.status_code, secret_of(wrong.text)) == (422, phone.secret)
    assert (await ada.get("/account/security")).text.count("/account/two-factor/remove") == 0
    done = await ada.post(f"{PATH}/confirm", {"setup": sealed_of(page), "code": phone.code()})
    assert len(codes_of(done.text)) == 10
    assert (await is_signed_in(ada), await is_signed_in(elsewhere)) == (True, False)
    again = await ada.post(f"{PATH}/confirm", {"setup": sealed_of(page), "code": phone.next_code()})
    assert (again.status_code, service.ALREADY_ON in again.text) == (422, True)
    assert "Two-factor authentication is on" in await subjects(place)


async def test_a_setup_belongs_to_one_session_and_fifteen_minutes(place: WebApp) -> None:
    ada, elsewhere = await signed_up(place), await place.browser()
    await elsewhere.post("/login", {"email": ADA, "password": PASSWORD})
    page = (await ada.post(PATH, NO_FIELDS)).text
    phone = Phone(secret_of(page), [], place.clock)
    for browser, sealed in ((elsewhere, sealed_of(page)), (ada, "nonsense"), (ada, ""), (ada, "AAAA"), (ada, "é")):
        answer = await browser.post(f"{PATH}/confirm", {"setup": sealed, "code": phone.code()})
        assert (answer.status_code, service.EXPIRED in answer.text) == (422, True)
    place.clock.move(service.MAX_SETUP_TIME + timedelta(seconds=1))
    answer = await ada.post(f"{PATH}/confirm", {"setup": sealed_of(page), "code": phone.code()})
    assert service.EXPIRED in answer.text


async def test_an_unconfirmed_email_cannot_set_one_up(database_url: str, tmp_path: Path) -> None:
    async with open_place(database_url, tmp_path, smtp_url="smtp://mail.test:25") as place:
        ada = await place.browser(ADA)
        async with place.db.write() as tx:
            await tx.execute(text("UPDATE people SET confirmed_at = NULL"))
        answer = await ada.post(PATH, NO_FIELDS)
        assert (answer.status_code, service.UNCONFIRMED in answer.text) == (422, True)
        assert "confirm your email address</a> first" in (await ada.get("/account/security")).text


async def test_after_removal_the_password_is_enough(place: WebApp) -> None:
    ada, elsewhere = await signed_up(place), await place.browser()
    phone = await set_up(place, ada)
    assert (await ada.post(f"{PATH}/remove", NO_FIELDS)).headers["location"] == "/account/security?done=two-factor"
    answer = await elsewhere.post("/login", {"email": ADA, "password": PASSWORD})
    assert (answer.headers["location"], await is_signed_in(elsewhere)) == ("/", True)
    for path in (f"{PATH}/remove", f"{PATH}/recovery-codes"):
        assert ((await ada.get(path)).status_code, (await ada.post(path, NO_FIELDS)).status_code) == (404, 404)
    async with place.db.read() as tx:
        assert (await tx.execute(select(store.codes))).all() == []
    assert "Two-factor authentication was removed" in await subjects(place)
    assert phone.secret != (await set_up(place, ada)).secret


async def test_secrets_are_shown_once_and_stored_encrypted(
    place: WebApp, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    ada = await signed_up(place)
    phone = await set_up(place, ada)
    secrets = [phone.secret, totp.in_groups(phone.secret), *phone.recovery_codes]
    pages = ["/account", "/account/security", PATH, f"{PATH}/remove", f"{PATH}/recovery-codes", "/account/sessions"]
    texts = [(await ada.get(path)).text for path in pages]
    archive = zipfile.ZipFile(io.BytesIO((await ada.post("/account/data/export")).content))
    texts += [archive.read(name).decode(errors="replace") for name in archive.namelist()]
    async with place.db.read() as tx:
        for table in ("second_factors", "recovery_codes", "people", "sessions", "one_time_tokens", "jobs"):
            texts += [repr(tuple(row)) for row in await tx.execute(text(f"SELECT * FROM {table}"))]
    output = capsys.readouterr()
    texts += [output.out, output.err, caplog.text]
    assert not [secret for secret in secrets for text in texts if secret in text]


async def test_without_the_secret_key_recovery_codes_still_work(
    place: WebApp, capsys: pytest.CaptureFixture[str]
) -> None:
    phone, browser = await set_up(place, await signed_up(place)), await place.browser()
    async with place.db.write() as tx:
        other = store.second_factors.c.secret.type.process_result_value(b"\x01" + bytes(60), None)  # type: ignore[arg-type]
        await tx.execute(update(store.second_factors).values(secret=other))
    await send_password(browser)
    assert (await browser.post(CODE, {"code": phone.next_code()})).status_code == 422
    assert (await browser.post(CODE, {"code": phone.recovery_codes[3]})).status_code == 303


async def test_a_session_cannot_start_without_the_code(place: WebApp) -> None:
    """A sign-in that began before the second factor was set up finishes after it."""
    from waypost.accounts.sessions import store as sessions
    from waypost.kit.errors import NotFound

    ada = await signed_up(place)
    await set_up(place, ada)
    assert ada.person
    with pytest.raises(NotFound):
        async with place.db.write() as tx:
            await sessions.create(tx, ada.person.id, user_agent="", ip="", now=place.clock())


async def test_a_browser_known_before_the_second_factor_is_unknown_to_codes(place: WebApp) -> None:
    """Who knows the password would otherwise collect known browsers first, each with tries of its own."""
    ada, harvested = await signed_up(place), await place.browser()
    assert (await harvested.post("/login", {"email": ADA, "password": PASSWORD})).status_code == 303
    phone = await set_up(place, ada)
    stranger = await attacker(place, 1)
    code = {"code": phone.wrong_code()}
    assert [(await stranger.post("/login/code", code)).status_code for _ in range(4)] == [422, 422, 422, 429]
    await send_password(harvested)
    assert (await harvested.post("/login/code", code)).status_code == 429
