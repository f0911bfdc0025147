"""Attacks by imports: files and answers that would become much in memory, and services that answer slowly.

Meanwhile another account imports a CSV file of one row.
"""

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from bench.attacks import inflation
from bench.attacks.inflation import Upload
from bench.attacks.outgoing import serving
from bench.attacks.scenario import PASSWORD, Account, Latencies, Scenario
from bench.report import Failed, Row, measured

_AT_ONCE = 5  # imports of an account
_TIMEOUT = 120.0  # seconds
_ONE_ROW = Upload("csv", "a.csv", lambda: b"url,slug\nhttps://example.com/,one\n")
_ACTIVE = "Reading links"


@dataclass
class _Memory:
    """MB of the worker and of the processes of imports, at most."""

    worker: list[float] = field(default_factory=list)
    imports: list[float] = field(default_factory=list)


async def inflating(scenario: Scenario) -> list[Row]:
    """Five files at once, again and again."""
    files = list(inflation.UPLOADS.values())
    messages = list[str]()

    async def attack(browser: httpx.AsyncClient) -> None:
        async def send(some: Sequence[Upload]) -> None:
            messages.extend([await _ended(browser, await _request(browser, file), every=1) for file in some])

        await asyncio.gather(*(send(files[start::_AT_ONCE]) for start in range(_AT_ONCE)))

    name = f"{len(files)} files that would inflate, {_AT_ONCE} at once"
    rows = await _during(scenario, name, [scenario.attacker], attack)
    refused = sum("damaged" in message or "not" in message for message in messages)
    return [*rows, Row(f"{name}: ended", str(len(messages)), f"{refused} with a message that refuses them")]


async def dripping(scenario: Scenario) -> list[Row]:
    """Nine imports of two accounts, from a service that sends a byte now and then."""
    started: list[str] = []

    async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{")
        while True:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.5)

    async with serving(drip) as url:

        async def attack(browser: httpx.AsyncClient) -> None:
            count = _AT_ONCE if not started else _AT_ONCE - 1
            started.extend("" for _ in range(count))
            for _ in range(count):
                answer = await browser.post("/links/import/bitly", data={"token": "x", "url": url})
                if answer.status_code != 303:
                    raise Failed(answer.text[:1_000])
            await asyncio.sleep(max(20.0, scenario.seconds))

        attackers = [scenario.attacker, scenario.accomplice]
        return await _during(scenario, "9 imports of two accounts from a dripping service", attackers, attack)


async def _during(scenario: Scenario, name: str, attackers: Sequence[Account], attack: object) -> list[Row]:
    latencies, memory, taken = list[Latencies](), _Memory(), list[float]()
    async with contextlib.AsyncExitStack() as stack:
        browsers = [await stack.enter_async_context(_browser(scenario, account)) for account in attackers]
        neighbour = await stack.enter_async_context(_browser(scenario, scenario.neighbour))
        before, alone = _sizes(scenario)[0], await _seconds_of_plan(neighbour)
        await stack.enter_async_context(scenario.observed(latencies))
        watching = asyncio.create_task(_watch(scenario, memory))
        attacking = asyncio.gather(*(attack(browser) for browser in browsers))  # type: ignore[operator]
        await asyncio.sleep(3)
        while not attacking.done():
            taken.append(await _seconds_of_plan(neighbour))
            await asyncio.sleep(1)
        await attacking
        watching.cancel()
        await stack.pop_all().aclose()
    slowest = f"slowest of {len(taken)}, with upload and the start of a process; before: {alone:.1f} s"
    return [
        *latencies[0].rows(name, scenario.before),
        measured(f"{name}: growth of the worker", max(memory.worker) - before, f"from {before:.0f} MB", " MB"),
        measured(f"{name}: largest processes of imports together", max(memory.imports, default=0), unit=" MB"),
        measured(f"{name}: another account's plan of one row is done", max(taken), slowest, " s"),
    ]


async def _seconds_of_plan(browser: httpx.AsyncClient) -> float:
    began = time.monotonic()
    await _ended(browser, await _request(browser, _ONE_ROW))
    return time.monotonic() - began


async def _watch(scenario: Scenario, memory: _Memory) -> None:
    while True:
        worker, imports = _sizes(scenario)
        memory.worker.append(worker)
        memory.imports.append(imports)
        await asyncio.sleep(0.05)


def _sizes(scenario: Scenario) -> tuple[float, float]:
    """Resident memory of the worker and of all processes of imports, in MB. At its start, a process is a copy."""
    sizes = {b"worker": 0.0, b"import": 0.0}
    for pid in scenario.server.processes():
        with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            kind = command[command.index(b"waypost.child") + 1]
            status = Path(f"/proc/{pid}/status").read_text()
            if kind in sizes:
                size = int(status.partition("VmRSS:")[2].split()[0]) / 1024
                sizes[kind] = sizes[kind] + size if kind == b"import" else max(sizes[kind], size)
    return sizes[b"worker"], sizes[b"import"]


async def _request(browser: httpx.AsyncClient, file: Upload) -> str:
    content = await asyncio.to_thread(file.content)
    fields = {"file_name": file.name, "file_size": str(len(content))}
    answer = await browser.post(f"/links/import/{file.source}", data=fields)
    if answer.status_code != 201:
        raise Failed(f"{file.name}: {_text(answer)[:500]}")
    path, size = answer.json()["url"], answer.json()["piece_size"]
    for start in range(0, len(content), size):
        await browser.post(f"{path}/pieces?start={start}", content=content[start : start + size])
    return str(path)


async def _ended(browser: httpx.AsyncClient, path: str, *, every: float = 0.25) -> str:
    """Wait until the plan is done or has stopped. Return the page's text. `every`: seconds."""
    deadline = time.monotonic() + _TIMEOUT
    while time.monotonic() < deadline:
        text = _text(await browser.get(path))
        if _ACTIVE not in text:
            answer = await browser.post(f"{path}/give-up", data={})
            if answer.status_code != 303:
                raise Failed(f"giving up was answered with {answer.status_code}: {_text(answer)[:500]}")
            return text
        await asyncio.sleep(every)
    raise Failed(f"an import has not ended: {text[:1_000]}")


def _text(answer: httpx.Response) -> str:
    """Return the text of the page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.text.partition("<main")[2]))


class _PatientClient(httpx.AsyncClient):
    """Sends a request again after the time that a rate limit names."""

    async def request(self, *arguments: Any, **options: Any) -> httpx.Response:
        while (answer := await super().request(*arguments, **options)).status_code == 429:
            await asyncio.sleep(float(answer.headers["Retry-After"]))
        return answer


@contextlib.asynccontextmanager
async def _browser(scenario: Scenario, account: Account) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Origin": scenario.url, "Sec-Fetch-Site": "same-origin"}
    async with _PatientClient(base_url=scenario.url, headers=headers, timeout=60) as browser:
        answer = await browser.post("/login", data={"email": account.email, "password": PASSWORD, "next": ""})
        if answer.status_code != 303:
            raise Failed(f"signing in was answered with {answer.status_code}")
        yield browser


ATTACKS = {"inflation": inflating, "slow-sources": dripping}
