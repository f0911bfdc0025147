"""Attacks on links with routing: guesses of link passwords, and rules that take as long as possible to compare."""

import asyncio
import time
from collections import Counter
from typing import Any

import httpx

from bench.attacks.scenario import Latencies, Scenario
from bench.report import Row, measured
from bench.seed import add_links, slug_of
from waypost.accounts import SignInClient, hash_password
from waypost.database import Database
from waypost.kit.clock import now
from waypost.resources.links import routing
from waypost.resources.links.routing import LinkRouting, RuleJson

_FIRST, _LINKS = 10_000, 10
_GUESSES, _ADDRESSES, _AT_ONCE = 300, 100, 20
_PASSWORD = "open sesame"  # used nowhere else
_VISITORS = 4


async def link_guesses(scenario: Scenario) -> list[Row]:
    """From a hundred IP addresses at ten protected links, while a visitor of another protected link enters."""
    hashed = await hash_password(_PASSWORD, SignInClient())
    slugs = await _add_links(scenario, password_hash=hashed, password_version=1)
    guessed, own = slugs[:-1], slugs[-1]
    latencies, answers, taken = list[Latencies](), list[str](), list[float]()

    async def guess(number: int) -> None:
        async with _browser(scenario, f"127.0.1.{number % _ADDRESSES + 1}") as stranger:
            answer = await stranger.post(f"/{guessed[number % len(guessed)]}", data={"password": f"guess {number}"})
            answers.append("wrong" if "Wrong password" in answer.text else "not compared")

    async with _browser(scenario, "127.0.0.1") as visitor, scenario.observed(latencies):
        for start in range(0, _GUESSES, _AT_ONCE):
            guesses = [asyncio.create_task(guess(number)) for number in range(start, start + _AT_ONCE)]
            if start % (_AT_ONCE * 3) == 0:  # within the limit of one address
                began = time.perf_counter()
                answer = await visitor.post(f"/{own}", data={"password": _PASSWORD})
                taken.append((time.perf_counter() - began) * 1000 if answer.status_code == 303 else 60_000)
            await asyncio.gather(*guesses)
    name = f"{_GUESSES} guesses of link passwords from {_ADDRESSES} addresses"
    counts = ", ".join(f"{count} x {answer}" for answer, count in sorted(Counter(answers).items()))
    return [
        *latencies[0].rows(name, scenario.before),
        measured(f"{name}: a visitor of another protected link, slowest of {len(taken)}", max(taken), unit=" ms"),
        Row(f"{name}: answers to the attacker", counts),
    ]


async def worst_rules(scenario: Scenario) -> list[Row]:
    """As many values as a link may have, compared with as many parameters as are read."""
    slugs = await _add_links(scenario, rules=_worst_rules())
    query = "&".join(f"a={number:x}" for number in range(10**6, 10**6 + 100))
    latencies, statuses = list[Latencies](), list[int]()

    async def visit(number: int) -> None:
        ended = time.monotonic() + scenario.seconds
        async with _browser(scenario, f"127.0.1.{number + 1}") as visitor:
            while time.monotonic() < ended:
                statuses.append((await visitor.get(f"/{slugs[number % len(slugs)]}?{query}")).status_code)

    async with scenario.observed(latencies):
        await asyncio.gather(*map(visit, range(_VISITORS)))
    name = f"{_VISITORS} visitors of links with the longest rules"
    counts = ", ".join(f"{count} x {status}" for status, count in sorted(Counter(statuses).items()))
    return [
        *latencies[0].rows(name, scenario.before),
        Row(f"{name}: responses to the attacker", counts),
    ]


async def _add_links(scenario: Scenario, **fields: Any) -> list[str]:
    """Add links of the attacker with this routing, and return their slugs."""
    db, account, at = Database(scenario.database_url), scenario.attacker.id, now()
    made = await add_links(db, account, _LINKS, first=_FIRST)
    async with db.write() as tx:
        await routing.add_many(tx, [LinkRouting(link, account, at, at, **fields) for link in made])
    await db.close()
    return [slug_of(_FIRST + number) for number in range(_LINKS)]


def _worst_rules() -> list[RuleJson]:
    """Return rules of nearly 100,000 characters, none of which matches."""
    rules: list[RuleJson] = []
    for rule in range(20):
        first = rule * 430
        values = [f"{number:x}" for number in range(first, first + 430)]
        rules.append(
            {
                "name": str(rule),
                "conditions": [
                    {"type": "query", "operator": "in", "name": "a", "values": values[start : start + 215]}
                    for start in (0, 215)
                ],
                "destination_url": "https://www.example.com/",
            }
        )
    return rules


def _browser(scenario: Scenario, address: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=scenario.url, transport=httpx.AsyncHTTPTransport(local_address=address), timeout=60
    )


ATTACKS = {"link-guesses": link_guesses, "worst-rules": worst_rules}
