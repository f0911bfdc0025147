"""Pages of sign-up, sign-in and the account."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from accounts.sign_ups import (
    HOSTILE,
    OTHER,
    PASSWORD,
    due,
    exported,
    mails,
    owned,
    owner,
    rows,
    signed_in,
    signed_up,
    way,
)
from browsing import BASE_URL, Browser, WebApp, open_place
from sqlalchemy import insert, select, update
from starlette.requests import Request

from waypost import mail
from waypost.accounts import SignInClient, create_key, open_limiters
from waypost.accounts.auth_deps import new_deps
from waypost.accounts.data import deletion as account_deletion
from waypost.accounts.data import export
from waypost.accounts.model import accounts, people
from waypost.accounts.people import profile
from waypost.accounts.sessions import store as sessions_of
from waypost.accounts.sessions.store import sessions
from waypost.accounts.setup import signup
from waypost.accounts.sign_in import delay as sign_in_delay
from waypost.accounts.sign_in import passkeys
from waypost.accounts.sign_in import service as sign_in
from waypost.accounts.sign_in.limiter import SignInLimiter
from waypost.composition import new_context
from waypost.database import Database
from waypost.kit.errors import Invalid, NotFound, RateLimited
from waypost.packages import RESOURCES
from waypost.redirect import ChangeFeed
from waypost.resources.links.model import links, slugs


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path) as place:
        yield place


@pytest.fixture
async def mailing(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path, smtp_url="smtp://mail.test") as place:
        yield place


async def test_signs_up_out_and_in(place: WebApp) -> None:
    ada = await signed_up(place)
    page = await ada.get("/account")
    assert page.status_code == 200
    assert "Confirm your email address" not in page.text  # this service sends no email, so none is needed
    before = ada.client.cookies["waypost"]
    assert (await ada.post("/logout")).headers["location"] == "/login"
    assert (await ada.get("/account")).headers["location"] == "/login?next=/account"
    answer = await ada.post("/login", {"email": " Ada@Example.com", "password": PASSWORD, "next": "/links"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/links")
    assert ada.client.cookies["waypost"] != before
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie


async def test_sign_in_asks_for_empty_fields(place: WebApp) -> None:
    visitor = await place.browser()
    for email, password in (("", ""), (" ", PASSWORD), ("ada@example.com", "")):
        refused = await visitor.post("/login", {"email": email, "password": password})
        assert (refused.status_code, sign_in.NO_CREDENTIALS in refused.text) == (422, True)


async def test_sign_in_does_not_reveal_who_has_an_account(place: WebApp) -> None:
    await signed_up(place)
    visitor = await place.browser()
    answers = [
        await visitor.post("/login", {"email": email, "password": password})
        for email, password in (
            ("ada@example.com", OTHER),
            ("eve@example.com", OTHER),
            ("eve@example.com\0", OTHER),
            ("ada@example.com", "x" * 2_000),
        )
    ]
    assert {answer.status_code for answer in answers} == {422}
    assert all(sign_in.WRONG_CREDENTIALS in answer.text for answer in answers)
    known, unknown = answers[0].text, answers[1].text.replace("eve@", "ada@")
    assert known == unknown
    assert OTHER not in known
    forgot = [(await visitor.post("/forgot", {"email": f"{who}@example.com"})).text for who in ("ada", "eve")]
    assert forgot[0] == forgot[1].replace("eve@", "ada@")
    assert [mail["to"] for mail in await mails(place) if "/reset/" in mail["text"]] == ["ada@example.com"]


async def test_errors_are_shown_beside_their_fields_and_input_is_kept(place: WebApp) -> None:
    await signed_up(place)
    visitor = await place.browser()
    for fields, faults in (
        ({"name": HOSTILE, "email": "nonsense", "password": "short"}, ["email", "password"]),
        ({"name": "Ada", "email": "ada@example.com", "password": OTHER}, ["email"]),
        ({"name": "Ada", "email": "new@example.com", "password": "Password123"}, ["password"]),
        ({"name": "x" * 300, "email": "new@example.com", "password": OTHER}, ["name"]),
        ({"name": ""}, ["email", "password"]),
    ):
        page = await visitor.post("/signup", fields)
        assert page.status_code == 422
        assert re.findall(r'class="error" id="(\w+)-error"', page.text) == faults
        assert fields.get("password", HOSTILE) not in page.text
        assert HOSTILE not in page.text
        assert f'value="{fields.get("email", "")}"' in page.text


async def test_cross_site_forms_are_refused(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    paths = ["/login", "/login/passkey", "/login/passkey/options", "/logout", "/signup", "/forgot", "/enter/x"]
    paths += [f"/account/{each}" for each in ("name", "email", "password", "delete", "passkeys", "sessions/end-others")]
    for path in paths:
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "none"}, {}):
            answer = await ada.client.post(path, data={"name": "x"}, headers=headers)
            assert answer.status_code == 403, path
    assert (await ada.get("/account")).status_code == 200


async def test_guesses_are_limited_by_ip_address(place: WebApp) -> None:
    """The owner, elsewhere, still gets in."""
    await signed_up(place)
    transport = httpx.ASGITransport(place.site, client=("203.0.113.5", 1))
    async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as client:
        eve = Browser(client, None)
        wrong = {"email": "ada@example.com", "password": OTHER}
        statuses = []
        for _ in range(11):
            statuses.append((await eve.post("/login", wrong)).status_code)
            place.clock.move(sign_in_delay.MAX_DELAY)  # this limiter has a clock of its own
        assert statuses == [422] * 10 + [429]
        right = await eve.post("/login", wrong | {"password": PASSWORD})
        assert right.status_code == 429
        assert int(right.headers["retry-after"]) > 0
        assert (await eve.post("/login", {"email": "bob@example.com", "password": OTHER})).status_code == 422
        statuses = [
            (await eve.post("/login", {"email": f"{n}@example.com", "password": "x"})).status_code for n in range(50)
        ]
        assert statuses[-1] == 429
    assert (await signed_in(place)).status_code == 303


async def test_a_known_browser_has_its_own_limit(place: WebApp) -> None:
    ada = await signed_up(place)
    await ada.post("/logout")
    eve = await place.browser()  # at the same address
    wrong = {"email": "ada@example.com", "password": OTHER}
    assert [(await eve.post("/login", wrong)).status_code for _ in range(11)][-1] == 429
    for n in range(50):
        await eve.post("/forgot", {"email": f"{n}@example.com"})
    assert (await eve.post("/forgot", {"email": "x@example.com"})).status_code == 429
    assert "ada@" not in ada.client.cookies["waypost-known"]
    assert (await ada.post("/login", wrong)).status_code == 422
    assert (await ada.post("/login", {"email": "bob@example.com", "password": OTHER})).status_code == 429
    forged = await place.browser()
    forged.client.cookies.set("waypost-known", ada.client.cookies["waypost-known"][:-1] + "x", domain="app.test")
    assert (await forged.post("/login", wrong)).status_code == 429
    assert (await ada.post("/login", wrong | {"password": PASSWORD})).status_code == 303
    assert [(await ada.post("/login", wrong)).status_code for _ in range(11)][-1] == 429


async def test_an_ipv6_network_has_one_limit(db: Database, tmp_path: Path) -> None:
    limiters = open_limiters(db, tmp_path)
    sign_in_limiter = SignInLimiter(limiters, (), key=b"key", is_secure=True, db=db)

    async def take(address: str) -> None:
        scope = {"type": "http", "headers": [], "client": (address, 1), "scheme": "https"}
        await sign_in_limiter.check(Request(scope))

    for n in range(300):
        await take(f"2001:db8:1:{n:x}::1")
    with pytest.raises(RateLimited):
        await take("2001:db8:1:ffff::1")
    await take("2001:db8:2::1")
    await limiters.close()


@pytest.mark.parametrize(("privacy", "kept"), [("full", "127.0.0.1"), ("truncated", "127.0.0.0"), ("none", "")])
async def test_a_session_stores_the_ip_address_as_privacy_allows(
    database_url: str, tmp_path: Path, privacy: str, kept: str
) -> None:
    async with open_place(database_url, tmp_path, ip_privacy=privacy) as place:
        await signed_up(place)
        assert await rows(place, select(sessions.c.ip)) == [(kept,)]


async def test_a_changed_password_ends_all_other_sessions(place: WebApp) -> None:
    ada = await signed_up(place)
    elsewhere = await place.browser()
    await elsewhere.post("/login", {"email": "ada@example.com", "password": PASSWORD})
    link = await sign_in.create_sign_in_link(new_deps(place.settings, place.db, place.clock), (await owner(place)).id)
    for current, expected, fault in ((OTHER, OTHER, "current_password"), (PASSWORD, "1234567890", "password")):
        page = await ada.post("/account/password", {"current_password": current, "password": expected})
        assert page.status_code == 422
        assert f'id="{fault}-error"' in page.text
    before = ada.client.cookies["waypost"]
    answer = await ada.post("/account/password", {"current_password": PASSWORD, "password": OTHER})
    assert answer.headers["location"] == "/account/security?done=password"
    assert ada.client.cookies["waypost"] != before
    assert (await ada.get("/account")).status_code == 200
    assert (await elsewhere.get("/account")).status_code == 303
    assert (await elsewhere.get(link.removeprefix(BASE_URL))).status_code == 404
    assert "Your password was changed" in (await mails(place))[-1]["subject"]


async def test_error_pages_keep_the_navigation_of_signed_in_users(place: WebApp) -> None:
    ada, nobody = await signed_up(place), await place.browser()
    pages = [await browser.get("/account/nothing") for browser in (ada, nobody)]
    assert [page.status_code for page in pages] == [404, 404]
    assert ['aria-label="Main"' in page.text for page in pages] == [True, False]
    assert ">Sign in</a>" in pages[1].text


async def test_an_account_keeps_its_email(place: WebApp) -> None:
    ada = await signed_up(place)
    refused = await ada.post("/account/email", {"email": " Ada@example.com "})
    assert (refused.status_code, profile.SAME_EMAIL in refused.text) == (422, True)


async def test_an_authentication_before_a_change_begins_no_session_after_it(place: WebApp) -> None:
    await signed_up(place)
    deps = new_deps(place.settings, place.db, place.clock)
    stored = await sign_in.find_with_password(deps, "ada@example.com")
    authenticated = await sign_in.sign_in(deps, "ada@example.com", stored, PASSWORD, SignInClient())
    person_id, now = authenticated.person.id, place.clock()
    passkey = {"id": uuid4(), "person_id": person_id, "credential_id": b"1", "public_key": b"2", "uses": 0}
    async with place.db.write() as tx:
        await tx.execute(passkeys.passkeys.insert(), passkey | {"name": "phone", "created_at": now})

    async def begin(**by: Any) -> str:
        async with place.db.write() as tx:
            return await sessions_of.create(tx, person_id, user_agent="", ip="", now=now, **by)

    assert await begin(password=authenticated.password)
    assert await begin(passkey=passkey["id"])
    session = await sessions_of.find(place.db, await begin(), now=now)
    assert session
    again = await sign_in.change_password(deps, session, PASSWORD, OTHER)
    assert again.password != authenticated.password
    await passkeys.delete_passkey(deps, authenticated.person, passkey["id"], ip="")
    for by in ({"password": authenticated.password}, {"passkey": passkey["id"]}):
        with pytest.raises(NotFound):
            await begin(**by)
    assert await rows(place, select(sessions.c.id)) == [(session.id,)]
    assert await begin(password=again.password, replaced=session)
    with pytest.raises(Invalid):  # the new session has replaced the one that made the change
        await sign_in.change_password(deps, session, OTHER, PASSWORD)


async def test_without_mail_the_email_changes_immediately(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    assert (await ada.post("/account/email", {"email": "A@b.example"})).headers["location"] == "/account?done=email"
    assert "a@b.example" in (await ada.get("/account")).text
    assert (await ada.post("/account/name", {"name": HOSTILE})).status_code == 303
    page = (await ada.get("/account")).text
    assert HOSTILE not in page
    assert "&lt;script&gt;alert(1)" in page
    assert (await ada.post("/account/name", {"name": " "})).status_code == 422


async def test_times_and_numbers_are_shown_as_a_person_chose(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    page = (await ada.get("/account")).text
    assert 'Times in <span id="zone">UTC<' in page
    assert 'data-timezone="/account/timezone"' in page
    assert (await ada.post("/account/timezone", {"timezone": "Asia/Calcutta"})).status_code == 204
    assert (await ada.post("/account/timezone", {"timezone": "Asia/Tokyo"})).status_code == 204  # too late
    page = (await ada.get("/account/data")).text
    assert '<span id="zone">Asia/Kolkata<' in page
    assert "data-timezone" not in page
    chosen = {"timezone": "America/New_York", "date_format": "month_day", "number_format": "point"}
    refused = await ada.post(
        "/account/preferences", chosen | {"timezone": "Mars", "date_format": "", "number_format": "x"}
    )
    assert (refused.status_code, refused.text.count("Choose one of the list.")) == (422, 3)
    assert (await ada.post("/account/preferences", chosen)).headers["location"] == "/account?done=preferences"
    page = (await ada.get("/account")).text
    assert '<option value="America/New_York" selected>America/New York</option>' in page
    assert '<option value="month_day" selected>Jan 1, 2030, 7:00 AM</option>' in page
    assert '<option value="point" selected>1.234,5</option>' in page
    async with place.db.write() as tx:  # by another version, or on a machine with other time zones
        await tx.execute(update(people).values(timezone="Mars/Base", date_format="x", number_format="y"))
    assert '<span id="zone">UTC<' in (await ada.get("/account")).text


async def test_a_sign_in_reports_the_time_zone(place: WebApp) -> None:
    await signed_up(place)
    ada = await place.browser()
    fields = {"email": "ada@example.com", "password": PASSWORD, "timezone": "Asia/Calcutta"}
    assert (await ada.post("/login", fields)).status_code == 303
    assert '<span id="zone">Asia/Kolkata<' in (await ada.get("/account")).text
    assert (await (await place.browser()).post("/login", fields | {"timezone": "Asia/Tokyo"})).status_code == 303
    assert '<span id="zone">Asia/Kolkata<' in (await ada.get("/account")).text


async def test_a_browser_without_a_known_time_zone_is_in_utc(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    await ada.post("/account/timezone", {"timezone": "Etc/Unknown"})
    assert "data-timezone" not in (await ada.get("/account")).text


async def test_an_old_session_requires_reauthentication(place: WebApp) -> None:
    ada = await signed_up(place)
    place.clock.move(timedelta(minutes=11))
    for path, fields in (("/account/email", {"email": "b@example.com"}), ("/account/delete", {})):
        for password, fault in (("", sign_in.NO_PASSWORD), (OTHER, sign_in.WRONG_PASSWORD)):
            page = await ada.post(path, fields | {"current_password": password})
            assert page.status_code == 422
            assert fault in page.text
    response = await ada.post("/account/passkeys/options", {"passkey_name": ""})
    assert (response.status_code, response.json()) == (422, {"error": sign_in.NO_PASSWORD})
    fields = {"email": "b@example.com", "current_password": PASSWORD}
    assert (await ada.post("/account/email", fields)).status_code == 303


async def test_sessions_are_listed_and_ended(place: WebApp) -> None:
    ada, bob = await signed_up(place), await place.browser("bob@example.com")
    others = [await place.browser() for _ in range(3)]
    for other in others:
        fields = {"email": "ada@example.com", "password": PASSWORD}
        await other.post("/login", fields, headers={"User-Agent": f"Firefox/140 (Linux) {HOSTILE}"})
    page = (await ada.get("/account/sessions")).text
    assert page.count("Firefox on Linux") == 6  # each by its name and in its button
    assert HOSTILE not in page
    ids = re.findall(r"/account/sessions/([\w-]{36})/end", page)
    assert len(ids) == 3
    foreign = (await rows(place, select(sessions.c.id).where(sessions.c.person_id == bob.person.id)))[0].id  # type: ignore[union-attr]
    for unknown in (foreign, uuid4(), "nonsense"):
        assert (await ada.post(f"/account/sessions/{unknown}/end")).status_code == 404
    assert (await bob.get("/account")).status_code == 200
    await ada.post(f"/account/sessions/{ids[0]}/end")
    assert sorted([(await other.get("/account")).status_code for other in others]) == [200, 200, 303]
    await ada.post("/account/sessions/end-others")
    assert {(await other.get("/account")).status_code for other in others} == {303}
    assert (await ada.get("/account")).status_code == 200


async def test_large_forms_are_refused(place: WebApp) -> None:
    visitor = await place.browser()
    for files in (None, {"x": b"a file"}):
        for size, status in ((70_000, 413), (1_000, 422)):
            fields = {"email": "x" * size, "password": "x"}
            assert (await visitor.post("/login", fields, files=files)).status_code == status


@pytest.mark.parametrize("policy", ["invite", "closed"])
async def test_the_signup_policy_is_applied(database_url: str, tmp_path: Path, policy: str) -> None:
    async with open_place(database_url, tmp_path, signup=policy, smtp_url="smtp://mail.test") as place:
        visitor, deps = await place.browser(), new_deps(place.settings, place.db, place.clock)
        fields = {"name": "Eve", "email": "eve@example.com", "password": PASSWORD}
        assert {(await visitor.get("/signup")).status_code, (await visitor.post("/signup", fields)).status_code} == {
            403
        }
        assert "/signup" not in (await visitor.get("/login")).text
        if policy == "closed":
            with pytest.raises(signup.Forbidden):
                await signup.invite(deps, "ada@example.com")
            return
        path = (await signup.invite(deps, "Ada@example.com")).url.removeprefix(BASE_URL)
        assert way((await mails(place))[0]) == path
        assert "ada@example.com" in (await visitor.get(path)).text
        assert (await visitor.post(path, fields | {"password": "x"})).status_code == 422
        assert (await visitor.post(path, fields)).status_code == 303
        ada = await owner(place)
        assert ada.confirmed_at is not None
        assert (await owned(place)).plan_type == "trial"
        assert (await visitor.post(path, fields)).status_code == 404


async def linked(place: WebApp, browser: Browser, slug: str) -> None:
    assert browser.account
    now = place.clock()
    row = {"id": uuid4(), "account_id": browser.account.id, "slug": slug, "destination_url": "https://example.com/"}
    row |= {"title": "T", "utm_params": {}, "tags": [], "search_text": slug, "is_enabled": True}
    async with place.db.write() as tx:
        await tx.execute(links.insert(), row | {"created_at": now, "updated_at": now})
        await tx.execute(slugs.insert(), {"slug": slug, "account_id": row["account_id"], "link_id": row["id"]})


async def test_the_export_has_only_own_data_and_no_secrets(place: WebApp) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    await linked(place, ada, "adas")
    await linked(place, bob, "bobs")
    assert ada.account
    _, key = await create_key(place.db, account_id=ada.account.id, name="k", scopes=(), now=place.clock())
    files = await exported(ada)
    assert [json.loads(line)["slug"] for line in files["links.ndjson"].splitlines()] == ["adas"]
    assert json.loads(files["account.json"])["email"] == "ada@example.com"
    assert {"README.txt", *re.findall(r"^(\S+\.\w+)  ", files["README.txt"], re.MULTILINE)} == set(files)
    assert not [name for name, text in files.items() if key in text or "bobs" in text]


async def test_the_export_says_nothing_about_how_members_sign_in(place: WebApp) -> None:
    ada = await signed_up(place)
    bob = await place.member("bob@example.com", await owned(place), "owner")
    assert bob.person
    async with place.db.write() as tx:
        row = {"id": uuid4(), "person_id": bob.person.id, "credential_id": b"c", "public_key": b"k", "uses": 0}
        await tx.execute(insert(passkeys.passkeys).values(**row, name="Bob's key", created_at=place.clock()))
    for exporter in (ada, bob):
        content = (await exported(exporter))["account.json"]
        assert [member["email"] for member in json.loads(content)["members"]] == ["ada@example.com", "bob@example.com"]
        for word in ("Bob's key", "127.0.0.1", "a test", "httpx", "session", "passkey", "factor"):
            assert word not in content


async def test_one_export_at_a_time(place: WebApp, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_go_on = asyncio.Event(), asyncio.Event()

    async def slow(*_: object) -> AsyncIterator[bytes]:
        begun.set()
        await may_go_on.wait()
        yield b"zip"

    monkeypatch.setattr(export, "write_archive", slow)
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    under_way = asyncio.create_task(ada.post("/account/data/export"))
    await begun.wait()
    second = await ada.post("/account/data/export")
    assert (second.status_code, "already running" in second.text) == (422, True)
    may_go_on.set()
    assert (await under_way).content == b"zip"
    for who in (ada, bob):
        assert (await who.post("/account/data/export")).content == b"zip"
    assert (await ada.get("/account/data/export")).status_code == 405
    assert (await ada.client.post("/account/data/export")).status_code == 403


async def test_deletes_an_account(place: WebApp, tmp_path: Path) -> None:
    ada, bob = await signed_up(place), await place.browser("bob@example.com")
    ada.account = await owned(place)
    _, key = await create_key(place.db, account_id=ada.account.id, name="k", scopes=(), now=place.clock())
    bearer = {"Authorization": f"Bearer {key}"}
    await linked(place, ada, "adas")
    await linked(place, bob, "bobs")
    assert (await ada.get("/adas")).status_code == 302
    assert (await ada.client.get("/api/v1/me", headers=bearer)).status_code == 200
    answer = await ada.post("/account/delete", {"current_password": PASSWORD})
    assert answer.headers["location"] == "/login?done=deleted"
    assert [(await bob.get(path)).status_code for path in ("/adas", "/bobs")] == [404, 302]
    assert (await ada.client.get("/api/v1/me", headers=bearer)).status_code == 401
    assert (await signed_in(place)).status_code == 422
    feed = ChangeFeed(place.settings.data_dir / "run" / "changes")
    delete = account_deletion.AccountDeletion(
        new_context(place.settings, place.db, feed.publish, place.clock), RESOURCES
    )
    [job] = await due(place, account_deletion.JOB)
    while again := await delete(job):
        job = replace(job, payload=again.payload)
    feed.close()
    assert [row.email for row in await rows(place, select(accounts.c.email))] == ["bob@example.com"]
    assert await due(place, mail.JOB, keep=True) == []  # a deleted account gets no email
    assert [row.slug for row in await rows(place, select(links.c.slug))] == ["bobs"]
    kept = await rows(place, select(slugs.c.slug, slugs.c.account_id, slugs.c.link_id).where(slugs.c.slug == "adas"))
    assert kept == [("adas", ada.account.id, None)]
    await signed_up(place)  # the address is free again
