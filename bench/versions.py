"""Redirects of this version relative to another: `python -m bench.versions CHECKOUT`, where `make run` has been run.

Both versions serve the same links in alternating rounds on the same core. This version is also compared with itself:
the distance of that ratio from 1 is the noise. Some other links of each server have rules, if the version has routing.
"""

import contextlib
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import report, wrk
from bench.report import Row, without_target
from bench.routing import rules
from bench.run import Run
from bench.seed import slug_of
from bench.servers import LOAD_CORE, SERVER_CORE, WAYPOST, Server, clean_environment, free_port, started
from bench.wrk import Contender

_LINKS, _ROUTED = 20, 10  # fewer requests than a key's rate limit per minute


def measure(run: Run, other: Path) -> list[Row]:
    programs = {"this": WAYPOST, "this again": WAYPOST, "other": str(other / ".venv" / "bin" / "waypost")}
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(_website())
        servers = [stack.enter_context(_serving(program, run.new_directory(), url)) for program in programs.values()]
        return [row for headers in ("bare", "browser") for row in _rows(run, servers, headers)]


def _rows(run: Run, servers: list[Server], headers: str) -> Iterator[Row]:
    contenders = [Contender(server, "slugs.lua", [str(_LINKS), headers]) for server in servers]
    this, again, other = wrk.alternate(run, contenders)
    rates = f"this {wrk.spread(this)}, other {wrk.spread(other)}"
    yield without_target(
        f"redirects, {headers} headers: this version relative to the other", _ratio(this, other), rates
    )
    yield without_target(
        f"redirects, {headers} headers: this version relative to itself", _ratio(this, again), "the noise"
    )


def _ratio(ours: list[wrk.Round], theirs: list[wrk.Round]) -> str:
    return f"{wrk.rate_ratio(ours, theirs):.3f}"


@contextlib.contextmanager
def _serving(program: str, directory: Path, destination: str) -> Iterator[Server]:
    port = free_port()
    settings = {
        "WAYPOST_BASE_URL": f"http://127.0.0.1:{port}",
        "WAYPOST_DATA_DIR": str(directory / "data"),
        "WAYPOST_OUTBOUND_ALLOW": "127.0.0.0/8",
    }

    def command(*arguments: str) -> str:
        environment = clean_environment() | settings
        return subprocess.check_output([program, *arguments], env=environment, text=True, cwd=directory)

    command("migrate")
    command("account", "create", "bench@example.com", "--plan", "lifetime")
    key = json.loads(command("key", "create", "--account", "bench@example.com", "--name", "bench", "--json"))["key"]
    serve = [program, "serve", "--role", "web", "--port", str(port)]
    where = {"port": port, "ready": "/readyz", "cores": SERVER_CORE, "directory": directory, "environment": settings}
    with started("waypost", serve, **where) as server:  # type: ignore[arg-type]
        for number in range(_LINKS + _ROUTED):
            made = _request(port, key, "POST", "links", {"slug": slug_of(number), "destination_url": destination})
            if number >= _LINKS:
                routing = {"rules": [rule | {"destination_url": destination} for rule in rules()]}
                _request(port, key, "PUT", f"links/{made['data']['id']}/routing", routing)
        wrk.warm_up(port, _LINKS + _ROUTED)
        yield server


def _request(port: int, key: str, method: str, path: str, body: object) -> Any:
    """Return the answer: versions before routing have an error."""
    headers = ["-H", f"Authorization: Bearer {key}", "-H", "Content-Type: application/json"]
    url = f"http://127.0.0.1:{port}/api/v1/{path}"
    return json.loads(subprocess.check_output(["curl", "-s", "-X", method, *headers, "-d", json.dumps(body), url]))


class _Page(http.server.BaseHTTPRequestHandler):
    """The destination, which the service reads before it creates a link."""

    def do_GET(self) -> None:  # the name is the library's
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@contextlib.contextmanager
def _website() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def main() -> int:
    load = os.getloadavg()[0]
    os.sched_setaffinity(0, {int(LOAD_CORE)})
    with (
        tempfile.TemporaryDirectory(prefix="waypost-bench-", ignore_cleanup_errors=True) as directory,
        contextlib.ExitStack() as cleanup,
    ):
        rows = measure(Run.full(Path(directory), cleanup), Path(sys.argv[1]).resolve())
    print(report.table(rows))
    print(report.machine(load))
    return 0


if __name__ == "__main__":
    sys.exit(main())
