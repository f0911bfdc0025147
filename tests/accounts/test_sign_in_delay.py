"""Guesses from everywhere at one account: unknown browsers wait longer and longer, known ones do not."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from browsing import BASE_URL, Browser, WebApp, open_place
from sqlalchemy import func, select

from waypost.accounts.sign_in import delay as sign_in_delay
from waypost.accounts.sign_in import passwords
from waypost.accounts.sign_in.delay import MAX_DELAY, sign_in_failures
from waypost.worker.jobs import jobs

PASSWORD, WRONG = "four plain words suffice", "five other words are wrong"
ADA = "ada@example.com"


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path) as place:
        yield place


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Passwords that were compared with a hash, without the cost of it."""
    seen: list[str] = []

    def matches(text: str, stored: str) -> bool:
        seen.append(text)
        return text == PASSWORD and stored != passwords.DUMMY_HASH

    monkeypatch.setattr(passwords, "_matches", matches)
    return seen


async def signed_up(place: WebApp) -> Browser:
    ada = await place.browser()
    answer = await ada.post("/signup", {"name": "Ada", "email": ADA, "password": PASSWORD})
    assert answer.status_code == 303
    return ada


async def guess(place: WebApp, n: int, email: str = ADA, password: str = WRONG) -> httpx.Response:
    """Sign in from a new IP address and a new browser."""
    address = (f"203.0.{n // 250}.{n % 250 + 1}", 1)
    transport = httpx.ASGITransport(place.site, client=address)
    async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as client:
        return await Browser(client, None).post("/login", {"email": email, "password": password})


async def waits(place: WebApp, email: str) -> list[int]:
    """Seconds that guesses were delays to wait, each sent as early as allowed."""
    delays = []
    for n in range(0, 40, 2):
        answer = await guess(place, n, email)
        assert answer.status_code == 422
        refused = await guess(place, n + 1, email)
        delays.append(int(refused.headers.get("retry-after", 0)))
        assert refused.status_code == (429 if delays[-1] else 422)
        if delays[-1]:
            assert f"Try again in {delays[-1]} second" in refused.text
        place.clock.move(timedelta(seconds=delays[-1]))
    return delays


async def test_guesses_from_many_addresses_get_a_growing_delay(place: WebApp, tried: list[str]) -> None:
    await signed_up(place)
    growing = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    of_ada = await waits(place, ADA)
    assert of_ada == [0, *growing, *[900] * 9]
    refused = sum(wait > 0 for wait in of_ada)
    assert len(tried) == 40 - refused, "no password is hashed for a refused attempt"
    assert await waits(place, "nobody@example.com") == of_ada


async def test_a_known_browser_is_not_delayed(place: WebApp, tried: list[str]) -> None:
    ada = await signed_up(place)
    for n in range(4):
        answer = await guess(place, n)
    assert answer.status_code == 429
    assert (await guess(place, 5, password=PASSWORD)).status_code == 429
    await ada.post("/logout")
    assert (await ada.post("/login", {"email": ADA, "password": WRONG})).status_code == 422
    assert (await ada.post("/login", {"email": ADA, "password": PASSWORD})).status_code == 303
    place.clock.move(timedelta(seconds=1))
    assert (await guess(place, 6, password=PASSWORD)).status_code == 303
    assert [(await guess(place, n)).status_code for n in range(7, 11)] == [422, 422, 422, 429]
    place.clock.move(sign_in_delay.RESET_AFTER)
    assert (await guess(place, 11)).status_code == 422


async def test_a_browser_is_unknown_after_a_new_password_and_to_other_accounts(place: WebApp) -> None:
    ada, elsewhere, bob = await signed_up(place), await place.browser(), await place.browser()
    await elsewhere.post("/login", {"email": ADA, "password": PASSWORD})
    await bob.post("/signup", {"name": "Bob", "email": "bob@example.com", "password": PASSWORD})
    await ada.post("/account/password", {"current_password": PASSWORD, "password": WRONG})
    await ada.post("/account/email", {"email": "lovelace@example.com"})
    await ada.post("/logout")
    for n in range(4):
        await guess(place, n, "lovelace@example.com", "neither of the two")
    right = {"email": "lovelace@example.com", "password": WRONG}
    assert [(await each.post("/login", right)).status_code for each in (elsewhere, bob, ada)] == [429, 429, 303]


async def test_a_node_whose_clock_is_behind_counts_the_failures_of_others(place: WebApp, tried: list[str]) -> None:
    await signed_up(place)
    for n in range(3):
        assert (await guess(place, n)).status_code == 422
    place.clock.move(-timedelta(seconds=10))
    assert (await guess(place, 3)).status_code == 429
    place.clock.move(-MAX_DELAY)
    assert (await guess(place, 4)).status_code == 422


async def test_concurrent_guesses_count_each_other(place: WebApp, tried: list[str]) -> None:
    await signed_up(place)
    answers = await asyncio.gather(*(guess(place, n) for n in range(12)))
    assert sorted(each.status_code for each in answers) == [422] * sign_in_delay.FREE_FAILURES + [429] * 9
    assert len(tried) == sign_in_delay.FREE_FAILURES


async def test_the_delay_survives_a_restart_and_its_state_is_bounded(
    database_url: str, tmp_path: Path, tried: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_in_delay, "_SLOTS", 4)
    async with open_place(database_url, tmp_path) as place:
        for n in range(4):
            await guess(place, n)
    async with open_place(database_url, tmp_path) as place:
        assert (await guess(place, 4)).status_code == 429
        for n in range(40):
            await guess(place, n, f"nobody-{n}@example.com")
        async with place.db.read() as tx:
            assert await tx.scalar(select(func.count()).select_from(sign_in_failures)) == 4


async def test_the_password_of_a_confirmation_link_is_delayed_too(
    database_url: str, tmp_path: Path, tried: list[str]
) -> None:
    """The page that confirms an address takes the password, too."""
    async with open_place(database_url, tmp_path, smtp_url="smtp://mail.test") as place:
        visitor = await place.browser()
        await visitor.post("/signup", {"name": "Ada", "email": ADA, "password": PASSWORD})
        path = await confirmation_path(place)
        statuses = [(await visitor.post(path, {"password": WRONG})).status_code for _ in range(4)]
        assert statuses == [422, 422, 422, 429]
        assert (await guess(place, 1)).status_code == 429


async def confirmation_path(place: WebApp) -> str:
    async with place.db.read() as tx:
        payload = (await tx.execute(select(jobs.c.payload).where(jobs.c.name == "mail.send"))).scalar_one()
    return re.findall(rf"{BASE_URL}(/confirm/\S+)", payload["text"])[0]


def test_the_delay_has_a_maximum() -> None:
    assert sign_in_delay.delay_after(10_000) == MAX_DELAY
