"""Two commits in alternation: `python -m bench compare A B [NAME …]`. `.` is the working tree.

Without names, the redirects of both are compared: they serve the same links in alternating rounds on the same core,
compiled if the version can be. B is also compared with itself: the distance of that ratio from 1 is the noise. Some
other links of each server have rules, if the version has routing. The same for random slugs that no link has.

With names, each commit runs its own benchmarks of these names, short ones with `--short`: A, B, B, A.
"""

import argparse
import contextlib
import http.server
import json
import re
import statistics
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import report, wrk
from bench.report import Row
from bench.routing import rules
from bench.run import Run, new_run
from bench.seed import say, slug_of
from bench.servers import SERVER_CORE, Server, clean_environment, free_port, started
from bench.wrk import Contender

_LINKS, _ROUTED = 20, 10  # fewer requests than a key's rate limit per minute
_CONTENDERS: Mapping[str, Callable[[Server], Contender]] = {
    "redirects, bare headers": lambda server: Contender(server, "slugs.lua", [str(_LINKS), "bare"]),
    "redirects, browser headers": lambda server: Contender(server, "slugs.lua", [str(_LINKS), "browser"]),
    "random misses, browser headers": wrk.random_misses,
}
_ROOT = Path(__file__).parent.parent
_CHECKOUTS = _ROOT / ".compared"
_ENVIRONMENT = [".venv/.installed-test", ".venv/.tools-bench"]


def main(arguments: Sequence[str]) -> int:
    given = _arguments(arguments)
    checkouts = [_checkout(commit) for commit in (given.a, given.b)]
    if given.names:
        print(table_of_both(given.a, given.b, *_own_results(checkouts, given.names, short=given.short)))
    else:
        with new_run(short=given.short) as run:
            print(report.table(_redirects(run, checkouts)))
    print(report.listed(report.machine() | report.nginx()))
    return 0


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench compare", description="Compare two commits.")
    parser.add_argument("a", metavar="A", help="a commit, branch or tag; . is the working tree")
    parser.add_argument("b", metavar="B")
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks; without names, redirects")
    parser.add_argument("--short", action="store_true", help="small and fast, and not precise")
    return parser.parse_intermixed_args(arguments)


def _checkout(commit: str) -> Path:
    """A directory with the files of the commit and an environment of its own. Kept for the next comparison."""
    if commit == ".":
        return _ROOT
    found = subprocess.run(
        ["git", "-C", str(_ROOT), "rev-parse", "--verify", f"{commit}^{{commit}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode:
        raise SystemExit(f"{commit} is not a commit of this repository")
    directory = _CHECKOUTS / found.stdout[:12]
    if not directory.exists():
        directory.mkdir(parents=True)
        files = subprocess.Popen(["git", "-C", str(_ROOT), "archive", found.stdout.strip()], stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", str(directory)], stdin=files.stdout, check=True)
    say(f"environment of {commit} …")
    subprocess.run(
        ["make", "-C", str(directory), *_ENVIRONMENT], stdout=subprocess.DEVNULL, check=True, env=clean_environment()
    )
    return directory


def _own_results(checkouts: Sequence[Path], names: Sequence[str], *, short: bool) -> list[list[dict[str, str]]]:
    """Of each commit its runs: the results by benchmark."""
    found: list[list[dict[str, str]]] = [[] for _ in checkouts]
    for number in (0, 1, 1, 0):
        found[number].append(_own_run(checkouts[number], [*(["--short"] if short else []), *names]))
    return found


def _own_run(checkout: Path, arguments: Sequence[str]) -> dict[str, str]:
    out = _CHECKOUTS / "table.md"
    command = [str(checkout / ".venv" / "bin" / "python"), "-m", "bench", *arguments, "--out", str(out)]
    subprocess.run(command, cwd=checkout, check=False, env=clean_environment())  # 1 if a row failed
    rows = re.findall(r"^\| (.+?) \| (.+?) \|", out.read_text(), re.MULTILINE)
    out.unlink()
    return dict(rows[1:])  # after the head


def table_of_both(a: str, b: str, of_a: Sequence[dict[str, str]], of_b: Sequence[dict[str, str]]) -> str:
    lines = [f"| Benchmark | {a} | {b} | {b} relative to {a} |", "|---|---|---|---|"]
    for what in dict.fromkeys(key for each in (*of_a, *of_b) for key in each):
        values = [[each[what] for each in runs if what in each] for runs in (of_a, of_b)]
        lines.append(f"| {what} | {' / '.join(values[0])} | {' / '.join(values[1])} | {_relative(*values)} |")
    return "\n".join(lines)


def _relative(of_a: Sequence[str], of_b: Sequence[str]) -> str:
    """Of the first numbers in the results."""
    numbers = [
        [float(found[0].replace(",", "")) for each in runs if (found := re.search(r"[\d.,]*\d", each))]
        for runs in (of_a, of_b)
    ]
    if not all(numbers) or not statistics.median(numbers[0]):
        return ""
    return f"{statistics.median(numbers[1]) / statistics.median(numbers[0]):.3f}"


def _redirects(run: Run, checkouts: Sequence[Path]) -> list[Row]:
    a, b = ((str(each / ".venv" / "bin" / "waypost"), _compiled(each)) for each in checkouts)
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(_website())
        servers = [stack.enter_context(_serving(*each, run.new_directory(), url)) for each in (b, b, a)]
        return [row for what, contender in _CONTENDERS.items() for row in _rows(run, servers, what, contender)]


def _compiled(checkout: Path) -> dict[str, str]:
    """Compile the package of a checkout, if its version can be. Return the environment in which it is used."""
    if "\ncompiled:" not in (checkout / "Makefile").read_text():
        return {}
    subprocess.run(["make", "-C", str(checkout), "compiled"], stdout=subprocess.DEVNULL, check=True)
    return {"PYTHONPATH": str(checkout / ".venv" / "compiled")}


def _rows(run: Run, servers: list[Server], what: str, contender: Callable[[Server], Contender]) -> Iterator[Row]:
    b, again, a = wrk.alternate(run, [contender(server) for server in servers])
    rates = f"A {wrk.spread(a)}, B {wrk.spread(b)}"
    yield Row(f"{what}: B relative to A", _ratio(b, a), rates)
    yield Row(f"{what}: B relative to itself", _ratio(b, again), "the noise")


def _ratio(ours: list[wrk.Round], theirs: list[wrk.Round]) -> str:
    return f"{wrk.rate_ratio(ours, theirs):.3f}"


@contextlib.contextmanager
def _serving(program: str, package: Mapping[str, str], directory: Path, destination: str) -> Iterator[Server]:
    port = free_port()
    settings = {
        **package,
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
