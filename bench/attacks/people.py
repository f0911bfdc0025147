"""Attacks on an owner: guesses of the password from many addresses, and mails that strangers ask for."""

import asyncio
import time
from collections import Counter

import httpx

from bench.attacks.stage import PASSWORD, Felt, Stage
from bench.report import Row, at_most, told

_GUESSES = 300
_ADDRESSES = 100
_REQUESTS = 30
_MAILS = 3
_SIGN_IN_WITHIN = 2_000.0  # milliseconds


async def guesses(stage: Stage) -> list[Row]:
    """From a hundred addresses, so that no limit of an address ends them."""
    felt, statuses, taken = list[Felt](), list[int](), list[float]()

    async def guess(number: int) -> None:
        async with _browser(stage, f"127.0.1.{number % _ADDRESSES + 1}") as stranger:
            answer = await _sign_in(stranger, stage, f"guess number {number}")
            statuses.append(answer.status_code)

    async with _browser(stage, "127.0.0.1") as owner:
        assert (await _sign_in(owner, stage, PASSWORD)).status_code == 303
        async with stage.observed(felt):
            for start in range(0, _GUESSES, 20):
                await asyncio.gather(*(guess(number) for number in range(start, start + 20)))
                began = time.perf_counter()
                is_in = (await _sign_in(owner, stage, PASSWORD)).status_code == 303
                taken.append((time.perf_counter() - began) * 1000 if is_in else 60_000)
    name = f"{_GUESSES} guesses of a password from {_ADDRESSES} addresses"
    tried = _GUESSES - statuses.count(429) - statuses.count(503)
    counts = ", ".join(f"{count} x {status}" for status, count in sorted(Counter(statuses).items()))
    return [
        *felt[0].rows(name, stage.before),
        at_most(f"{name}: passwords that were compared", tried, 20, counts),
        at_most(f"{name}: the owner signs in, slowest of {len(taken)}", max(taken), _SIGN_IN_WITHIN, unit=" ms"),
    ]


async def mails(stage: Stage) -> list[Row]:
    """Requests to reset a password, each from another address."""
    statuses = list[int]()
    for number in range(_REQUESTS):
        async with _browser(stage, f"127.0.2.{number + 1}") as stranger:
            answer = await stranger.post("/forgot", data={"email": stage.neighbour.email})
            statuses.append(answer.status_code)
    await asyncio.sleep(
        max(3.0, stage.seconds / 2)
    )  # the worker writes them; there is nothing to wait for if it does not
    sent = len(list((stage.directory / "data" / "mail").glob("*")))
    name = f"{_REQUESTS} requests to reset one account's password"
    counts = ", ".join(f"{count} x {status}" for status, count in sorted(Counter(statuses).items()))
    return [
        at_most(f"{name}: mails sent", sent, _MAILS, "mails are files here, for want of a mail server"),
        told(f"{name}: what the attacker got", counts),
    ]


def _browser(stage: Stage, address: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=stage.url,
        transport=httpx.AsyncHTTPTransport(local_address=address),
        headers={"Origin": stage.url, "Sec-Fetch-Site": "same-origin"},
        timeout=60,
    )


async def _sign_in(browser: httpx.AsyncClient, stage: Stage, password: str) -> httpx.Response:
    return await browser.post("/login", data={"email": stage.neighbour.email, "password": password, "next": ""})


ATTACKS = {"guesses": guesses, "mails": mails}
