"""Runs wrk against servers from a separate core, in alternating rounds. A single wrong response makes a run fail."""

import re
import resource
import socket
import statistics
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.report import Failed
from bench.run import Run
from bench.seed import slug_of
from bench.servers import LOAD_CORE, Server

CONNECTIONS = 64
_UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0}
_PIPELINED = 128


@dataclass(frozen=True)
class Round:
    rate: float
    """Answers a second."""
    p50: float
    p99: float
    """Milliseconds."""
    busy: float
    """The share of its core that wrk used. Near 1, wrk was the bottleneck."""


@dataclass(frozen=True)
class Contender:
    server: Server
    script: str
    arguments: Sequence[str]
    """Arguments of the script; the number of the round is appended."""
    origin: str = ""
    """The URL, if not plain HTTP on its port."""


def run_wrk(origin: str, script: str, arguments: Sequence[str], *, seconds: int) -> Round:
    """`script`: a Lua file in this directory."""
    options = ["-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "-s", str(Path(__file__).parent / script)]
    command = ["taskset", "-c", LOAD_CORE, "wrk", *options, f"{origin}/", "--", *arguments]
    before = _seconds_of_children()
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60, check=False)
    if done.returncode or re.search(r"Non-2xx|Socket errors|error", done.stdout + done.stderr):
        raise Failed(f"wrk on {origin}: {done.stdout} {done.stderr}")
    rate = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    if rate is None or not float(rate[1]):
        raise Failed(f"wrk on {origin}: {done.stdout}")
    busy = (_seconds_of_children() - before) / seconds
    return Round(float(rate[1]), _percentile(done.stdout, 50), _percentile(done.stdout, 99), busy)


def alternate(run: Run, contenders: Sequence[Contender]) -> list[list[Round]]:
    """Return the rounds of each contender. The others are frozen meanwhile."""
    for each in contenders:
        each.server.freeze()
    rounds: list[list[Round]] = [[] for _ in contenders]
    for number in range(run.rounds):
        for each, own in zip(contenders, rounds, strict=True):
            each.server.resume()
            origin = each.origin or f"http://127.0.0.1:{each.server.port}"
            own.append(run_wrk(origin, each.script, [*each.arguments, str(number)], seconds=run.seconds))
            each.server.freeze()
    return rounds


def rate(rounds: Sequence[Round]) -> float:
    return statistics.median(each.rate for each in rounds)


def p99(rounds: Sequence[Round]) -> float:
    return statistics.median(each.p99 for each in rounds)


def rate_ratio(ours: Sequence[Round], theirs: Sequence[Round]) -> float:
    return statistics.median(our.rate / their.rate for our, their in zip(ours, theirs, strict=True))


def p99_ratio(ours: Sequence[Round], theirs: Sequence[Round]) -> float:
    return statistics.median(our.p99 / their.p99 for our, their in zip(ours, theirs, strict=True))


def spread(rounds: Sequence[Round]) -> str:
    slowest, fastest = min(each.rate for each in rounds), max(each.rate for each in rounds)
    busy = statistics.median(each.busy for each in rounds)
    return f"{rate(rounds):,.0f}/s ({slowest:,.0f} to {fastest:,.0f}; wrk {busy:.0%} busy)"


def warm_up(port: int, slugs: int, host_of: Callable[[int], str] | None = None) -> None:
    """Visit each slug once with HEAD, which loads its route into memory and records no click.

    `host_of`: the host of a slug by its number, if it is not that of the port.
    """
    name = host_of or (lambda _: f"127.0.0.1:{port}")
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        for start in range(0, slugs, _PIPELINED):
            numbers = range(start, min(start + _PIPELINED, slugs))
            heads = [f"HEAD /{slug_of(number)} HTTP/1.1\r\nHost: {name(number)}\r\n\r\n" for number in numbers]
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


def _percentile(output: str, percent: int) -> float:
    found = re.search(rf"\b{percent}%\s+([\d.]+)(us|ms|s)", output)
    if found is None:
        raise Failed(f"wrk printed no latency: {output}")
    return float(found[1]) * _UNITS[found[2]]
