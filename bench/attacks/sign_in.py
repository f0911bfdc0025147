"""Attacks on sign-in: password guesses from many IP addresses, and requests for password resets."""

import asyncio
import time
from collections import Counter

import httpx

from bench.attacks.scenario import PASSWORD, Latencies, Scenario
from bench.report import Row, measured

_GUESSES = 300
_ADDRESSES = 100
_REQUESTS = 30


async def guesses(scenario: Scenario) -> list[Row]:
    """From a hundred IP addresses, so that no limit per address stops them."""
    latencies, statuses, taken = list[Latencies](), list[int](), list[float]()

    async def guess(number: int) -> None:
        async with _browser(scenario, f"127.0.1.{number % _ADDRESSES + 1}") as stranger:
            response = await _sign_in(stranger, scenario, f"guess number {number}")
            statuses.append(response.status_code)

    async with _browser(scenario, "127.0.0.1") as owner:
        assert (await _sign_in(owner, scenario, PASSWORD)).status_code == 303
        async with scenario.observed(latencies):
            for start in range(0, _GUESSES, 20):
                await asyncio.gather(*(guess(number) for number in range(start, start + 20)))
                began = time.perf_counter()
                is_in = (await _sign_in(owner, scenario, PASSWORD)).status_code == 303
                taken.append((time.perf_counter() - began) * 1000 if is_in else 60_000)
    name = f"{_GUESSES} guesses of a password from {_ADDRESSES} addresses"
    tried = _GUESSES - statuses.count(429) - statuses.count(503)
    counts = ", ".join(f"{count} x {status}" for status, count in sorted(Counter(statuses).items()))
    return [
        *latencies[0].rows(name, scenario.before),
        measured(f"{name}: passwords compared", tried, counts),
        measured(f"{name}: the owner signs in, slowest of {len(taken)}", max(taken), unit=" ms"),
    ]


async def mails(scenario: Scenario) -> list[Row]:
    """Requests to reset a password, each from another IP address."""
    statuses = list[int]()
    for number in range(_REQUESTS):
        async with _browser(scenario, f"127.0.2.{number + 1}") as stranger:
            response = await stranger.post("/forgot", data={"email": scenario.neighbour.email})
            statuses.append(response.status_code)
    # The worker writes the emails. If it writes none, there is no event to wait for.
    await asyncio.sleep(max(3.0, scenario.seconds / 2))
    sent = len(list((scenario.directory / "data" / "mail").glob("*")))
    name = f"{_REQUESTS} requests to reset one account's password"
    counts = ", ".join(f"{count} x {status}" for status, count in sorted(Counter(statuses).items()))
    return [
        measured(f"{name}: emails sent", sent, "emails are files here: no mail server"),
        Row(f"{name}: responses to the attacker", counts),
    ]


def _browser(scenario: Scenario, address: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=scenario.url,
        transport=httpx.AsyncHTTPTransport(local_address=address),
        headers={"Origin": scenario.url, "Sec-Fetch-Site": "same-origin"},
        timeout=60,
    )


async def _sign_in(browser: httpx.AsyncClient, scenario: Scenario, password: str) -> httpx.Response:
    return await browser.post("/login", data={"email": scenario.neighbour.email, "password": password, "next": ""})


ATTACKS = {"guesses": guesses, "mails": mails}
