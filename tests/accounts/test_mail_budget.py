"""What strangers can have mailed to an address by all ways together, and that its owner gets notices (R36)."""

import itertools
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from browsing import BASE_URL, Browser, WebApp, open_place
from claimed import claimed_row
from sqlalchemy import select

from waypost.accounts.auth_deps import new_deps
from waypost.accounts.people import profile
from waypost.accounts.setup import signup
from waypost.accounts.sign_in import service as sign_in
from waypost.worker.jobs import jobs

PASSWORD, OTHER = "four plain words suffice", "five other words are fine"
EVE, ADA = "eve@example.com", "ada@example.com"


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path, smtp_url="smtp://mail.test") as place:
        yield place


async def mails(place: WebApp) -> list[tuple[str, str]]:
    """(recipient, subject), after the jobs that write some."""
    async with place.db.write() as tx:
        requested = (await tx.execute(select(jobs).where(jobs.c.name == sign_in.JOB.name).order_by(jobs.c.id))).all()
        await tx.execute(jobs.delete().where(jobs.c.name == sign_in.JOB.name))
    for row in requested:
        job = claimed_row(row)
        await sign_in.send_password_reset(new_deps(place.settings, place.db, place.clock), job)
    async with place.db.read() as tx:
        rows = await tx.execute(select(jobs.c.payload).where(jobs.c.name == "mail.send").order_by(jobs.c.id))
        return [(each["to"], each["subject"]) for each in rows.scalars()]


async def test_requests_of_all_kinds_together_cannot_flood_a_mailbox(place: WebApp) -> None:
    """For an hour, with whatever sends mail and an address that has no account yet."""
    visitor, eve = await place.browser(), await place.browser(EVE)
    deps = new_deps(place.settings, place.db, place.clock)
    answers = []
    for n in range(12):
        place.clock.move(timedelta(minutes=4))
        address = ADA if n % 2 else f"ada+{n}@example.com"
        fields = {"name": "A", "email": address, "password": PASSWORD}
        joined = await visitor.post("/signup", fields)
        forgot = await visitor.post("/forgot", fields)
        moved = await eve.post("/account/email", {"email": address})
        await signup.invite(deps, f"ada+invited{n}@example.com")
        answers.append([(each.status_code, each.text.replace(address, "")) for each in (joined, forgot, moved)])
        await mails(place)
    to_ada = [each for each in await mails(place) if each[0] != EVE]
    assert len(to_ada) == 3
    assert all(each[:2] == answers[0][:2] for each in answers[:10]), "no page says that a mail was held back"


async def test_the_page_does_not_show_that_an_email_was_held_back(place: WebApp) -> None:
    await place.browser(ADA)
    visitor = await place.browser()
    pages = []
    for _ in range(6):
        place.clock.move(profile.RESEND_AFTER)
        page = await visitor.post("/forgot", {"email": ADA})
        pages.append((page.status_code, page.text))
        await mails(place)
    assert len(await mails(place)) == 3
    assert len(set(pages)) == 1


async def test_requested_emails_do_not_suppress_security_notices(place: WebApp) -> None:
    ada, visitor = await signed_up(place), await place.browser()
    for _ in range(6):
        place.clock.move(profile.RESEND_AFTER)
        await visitor.post("/forgot", {"email": ADA})
        await mails(place)
    before = await mails(place)
    await ada.post("/account/password", {"current_password": PASSWORD, "password": OTHER})
    assert [each[1] for each in (await mails(place))[len(before) :]] == ["Your password was changed"]


async def test_notices_to_an_unconfirmed_email_count_as_requested(place: WebApp) -> None:
    """Otherwise somebody who signs up with somebody's address could send them twice as many."""
    eve = await signed_up(place, is_confirmed=False)
    passwords = [PASSWORD, OTHER] * 3
    for before, after in itertools.pairwise(passwords):
        place.clock.move(timedelta(minutes=1))
        answer = await eve.post("/account/password", {"current_password": before, "password": after})
        assert answer.status_code == 303
    assert len(await mails(place)) == 3


async def signed_up(place: WebApp, *, is_confirmed: bool = True) -> Browser:
    deps, browser = new_deps(place.settings, place.db, place.clock), await place.browser()
    fields = {"name": "Ada", "email": ADA, "password": PASSWORD}
    if is_confirmed:
        path = (await signup.invite(deps, ADA)).url.removeprefix(BASE_URL)
        assert (await browser.post(path, fields)).status_code == 303
    else:
        await browser.post("/signup", fields)
        assert (await browser.post("/login", fields)).status_code == 303
    return browser
