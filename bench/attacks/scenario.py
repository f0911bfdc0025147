"""A running service with three accounts: the attacker, an accomplice, and the neighbour, whom the observer times."""

import asyncio
import contextlib
import json
import statistics
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from bench.attacks.observer import TIMED_OUT
from bench.client import percentile
from bench.report import Failed, Row, measured
from bench.seed import add_keys, add_links, new_account, slug_of
from bench.servers import ALL_CORES, Server, module, waypost
from waypost.database import Database
from waypost.database.migrations import migrate

_LINKS = 100  # of the neighbour
_KEYS = 12
PASSWORD = "a long enough password of the neighbour's"  # used nowhere else


@dataclass(frozen=True)
class Account:
    id: UUID
    email: str
    keys: list[str]


@dataclass(frozen=True)
class Latencies:
    """Milliseconds of other users' requests."""

    redirect: list[float]
    api: list[float]

    def rows(self, attack: str, before: "Latencies") -> list[Row]:
        detail = f"before: {_summary(before.redirect)}; during: {_summary(self.redirect)}"
        calls = f"before: {_summary(before.api)}; during: {_summary(self.api)}"
        return [
            measured(f"{attack}: a visitor's redirect, median", _p50(self.redirect), detail, " ms"),
            measured(f"{attack}: a visitor's redirect, p99", _p99(self.redirect), detail, " ms"),
            measured(f"{attack}: another account's list of links, p99", _p99(self.api), calls, " ms"),
        ]


def _summary(taken: list[float]) -> str:
    times = f"median {_p50(taken):.1f} ms, p99 {_p99(taken):.1f} ms, worst {max(taken):.0f} ms"
    return f"{len(taken)} requests, {times}"


def _p50(taken: list[float]) -> float:
    return statistics.median(taken)


def _p99(taken: list[float]) -> float:
    return percentile(taken, 99)


@dataclass
class Scenario:
    server: Server
    directory: Path
    attacker: Account
    accomplice: Account
    neighbour: Account
    seconds: float
    """Duration of an attack that does not end by itself."""
    database_url: str
    connections: int
    """Number of connections in attacks that open many."""
    before: Latencies = field(default_factory=lambda: Latencies([], []))

    @property
    def port(self) -> int:
        return self.server.port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextlib.asynccontextmanager
    async def observed(self, latencies: list[Latencies]) -> AsyncIterator[None]:
        """Append the latencies of others during the block to `latencies`. Raise Failed if a request timed out."""
        arguments = [str(self.port), slug_of(0), *self.neighbour.keys]
        process = await asyncio.create_subprocess_exec(
            *module("attacks.observer", *arguments), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        try:
            yield
        finally:
            out, _ = await process.communicate(b"")
        latencies.append(Latencies(**json.loads(out)))
        if lost := sum(each >= TIMED_OUT for each in latencies[-1].redirect + latencies[-1].api):
            raise Failed(f"{lost} requests of other users timed out")

    def web_memory(self) -> int:
        """Resident memory of the web process, in bytes."""
        for pid in self.server.processes():
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"waypost.child" in command and b"\0web\0" in command:
                status = Path(f"/proc/{pid}/status").read_text()
                return int(status.partition("VmRSS:")[2].split()[0]) << 10
        raise LookupError("no web process")

    def log_lines(self) -> int:
        return len(self.server.log.read_text(errors="replace").splitlines())


@contextlib.contextmanager
def started_scenario(
    directory: Path, *, seconds: float, connections: int, database_url: str = ""
) -> Iterator[Scenario]:
    url = database_url or f"sqlite:///{directory / 'waypost.db'}"
    neighbour, attacker, accomplice = asyncio.run(_seed_accounts(url))
    store = _Store(url)
    options = {"outbound_allow": "127.0.0.0/8", "default_plan": "lifetime"}
    with waypost(store, directory, role="all", cores=ALL_CORES, **options) as server:
        yield Scenario(server, directory, attacker, accomplice, neighbour, seconds, url, connections)


@dataclass(frozen=True)
class _Store:
    url: str


async def _seed_accounts(url: str) -> list[Account]:
    db = Database(url)
    await migrate(db)
    found = []
    for name in ("neighbour", "attacker", "accomplice"):
        account = await new_account(db, name, password=PASSWORD)
        found.append(Account(account, f"{name}@example.com", await add_keys(db, account, _KEYS)))
    await add_links(db, found[0].id, _LINKS)
    await db.close()
    return found


def say(text: str) -> None:
    sys.stderr.write(f"  {text}\n")
