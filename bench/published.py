"""The rows that the documents show, and their targets: what `make bench` without names runs.

All other rows are printed, by runs that name their benchmark.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

_VALUE = re.compile(r"(-?[\d,]*\.?\d+)(.*)")


class Target(NamedTuple):
    sign: str
    bound: float

    def is_met(self, value: str) -> bool | None:
        """`value`: of a row. None if it has no number."""
        if not (found := _VALUE.match(value)):
            return None
        number = float(found[1].replace(",", ""))
        return number >= self.bound if self.sign == "≥" else number <= self.bound

    def text(self, value: str) -> str:
        """With the unit that the value has."""
        found = _VALUE.match(value)
        return f"{self.sign} {short(self.bound)}{found[2] if found else ''}"


def short(value: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _at_least(bound: float) -> Target:
    return Target("≥", bound)


def _at_most(bound: float) -> Target:
    return Target("≤", bound)


Rows = Mapping[str, Target | None]

PUBLISHED: Mapping[str, Mapping[str, Rows]] = {
    "Redirects": {
        "redirects": {
            "redirects from memory, relative to nginx": _at_least(0.8),
            "redirects with a browser's 12 headers, relative to nginx": _at_least(0.8),
            "p99 at 64 connections: redirects with a browser's 12 headers, relative to nginx": _at_most(2),
            "redirects with a browser's 12 headers, relative to nginx, not compiled": _at_least(0.7),
        },
        "redirects-while-draining": {
            "redirects while the worker drains on the same core, relative to nginx": _at_least(0.25),
            "p99 while the worker drains, relative to nginx": _at_most(3),
        },
        "redirect-latency": {
            "1,000 redirects a second while the worker drains, p50 relative to nginx": _at_most(1.4),
            "1,000 redirects a second while the worker drains, p99 relative to nginx": _at_most(1.2),
            "1,000 redirects a second while the worker drains, p99.9": None,
            "10,000 redirects a second while the worker drains, p50 relative to nginx": _at_most(1.4),
            "10,000 redirects a second while the worker drains, p99 relative to nginx": _at_most(1.2),
            "10,000 redirects a second while the worker drains, p99.9": None,
        },
        "cold-redirects": {"redirects not in memory, relative to nginx": _at_least(0.25)},
        "aliases": {"redirects by alias, relative to redirects by slug": _at_least(0.6)},
        "tls": {"redirects over built-in TLS, relative to nginx over TLS": _at_least(0.5)},
        "routing": {"redirects by five rules with country, relative to plain links": _at_least(0.5)},
        "pixel-pages": {"pages with two pixels, relative to nginx with a file of that size": _at_least(0.5)},
    },
    "API": {
        "link-by-id": {
            "`GET /v1/links/{id}`, keys in bursts of 50, relative to minimal FastAPI": _at_least(0.25),
            "`GET /v1/links/{id}`, one request per key in turn, relative to minimal FastAPI": _at_least(0.25),
        },
        "creates": {"32 concurrent creates, p99": _at_most(150), "32 concurrent creates, rate": _at_least(300)},
    },
    "Clicks and statistics": {
        "stats": {
            "stats of a link with 99,935 clicks, p99 on SQLite": _at_most(20),
            "stats of the largest account, 30 days, p99 on SQLite": _at_most(50),
            "bytes for each of 10,000,000 clicks in SQLite": None,
            "stats of a link with 99,935 clicks, p99 on PostgreSQL": _at_most(20),
            "stats of the largest account, 30 days, p99 on PostgreSQL": _at_most(50),
            "bytes for each of 10,000,000 clicks in PostgreSQL": None,
        },
        "drain": {
            "drain rate on SQLite with 10,000,000 clicks stored": _at_least(22_000),
            "longest transaction of a drain on SQLite with 10,000,000 clicks stored": _at_most(250),
            "drain rate on PostgreSQL with 10,000,000 clicks stored": _at_least(21_000),
        },
        "clickhouse": {
            "drain rate into ClickHouse": _at_least(80_000),
            "bytes for each of 100,000,000 clicks in ClickHouse, with statistics": _at_most(60),
            "stats of a link with 1,000,000 clicks, p95 on ClickHouse": _at_most(100),
            "stats of an account with 40,000,000 clicks, p95 on ClickHouse": _at_most(500),
        },
    },
    "Webhooks": {
        "webhooks": {
            "event to receiver while another receiver hangs, p99 on SQLite": _at_most(1),
            "event to receiver while another receiver hangs, p99 on PostgreSQL": _at_most(1),
        },
    },
    "Imports": {
        "imported-links": {
            "import of 100,000 links from CSV on SQLite": _at_most(120),
            "import of 100,000 links from CSV on PostgreSQL": _at_most(120),
        },
        "imported-visits": {"import of 1,000,000 visits of Shlink on SQLite": _at_most(300)},
    },
    "Start and memory": {
        "startup": {"`serve` until ready": _at_most(1), "memory of all idle processes, RSS": _at_most(170)},
        "route-memory": {"memory of the route table per link": _at_most(400)},
        "small-machine": {
            "redirects per second of the whole service within 256 MB, of 1,000 sent": _at_least(950),
        },
    },
}
"""By heading and benchmark, the rows of benchmarks.md and their targets."""

ATTACKS: Rows = {
    "a visitor's redirect, p99": _at_most(50),
    "another account's plan of one row is done": _at_most(5),
}
"""What security.md shows of each attack that measures it."""

BENCHMARKS: Mapping[str, Rows] = {name: rows for section in PUBLISHED.values() for name, rows in section.items()}

_ROWS: Rows = {what: target for rows in BENCHMARKS.values() for what, target in rows.items()}


def is_published(what: str) -> bool:
    return what in _ROWS or _of_attack(what) in ATTACKS


def target_of(what: str) -> Target | None:
    return _ROWS.get(what) or ATTACKS.get(_of_attack(what))


def _of_attack(what: str) -> str:
    """Without the attack's name."""
    return what.rpartition(": ")[2]
