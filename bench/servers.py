"""Starts servers on loopback and on given cores, waits until they respond, and stops them by their process id.

Servers that are not being measured are frozen, so that they use no CPU time of a core that they share.
"""

import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench.report import Failed

SERVER_CORE, LOAD_CORE = "0", "1"
ALL_CORES = f"0-{(os.cpu_count() or 2) - 1}"
WAYPOST = str(Path(sys.executable).parent / "waypost")
SECRET_KEY = "the key of all data directories that share a database"
_START_LIMIT = 120.0  # seconds; nginx needs time for a map of a million slugs
_END_LIMIT = 20.0
_LOGGED_ERROR = re.compile(r"level=(error|critical)[^\n]*|\[(?:error|emerg|crit)\][^\n]*")


@contextlib.contextmanager
def on_all_cores() -> Iterator[None]:
    """Run this process on all cores, for measurements within it."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class HasUrl(Protocol):
    """Any seeded database."""

    @property
    def url(self) -> str:
        """The database URL."""


@dataclass(frozen=True)
class Server:
    name: str
    pid: int
    port: int
    log: Path

    def processes(self) -> list[int]:
        """Its own process and all descendants."""
        found, index = [self.pid], 0
        while index < len(found):
            with contextlib.suppress(FileNotFoundError):
                pid = found[index]
                found += [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
            index += 1
        return found

    def processor_time(self) -> float:
        """Seconds that its processes have computed."""
        ticks = 0
        for pid in self.processes():
            with contextlib.suppress(FileNotFoundError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])  # in the program, and in the kernel for it
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Megabytes that its processes have in memory."""
        return sum(self._megabytes("VmRSS"))

    def peak_memory(self) -> float:
        """The most since `forget_peak`."""
        return sum(self._megabytes("VmHWM"))

    def forget_peak(self) -> None:
        for pid in self.processes():
            Path(f"/proc/{pid}/clear_refs").write_text("5")

    def _megabytes(self, name: str) -> Iterator[float]:
        for pid in self.processes():
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            yield from (int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


@contextlib.contextmanager
def started(
    name: str,
    command: Sequence[str],
    *,
    port: int,
    ready: str,
    cores: str,
    directory: Path,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Server]:
    """`ready`: a path that responds once the server runs. Also raises Failed for errors in its log."""
    log = directory / f"{name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["taskset", "-c", cores, *command],
            stdout=out,
            stderr=out,
            cwd=directory,
            env=clean_environment() | dict(environment or {}),
        )
    server = Server(name, process.pid, port, log)
    try:
        _wait_until_ready(server, process, ready)
        yield server
    finally:
        server.resume()
        _end(process)
    if trouble := _LOGGED_ERROR.search(log.read_text(errors="replace")):
        raise Failed(f"{name} logged: {trouble[0]}")


def waypost(
    store: HasUrl,
    directory: Path,
    package: Path | None = None,
    /,
    *,
    role: str = "web",
    cores: str = SERVER_CORE,
    **settings: object,
) -> contextlib.AbstractContextManager[Server]:
    """`waypost serve` with a database and its own data directory. `settings` in lower case.

    `package`: the directory that has Waypost, if not the one that this process has.
    """
    port = free_port()
    given = {"base_url": f"http://127.0.0.1:{port}", "database_url": store.url, "spool_limit_mb": 16_384}
    given |= {"secret_key": SECRET_KEY, **settings}
    environment = {f"WAYPOST_{name.upper()}": str(value) for name, value in given.items()}
    environment |= {"PYTHONPATH": str(package)} if package else {}
    command = [WAYPOST, "serve", "--role", role, "--port", str(port), "--data-dir", str(directory / "data")]
    return started(
        "waypost", command, port=port, ready="/readyz", cores=cores, directory=directory, environment=environment
    )


def module(name: str, *arguments: str, package: Path | None = None) -> list[str]:
    """The command for a module of this package, independent of the working directory.

    `package`: the directory that has Waypost, if not the one that this process has.
    """
    paths = f"{Path(__file__).parent.parent}:{package or os.environ.get('PYTHONPATH', '')}"
    return ["env", f"PYTHONPATH={paths}", sys.executable, "-m", f"bench.{name}", *arguments]


def clean_environment() -> dict[str, str]:
    """The environment without Waypost settings, and with bytecode caching, as in every installation."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("WAYPOST_") and name != "PYTHONDONTWRITEBYTECODE"
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def responds(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status < 500
    except OSError:
        return False
    finally:
        connection.close()


def _wait_until_ready(server: Server, process: "subprocess.Popen[bytes]", path: str) -> None:
    deadline = time.monotonic() + _START_LIMIT
    while not responds(server.port, path):
        if process.poll() is not None or time.monotonic() > deadline:
            raise Failed(f"{server.name} did not start: {server.log.read_text(errors='replace')[-500:]}")
        time.sleep(0.01)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(_END_LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
