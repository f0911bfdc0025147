"""A ClickHouse server for tests: the true engine, which tests can kill, start again and make fail."""

import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ACCOUNT = "waypost:secret"
_PATIENCE = 240  # seconds


@dataclass
class Request:
    """What the server knows of a request; without a status it was not answered."""

    id: str
    query: str = ""
    """Without the rows of an INSERT."""
    settings: dict[str, str] = field(default_factory=dict)
    database: str | None = None
    fault: str | None = None
    executed: bool = False
    status: int | None = None

    @property
    def token(self) -> str | None:
        return self.settings.get("insert_deduplication_token")


class ClickHouseServer:
    """A process with a directory and a port on loopback, which both outlive it."""

    def __init__(
        self,
        directory: Path,
        certificate: Path | None = None,
        *,
        host: str = "127.0.0.1",
        run: Callable[[Sequence[str]], Sequence[str]] = list,
    ) -> None:
        """With a certificate, a PEM file with its key, the server speaks HTTPS.

        `run` turns the command of the process into one that runs it elsewhere, such as in a network namespace.
        """
        assert importlib.util.find_spec("chdb"), "ClickHouse's engine is missing: make .venv/.clickhouse-test"
        self.directory = directory
        self.certificate = certificate
        self.host = host
        self._run = run
        # bound and not listening: nobody else gets the port while the server is away, and who connects is refused
        self._reserved = socket.socket()
        self._reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._reserved.bind(("127.0.0.1", 0))
        self.port: int = self._reserved.getsockname()[1]
        self.faults = Faults(self)
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, database: str) -> str:
        scheme = "https" if self.certificate else "http"
        return f"{scheme}://{ACCOUNT}@{self.host}:{self.port}/{database}"

    def start(self) -> None:
        """Start with the data that the directory has. Faults of the process before are gone."""
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-P", str(Path(__file__).with_name("engine.py"))]
        command += [str(self.directory), self.host, str(self.port), str(theirs.fileno()), ACCOUNT]
        if self.certificate:
            command += ["--certificate", str(self.certificate)]
        with theirs, (self.directory / "stderr").open("ab") as errors:
            self._process = subprocess.Popen(
                self._run(command),
                pass_fds=[theirs.fileno()],
                stdout=errors,
                stderr=errors,
                env={**os.environ, "TZ": "UTC"},
            )
        ours.settimeout(_PATIENCE)
        self._control, self._replies = ours, ours.makefile("rb")
        self._reply()

    def kill(self) -> None:
        """`kill -9`"""
        assert self._process
        self._process.send_signal(signal.SIGKILL)
        self._end()

    def stop(self) -> None:
        self._end()
        self._reserved.close()

    def restart_if_dead(self) -> None:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self.start()

    def sql(self, sql: str, database: str = "default") -> list[list[Any]]:
        """The rows of a query, which faults don't meet and the log of requests doesn't list."""
        reply = self.order(sql=sql, database=database)
        if "error" in reply:
            raise RuntimeError(reply["error"])
        rows: list[list[Any]] = reply["rows"]
        return rows

    def order(self, **order: Any) -> Any:
        self._control.sendall(json.dumps(order).encode() + b"\n")
        return self._reply()

    def requests(self, since: int = 0) -> list[Request]:
        """In the order of their arrival. since: a `log_size`."""
        with (self.directory / "requests").open("rb") as file:
            file.seek(since)
            lines = file.read().splitlines(keepends=True)
        requests: dict[str, Request] = {}
        for facts in [json.loads(line) for line in lines if line.endswith(b"\n")]:
            request = requests.setdefault(facts["id"], Request(facts["id"]))
            for name, value in facts.items():
                setattr(request, name, value)
        return list(requests.values())

    @property
    def log_size(self) -> int:
        return (self.directory / "requests").stat().st_size

    def _reply(self) -> Any:
        line = self._replies.readline()
        if not line:
            raise RuntimeError(
                f"The ClickHouse server is not running: {(self.directory / 'stderr').read_text()[-2000:]}"
            )
        return json.loads(line)

    def _end(self) -> None:
        if self._process:
            self._replies.close()
            self._control.close()  # without it the server ends itself
            self._process.wait(_PATIENCE)
            self._process = None


class Faults:
    """What the next requests meet; the first fault that fits a request is its fault, and each fits `times` requests.

    `only`: a regular expression found in the query, in any case. `times`: None for all until `clear`.
    `executed`: the query is executed before the fault, as when an answer gets lost; otherwise not at all.
    The client repeats reads, and inserts too, when a connection closes without an answer: `times=2` makes it give up.
    """

    def __init__(self, server: ClickHouseServer) -> None:
        self._server = server

    def refuse(self) -> None:
        """Close all connections and the port until `accept`."""
        self._server.order(refuse=True)

    def accept(self) -> None:
        self._server.order(accept=True)

    def hang(self, only: str = "", *, times: int | None = 1, executed: bool = False) -> None:
        """Take the request and don't answer before `clear`, which closes the connection."""
        self._add("hang", only, times, executed)

    def error(
        self,
        only: str = "",
        *,
        times: int | None = 1,
        executed: bool = False,
        code: int = 241,
        message: str = "(total) memory limit exceeded (MEMORY_LIMIT_EXCEEDED)",
        status: int = 500,
    ) -> None:
        self._add("error", only, times, executed, code=code, message=message, status=status)

    def close(self, only: str = "", *, times: int | None = 1, executed: bool = True) -> None:
        """Close the connection without an answer."""
        self._add("close", only, times, executed)

    def truncate(self, only: str = "", *, times: int | None = 1) -> None:
        """Send half of the answer, of an INSERT a part of the head, then close the connection."""
        self._add("truncate", only, times, executed=True)

    def delay(self, seconds: float, only: str = "", *, times: int | None = 1, executed: bool = False) -> None:
        self._add("delay", only, times, executed, seconds=seconds)

    def kill(self, only: str = "", *, executed: bool = True) -> None:
        """Let the server end as by `kill -9` at the next request."""
        self._add("kill", only, 1, executed)

    def clear(self) -> None:
        self._server.order(clear=True)

    def _add(self, kind: str, only: str, times: int | None, executed: bool, **more: Any) -> None:
        self._server.order(fault={"kind": kind, "only": only, "times": times, "executed": executed, **more})


class ClickHouse:
    """A database of the test's own on a server that tests share one after the other."""

    def __init__(self, server: ClickHouseServer) -> None:
        self.server = server
        self.faults = server.faults
        self.name = f"test_{uuid.uuid4().hex}"
        self.url = server.url(self.name)
        server.restart_if_dead()
        self._log_start = server.log_size
        server.sql(f"CREATE DATABASE {self.name}")

    def sql(self, sql: str) -> list[list[Any]]:
        return self.server.sql(sql, self.name)

    def requests(self, only: str = "") -> list[Request]:
        """Those since the test began whose query has the regular expression."""
        everything = self.server.requests(self._log_start)
        return [each for each in everything if re.search(only, each.query, re.IGNORECASE | re.DOTALL)]

    def wait_for_fault(self, times: int = 1) -> None:
        """Until faults met this many requests. Blocks: `await asyncio.to_thread(clickhouse.wait_for_fault)`."""
        deadline = time.monotonic() + _PATIENCE
        while sum(each.fault is not None for each in self.requests()) < times:
            assert time.monotonic() < deadline, f"no fault met {times} requests: {self.requests()}"
            time.sleep(0.005)

    def kill(self) -> None:
        """`kill -9`. The data stays, and so does the port, which refuses connections."""
        self.server.kill()

    def lose_last_part(self, table: str) -> None:
        """What a crash can leave: the engine writes the token of an insert to disk before its rows. Starts again."""
        newest = "database = currentDatabase() AND active ORDER BY max_block_number DESC LIMIT 1"
        [[path]] = self.sql(f"SELECT path FROM system.parts WHERE table = '{table}' AND {newest}")
        self.kill()
        shutil.rmtree(path)
        self.start()

    def start(self) -> None:
        """Start again after `kill` or `faults.kill`."""
        self.server.restart_if_dead()

    def remove(self) -> None:
        self.server.restart_if_dead()
        self.faults.clear()
        self.faults.accept()
        self.server.sql(f"DROP DATABASE {self.name} SYNC")
