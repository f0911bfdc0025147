"""Links in emails and of operators: what they do, when they end, and what they do not reveal."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from accounts.sign_ups import (
    HOSTILE,
    OTHER,
    PASSWORD,
    exported,
    mails,
    owned,
    owner,
    rows,
    signed_in,
    signed_up,
    way,
)
from browsing import BASE_URL, WebApp, open_place
from sqlalchemy import select

from waypost.accounts import create_key
from waypost.accounts.auth_deps import new_deps
from waypost.accounts.model import api_keys
from waypost.accounts.people import profile, tokens
from waypost.accounts.sign_in import passkeys
from waypost.accounts.sign_in import service as sign_in


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path) as place:
        yield place


@pytest.fixture
async def mailing(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path, smtp_url="smtp://mail.test") as place:
        yield place


async def test_resets_a_password(place: WebApp) -> None:
    ada = await signed_up(place)
    for _ in range(2):  # a second mail, while the first is still new, would only be a nuisance
        await ada.post("/forgot", {"email": "ada@example.com"})
    sent = [mail for mail in await mails(place) if "/reset/" in mail["text"]]
    assert len(sent) == 1
    path = way(sent[0])
    visitor = await place.browser()
    for _ in range(2):
        assert "ada@example.com" in (await visitor.get(path)).text  # looking spends nothing
    assert (await visitor.post(path, {"password": "short"})).status_code == 422
    assert (await visitor.post(path, {"password": OTHER})).headers["location"] == "/"
    assert (await visitor.get("/account")).status_code == 200
    assert (await ada.get("/account")).status_code == 303  # every session ended
    assert (await visitor.post(path, {"password": PASSWORD})).status_code == 404
    assert [(await signed_in(place, each)).status_code for each in (PASSWORD, OTHER)] == [422, 303]
    await ada.post("/forgot", {"email": "ada@example.com"})
    path = way((await mails(place))[-1])
    place.clock.move(timedelta(hours=1))
    assert (await visitor.get(path)).status_code == 404


async def test_a_plan_starts_when_the_email_is_confirmed(mailing: WebApp) -> None:
    ada = await signed_up(mailing)
    assert (await owned(mailing)).plan_type == "none"
    assert "Confirm your email address" in (await ada.get("/account")).text
    await ada.post("/account/confirm")
    assert len(await mails(mailing)) == 1  # it was sent just now
    mailing.clock.move(timedelta(minutes=2))
    await ada.post("/account/confirm")
    first, second = (way(mail) for mail in await mails(mailing))
    visitor = await mailing.browser()
    for _ in range(2):
        assert "ada@example.com" in (await visitor.get(second)).text
    for password in ("", OTHER):
        page = await visitor.post(second, {"password": password})
        assert page.status_code == 422
        assert 'id="password-error"' in page.text
        assert 'href="/forgot"' in page.text
    assert (await owner(mailing)).confirmed_at is None
    assert (await visitor.post(second, {"password": PASSWORD})).headers["location"] == "/account?done=confirmed"
    assert (await visitor.get("/account")).status_code == 200
    now = await owned(mailing)
    assert (now.plan_type, now.trial_ends_at) == ("trial", mailing.clock() + timedelta(days=14))
    assert "Confirm your email address" not in (await ada.get("/account")).text
    mailing.clock.move(timedelta(days=1))
    assert (await ada.post(first)).headers["location"] == "/account?done=confirmed"
    assert (await owned(mailing)).trial_ends_at == now.trial_ends_at  # no trial begins twice
    assert (await ada.post(first)).status_code == 404


async def test_a_password_reset_requires_an_email_address(mailing: WebApp) -> None:
    visitor = await mailing.browser()
    for email in ("", "ada", "ada@"):
        refused = await visitor.post("/forgot", {"email": email})
        assert (refused.status_code, 'id="email-error"' in refused.text) == (422, True)
    assert await mails(mailing) == []
    assert "we sent a link to it" in (await visitor.post("/forgot", {"email": "ada@example.com"})).text


async def test_a_service_without_emails_does_not_claim_to_send_one(place: WebApp) -> None:
    ada = await signed_up(place)
    assert "This service does not send emails" in (await ada.get("/forgot")).text
    created = await ada.post("/forgot", {"email": "ada@example.com"})
    assert ("Check your email" in created.text, "Ask the administrator" in created.text) == (False, True)


async def test_an_expired_link_says_what_to_do_next(place: WebApp) -> None:
    nobody = await place.browser()
    next_steps = {
        "/reset/x": 'href="/forgot">Request a new link',
        "/confirm/x": "just sign in",
        "/invite/x": "Ask for a new invitation",
        "/enter/x": "waypost account sign-in-link",
    }
    for path, next_step in next_steps.items():
        page = await nobody.get(path)
        assert (page.status_code, "Link expired" in page.text, next_step in page.text) == (404, True, True), path


async def test_a_reset_removes_what_a_stranger_added_to_an_unconfirmed_account(mailing: WebApp) -> None:
    eve = await signed_up(mailing)
    await create_key(mailing.db, account_id=(await owned(mailing)).id, name="eve's", scopes=(), now=mailing.clock())
    response = await eve.post("/account/passkeys/options", {"passkey_name": ""})
    assert (response.status_code, response.json()) == (422, {"error": passkeys.UNCONFIRMED})
    added = await eve.post("/account/passkeys", {"credential": "{}"})
    assert passkeys.UNCONFIRMED in added.text
    assert 'data-passkey="make"' not in (await eve.get("/account/security")).text
    ada = await mailing.browser()
    await ada.post("/forgot", {"email": "ada@example.com"})
    await ada.post(way((await mails(mailing))[-1]), {"password": OTHER})
    assert (await eve.get("/account")).status_code == 303
    assert (await ada.get("/account")).status_code == 200
    assert 'api_keys": []' in (await exported(ada))["account.json"]
    assert (await owner(mailing)).confirmed_at is not None


async def test_changes_the_email_after_confirmation(mailing: WebApp) -> None:
    ada, bob = await mailing.browser("ada@example.com"), await mailing.browser("bob@example.com")
    for _ in range(2):
        for _ in range(2):  # the second while the first is still new: it is not sent
            answer = await ada.post("/account/email", {"email": "lovelace@example.com"})
            assert answer.headers["location"] == "/account?done=mail"
        mailing.clock.move(timedelta(minutes=2))
    await ada.post("/forgot", {"email": "ada@example.com"})
    *moves, reset = await mails(mailing)  # the last is written by a job
    assert [mail["to"] for mail in moves] == ["lovelace@example.com"] * 2
    assert await owner(mailing)
    await bob.post("/account/email", {"email": "lovelace@example.com"})
    visitor = await mailing.browser()
    assert 'href="/forgot"' not in (await visitor.get(way(moves[0]))).text
    response = await visitor.post(way(moves[0]), {"password": OTHER})
    assert response.status_code == 422
    assert sign_in.WRONG_PASSWORD in response.text  # who reads that email may not be ada
    assert (await bob.post(way(moves[0]), {"password": ""})).status_code == 422
    assert (await ada.post(way(moves[0]))).status_code == 303
    assert (await mails(mailing))[-1]["to"] == "ada@example.com"
    for stale in (way(reset), way(moves[1])):
        assert (await ada.get(stale)).status_code == 404
    taken = await bob.post(way((await mails(mailing))[-2]))
    assert taken.status_code == 422
    assert profile.EMAIL_TAKEN in taken.text


async def test_emails_do_not_reveal_accounts_and_are_limited(mailing: WebApp) -> None:
    eve, bob = await mailing.browser("eve@example.com"), await mailing.browser("bob@example.com")
    visitor = await mailing.browser()
    answers = []
    for email in ("bob@example.com", "new@example.com"):
        moved = await eve.post("/account/email", {"email": email})
        joined = [await visitor.post("/signup", {"name": "B", "email": email, "password": OTHER}) for _ in range(2)]
        answers.append([(each.status_code, each.text.replace("new@", "bob@")) for each in (moved, *joined)])
    assert answers[0] == answers[1]
    sent = [(mail["to"], mail["subject"]) for mail in await mails(mailing)]
    new = [("new@example.com", f"Confirm your {which}email address") for which in ("new ", "")]
    taken = "An account with this email already exists"
    assert sent == [("bob@example.com", taken), *new, ("new@example.com", taken)]
    assert (await bob.get("/account")).status_code == 200
    statuses = [(await eve.post("/account/email", {"email": f"{n}@example.com"})).status_code for n in range(4)]
    assert statuses == [303] * 3 + [422]
    statuses = [(await eve.post("/account/email", {"email": f"{n}@example.com"})).status_code for n in range(9)]
    assert statuses[-1] == 429  # of what is asked while signed in, too, there are ten a minute
    assert (await bob.post("/account/email", {"email": "0@example.com"})).status_code == 303
    assert len(await mails(mailing)) == len(sent) + 3  # bob's would have been the second within two minutes


async def test_a_reset_removes_other_credentials_on_request(place: WebApp) -> None:
    ada = await signed_up(place)
    person_id, now = (await owner(place)).id, place.clock()
    await create_key(place.db, account_id=(await owned(place)).id, name=HOSTILE, scopes=(), now=now)
    row = {"id": uuid4(), "person_id": person_id, "credential_id": b"1", "public_key": b"2", "uses": 0}
    async with place.db.write() as tx:
        await tx.execute(passkeys.passkeys.insert(), row | {"name": "An old phone", "created_at": now})
    for fields, left in (({}, 1), ({"remove_credentials": "yes"}, 0)):
        await ada.post("/forgot", {"email": "ada@example.com"})
        path = way((await mails(place))[-1])
        page = (await ada.get(path)).text
        assert "An old phone" in page
        assert HOSTILE not in page
        assert 'name="remove_credentials"' in page
        assert (await ada.post(path, {"password": OTHER, **fields})).status_code == 303
        for table in (passkeys.passkeys, api_keys):
            assert len(await rows(place, select(table.c.id))) == left


async def test_a_sign_in_link_works_once_and_only_by_its_button(place: WebApp) -> None:
    await place.browser("ada@example.com")
    deps = new_deps(place.settings, place.db, place.clock)
    ada, eve = await place.browser(), await place.browser()
    link = (await sign_in.create_sign_in_link(deps, (await owner(place)).id)).removeprefix(BASE_URL)
    for _ in range(2):
        assert (await eve.get(link)).status_code == 200
    assert (await ada.post(link, {"timezone": "America/New_York"})).headers["location"] == "/"
    assert '<span id="zone">America/New York<' in (await ada.get("/account")).text
    assert ((await eve.get(link)).status_code, (await eve.post(link)).status_code) == (404, 404)
    link = (await sign_in.create_sign_in_link(deps, (await owner(place)).id)).removeprefix(BASE_URL)
    place.clock.move(timedelta(minutes=15))
    assert (await eve.post(link)).status_code == 404
    for purpose in ("reset", "confirm", "invite"):
        assert (await eve.get(link.replace("enter", purpose))).status_code == 404


async def test_a_token_is_spent_once(place: WebApp) -> None:
    async with place.db.write() as tx:
        text = await tokens.issue(tx, "invite", now=place.clock(), email="a@example.com")
    async with place.db.write() as tx:
        first, second = [await tokens.consume(tx, "invite", text, now=place.clock()) for _ in range(2)]
    assert first
    assert second is None
