"""Runs wrk against servers from a separate core, in alternating rounds. A single wrong response makes a run fail.

Rounds that something else disturbed are left out, unless most of them were. Servers are compared until the medians of
their ratios are precise to a hundredth.
"""

import re
import resource
import socket
import statistics
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.disturbance import Watch
from bench.report import Failed
from bench.run import Run
from bench.seed import slug_of
from bench.servers import LOAD_CORE, Server

CONNECTIONS = 64
_UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0}
_PIPELINED = 128
_TIMEOUT = "--timeout=10s"  # a slow response is one of the p99, not an error
WARM_UP = 2
"""Seconds of the first round of each server, which is not counted."""
_PRECISE = 0.01
MOST = 3
"""Times as many rounds as usual, at most."""


@dataclass(frozen=True)
class Round:
    rate: float
    """Answers a second."""
    p50: float
    p99: float
    """Milliseconds."""
    busy: float
    """The share of its core that wrk used. Near 1, wrk was the bottleneck."""
    p999: float = 0.0
    """Milliseconds. Only scripts that print it have it."""
    cost: float = 0.0
    """Microseconds of the server's processor time for each answer: also true where wrk was the bottleneck."""
    is_disturbed: bool = False
    """Or another server's round of the same turn was."""


@dataclass(frozen=True)
class Contender:
    server: Server
    script: str
    arguments: Sequence[str]
    """Arguments of the script; the number of the round is appended."""
    origin: str = ""
    """The URL, if not plain HTTP on its port."""
    has_links: bool = True
    """Whether every path has one. If not, every response has to be an error."""


def random_misses(server: Server) -> Contender:
    """Slugs that no link has, hardly any of them twice. From browsers, whose missed addresses are counted."""
    return Contender(server, "slugs.lua", [str(10**9), "browser", "Miss%09d"], has_links=False)


def run_wrk(origin: str, script: str, arguments: Sequence[str], *, seconds: int, has_links: bool = True) -> Round:
    """`script`: a Lua file in this directory. `has_links`: as of a `Contender`."""
    options = ["-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", _TIMEOUT, "--latency"]
    options += ["-s", str(Path(__file__).parent / script)]
    command = ["taskset", "-c", LOAD_CORE, "wrk", *options, f"{origin}/", "--", *arguments]
    before = _seconds_of_children()
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60, check=False)
    expected = 0 if has_links else _count(r"(\d+) requests in", done.stdout)
    is_wrong = _count(r"Non-2xx or 3xx responses: (\d+)", done.stdout) != expected
    if done.returncode or is_wrong or re.search(r"Socket errors|error", done.stdout + done.stderr):
        raise Failed(f"wrk on {origin}: {done.stdout} {done.stderr}")
    rate = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    if rate is None or not float(rate[1]):
        raise Failed(f"wrk on {origin}: {done.stdout}")
    busy = (_seconds_of_children() - before) / seconds
    p50, p99, p999 = (_percentile(done.stdout, percent) for percent in ("50", "99", "99.9"))
    return Round(float(rate[1]), p50, p99, busy, p999)


def alternate(run: Run, contenders: Sequence[Contender]) -> list[list[Round]]:
    """Return the rounds of each contender. The others are frozen meanwhile."""
    for each in contenders:
        each.server.freeze()
    for each in contenders:
        _one_round(each, 0, WARM_UP)
    turns: list[list[Round]] = []
    while len(turns) < run.rounds or (len(turns) < MOST * run.rounds and not _are_precise(turns, run.rounds)):
        watch = Watch()
        turn = [_one_round(each, len(turns) + 1, run.seconds) for each in contenders]
        turns.append([replace(each, is_disturbed=watch.disturbance().is_large) for each in turn])
    return [list(rounds) for rounds in zip(*turns, strict=True)]


def _one_round(contender: Contender, number: int, seconds: int) -> Round:
    contender.server.resume()
    origin = contender.origin or f"http://127.0.0.1:{contender.server.port}"
    before = contender.server.processor_time()
    try:
        arguments = [*contender.arguments, str(number)]
        measured = run_wrk(origin, contender.script, arguments, seconds=seconds, has_links=contender.has_links)
        used = contender.server.processor_time() - before
        return replace(measured, cost=used / (measured.rate * seconds) * 1e6)
    finally:
        contender.server.freeze()


def _are_precise(turns: Sequence[Sequence[Round]], needed: int) -> bool:
    """Whether the median of each ratio to the first server is. A server alone is compared with nothing."""
    first, *others = [list(rounds) for rounds in zip(*turns, strict=True)]
    if not others:
        return True
    if sum(not each.is_disturbed for each in first) < needed:
        return False
    return all(_error([our.rate / their.rate for our, their in _pairs(first, rounds)]) <= _PRECISE for rounds in others)


def _error(values: Sequence[float]) -> float:
    """The standard error of their median, relative to it. Single outliers count little, as for the median."""
    middle = statistics.median(values)
    deviation = 1.4826 * statistics.median(abs(each - middle) for each in values)  # of normally distributed values
    return float(1.2533 * deviation / len(values) ** 0.5 / middle)


def rate(rounds: Sequence[Round]) -> float:
    return statistics.median(each.rate for each in counted(rounds))


def p99(rounds: Sequence[Round]) -> float:
    return statistics.median(each.p99 for each in counted(rounds))


def cost(rounds: Sequence[Round]) -> float:
    return statistics.median(each.cost for each in counted(rounds))


def rate_ratio(ours: Sequence[Round], theirs: Sequence[Round]) -> float:
    return statistics.median(our.rate / their.rate for our, their in _pairs(ours, theirs))


def cost_ratio(ours: Sequence[Round], theirs: Sequence[Round]) -> float:
    """How many answers ours gives in the processor time that theirs needs for one."""
    return statistics.median(their.cost / our.cost for our, their in _pairs(ours, theirs))


def p99_ratio(ours: Sequence[Round], theirs: Sequence[Round]) -> float:
    return statistics.median(our.p99 / their.p99 for our, their in _pairs(ours, theirs))


def counted(rounds: Sequence[Round]) -> Sequence[Round]:
    """The undisturbed ones. All of them, if they are less than half: then the machine is as it is."""
    undisturbed = [each for each in rounds if not each.is_disturbed]
    return undisturbed if len(undisturbed) * 2 >= len(rounds) else rounds


def _pairs(ours: Sequence[Round], theirs: Sequence[Round]) -> list[tuple[Round, Round]]:
    return list(zip(counted(ours), counted(theirs), strict=True))


def spread(rounds: Sequence[Round]) -> str:
    used = counted(rounds)
    slowest, fastest = min(each.rate for each in used), max(each.rate for each in used)
    busy = statistics.median(each.busy for each in used)
    return f"{rate(rounds):,.0f}/s ({slowest:,.0f} to {fastest:,.0f}; wrk {busy:.0%} busy{_noted(rounds)})"


def _noted(rounds: Sequence[Round]) -> str:
    disturbed = sum(each.is_disturbed for each in rounds)
    if not disturbed:
        return ""
    left_out = "left out" if len(counted(rounds)) < len(rounds) else "all counted"
    return f"; {disturbed} of {len(rounds)} rounds disturbed, {left_out}"


def warm_up(
    port: int, slugs: int, host_of: Callable[[int], str] | None = None, path_of: Callable[[int], str] = slug_of
) -> None:
    """Visit each slug once with HEAD, which loads its route into memory and records no click.

    `host_of`: the host of a slug by its number, if it is not that of the port. `path_of`: its path, if not the slug.
    """
    name = host_of or (lambda _: f"127.0.0.1:{port}")
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        for start in range(0, slugs, _PIPELINED):
            numbers = range(start, min(start + _PIPELINED, slugs))
            heads = [f"HEAD /{path_of(number)} HTTP/1.1\r\nHost: {name(number)}\r\n\r\n" for number in numbers]
            connection.sendall("".join(heads).encode())
            responses = b""
            while responses.count(b"\r\n\r\n") < len(numbers):
                responses += connection.recv(1 << 18) or _closed(port)
            if responses.count(b" 302 Found") != len(numbers):
                raise Failed(f"not every slug of {numbers} redirects")


def _closed(port: int) -> bytes:
    raise Failed(f"the server on port {port} closed the connection")


def _seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _count(pattern: str, output: str) -> int:
    found = re.search(pattern, output)
    return int(found[1]) if found else 0


def _percentile(output: str, percent: str) -> float:
    found = re.search(rf" {re.escape(percent)}%\s+([\d.]+)(us|ms|s)", output)
    if found is None and percent in {"50", "99"}:
        raise Failed(f"wrk printed no latency: {output}")
    return float(found[1]) * _UNITS[found[2]] if found else 0.0
