"""The service as an operator runs it: real processes on a real port, seen only through HTTP, commands and log.

Knows nothing of the package's insides.
"""

import atexit
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import httpx
from forked import WAYPOST, Serving, run

PATIENCE = 120.0  # seconds; only a broken service makes anybody wait that long
OWNER = "owner@example.com"

_PREPARED_BY = {"WAYPOST_DATABASE_URL", "WAYPOST_SECRET_KEY"}
"""Settings with which what is prepared is like no other's."""


class Service:
    """`with Service(directory) as service:` prepares an account and a key, serves, and ends every process."""

    def __init__(self, directory: Path, *, options: tuple[str, ...] = (), alone: bool = False, **settings: str) -> None:
        """`options` of `waypost serve`; `settings` as environment variables; `alone`: not forked, see forked.py."""
        self.directory = directory
        self.port = free_port()
        self.base_url = f"http://127.0.0.1:{self.port}"
        self.serving = [str(WAYPOST), "serve", "--port", str(self.port), *options]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
        own = {"WAYPOST_BASE_URL": self.base_url, "WAYPOST_DATA_DIR": str(directory / "data")}
        self.environment = inherited | own | {"WAYPOST_OUTBOUND_ALLOW": "127.0.0.0/8"} | settings
        self.client = httpx.Client(base_url=self.base_url, timeout=PATIENCE, trust_env=False)
        self.key = ""
        self.log = Log()
        self._alone = alone or "PYTHONPATH" in settings
        self._process: subprocess.Popen[str] | Serving | None = None

    def __enter__(self) -> Self:
        self.prepare()
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.client.close()

    def prepare(self) -> None:
        if _PREPARED_BY & self.environment.keys():
            self.key = self._prepare()
        else:
            self.key, data = _prepared()
            shutil.copytree(data, self.directory / "data", dirs_exist_ok=True)
        self.client.headers["Authorization"] = f"Bearer {self.key}"

    def _prepare(self) -> str:
        self.command("migrate")
        return self.new_key(self.new_account(OWNER))

    def new_account(self, email: str) -> str:
        """For a test that wants to begin with nothing. Returns the address."""
        self.command("account", "create", email, "--plan", "lifetime")
        return email

    def new_key(self, account: str = OWNER) -> str:
        return self.json("key", "create", "--account", account, "--name", "journey")["key"]

    def command(self, *arguments: str) -> str:
        """What `waypost …` prints to stdout."""
        done = run(arguments, env=self.environment, cwd=self.directory)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self.command(*arguments, "--json"))

    def start(self) -> None:
        """Returns when it serves: the parent listens first, then the first call waits for the first web process."""
        self.spawn()
        answer = self.client.get("/readyz")
        assert answer.status_code == 200, answer.text

    def spawn(self) -> None:
        """Returns when the parent listens."""
        self.log = Log()
        if self._is_forked():
            self._process = Serving(self.serving[1:], env=self.environment, cwd=self.directory)
        else:
            self._process = subprocess.Popen(
                self.serving,
                env=self.environment,
                cwd=self.directory,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        self.log.follow(self._process)
        self.log.wait_for('"processes started" process=parent')

    def _is_forked(self) -> bool:
        """Loading takes three seconds. A process of its own has another program, other modules or another umask."""
        return not self._alone and self.serving[0] == str(WAYPOST)

    def stop(self) -> int:
        """SIGTERM, as a supervisor does. Returns the exit code once no process is left."""
        assert self._process is not None
        self._process.terminate()
        return self.ended()

    def kill(self, kind: str = "parent") -> None:
        """SIGKILL to the parent, or to the first child of that kind (web, worker); returns when it is dead.

        Until then it is still among the children, and a kept connection to it is still open.
        """
        assert self._process is not None
        victim = self._process.pid if kind == "parent" else self.children(kind)[0]
        os.kill(victim, signal.SIGKILL)
        eventually(lambda: is_dead(victim))

    def ended(self) -> int:
        """Waits until the parent and all its children are gone: the log ends when nobody holds its pipe any more."""
        assert self._process is not None
        code = self._process.wait(PATIENCE)
        self.log.wait_for_end()
        return code

    def children(self, kind: str) -> list[int]:
        """Process ids of the parent's children of a kind, as the system knows them."""
        assert self._process is not None
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                command = (entry / "cmdline").read_bytes().split(b"\0")
                is_forked = (entry / "comm").read_text().strip() == kind
                if parent == self._process.pid and (is_forked or {b"waypost.child", kind.encode()} <= set(command)):
                    found.append(int(entry.name))
        return sorted(found)


@functools.cache
def _prepared() -> tuple[str, Path]:
    """(key, data directory), made once: it takes seconds. A first start has created the secret key."""
    directory = Path(tempfile.mkdtemp(prefix="waypost-tests-"))
    atexit.register(shutil.rmtree, directory)
    service = Service(directory, options=("--role", "worker"))
    key = service._prepare()
    service.start()
    service.stop()
    service.client.close()
    return key, directory / "data"


def is_dead(process: int) -> bool:
    """Gone, or a zombie none of whose threads still holds a file or a socket open."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        return state == "Z" and len(os.listdir(f"/proc/{process}/task")) == 1
    except OSError:
        return True


class Log:
    """Every line the processes write, and word of each as it comes."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._news = threading.Condition()
        self._ended = False

    def follow(self, process: subprocess.Popen[str] | Serving) -> None:
        threading.Thread(target=self._read, args=[process], daemon=True).start()

    def wait_for(self, text: str, *, since: int = 0) -> str:
        """The first line, from number `since` on, that holds `text`."""
        with self._news:
            self._news.wait_for(lambda: self._ended or self._find(text, since), PATIENCE)
            line = self._find(text, since)
        assert line, f"no line with {text!r}:\n" + "".join(self.lines)
        return line

    def wait_for_end(self) -> None:
        with self._news:
            assert self._news.wait_for(lambda: self._ended, PATIENCE), "processes are left: " + "".join(self.lines)

    def _find(self, text: str, since: int) -> str | None:
        return next((line for line in self.lines[since:] if text in line), None)

    def _read(self, process: subprocess.Popen[str] | Serving) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                self._note(line)
        with self._news:
            self._ended = True
            self._news.notify_all()

    def _note(self, line: str) -> None:
        with self._news:
            self.lines.append(line)
            self._news.notify_all()


class Website:
    """A page to link to, on a port of its own; every path answers the same."""

    html = b"<!doctype html><title>A page</title><meta property='og:description' content='About it'>"

    def __init__(self, host: str = "127.0.0.1") -> None:
        site = self

        class Page(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.seen.append(self.path)
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(site.html)))
                self.end_headers()
                self.wfile.write(site.html)

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self.seen: list[str] = []
        self._server = ThreadingHTTPServer((host, 0), Page)
        self.url = f"http://{host}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.01])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def eventually(is_so: Callable[[], bool], *, every: float = 0.02, within: float = PATIENCE) -> None:
    """Waits for what has no event to wait for, such as a counter that another process moves.

    Asks less and less often: a key has sixty requests a minute, and a loaded machine may take that long.
    """
    deadline = time.monotonic() + within
    while not is_so():
        assert time.monotonic() < deadline, "this did not come to be in time"
        time.sleep(every)
        every = max(every, min(1.25 * every, 2.0))


def leftovers(directory: Path) -> list[Path]:
    """Segments of the spool with visits in them: also one that is drained already, but is being written to."""
    header = len(b"waypost-spool 2\n")
    return [path for path in (directory / "data" / "spool").glob("*.visits") if path.stat().st_size > header]
