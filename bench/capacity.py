"""`python -m bench.capacity`: what an installation needs for 10 to 100,000 redirects in its busiest second.

Reads docs/design/benchmarks.md and writes the table into docs/operate/scaling.md. The assumptions are
constants of this file, and the table's text names them.
"""

import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path

_DOCS = Path(__file__).parent.parent / "docs"
_BEGIN, _END = "<!-- capacity: begin -->", "<!-- capacity: end -->"
_SECONDS = 30 * 86_400
_PEAK = 10
"""The busiest second has ten times the mean: campaigns start at a fixed time."""
_USE = 0.5
"""Use at most half of what was measured: other machines are slower, and a node may be away."""
_CORES_PER_NODE = 4
_UP_TO = {"SQLite": 10**7, "PostgreSQL": 10**8}
"""Clicks a month. The page says the same."""
_LINE = 220
"""Bytes of a visit in the spool."""
_KEPT_MONTHS = 13
_PEAKS = (10, 30, 100, 1_000, 10_000, 100_000)
_PEAK_SECONDS = 3_600
_LINKS_PER_CLICK = 0.1
"""Rows of link counters that a batch updates in PostgreSQL, for each click: most clicks are on few links."""


@dataclass(frozen=True)
class Measured:
    redirects: float
    """A second and core, with a browser's headers."""
    drained: dict[str, float]
    """Clicks a second and worker, by store."""
    stored: dict[str, float]
    """Bytes of a click with its statistics, by store."""


def main() -> int:
    measured = read((_DOCS / "design" / "benchmarks.md").read_text())
    page = _DOCS / "operate" / "scaling.md"
    before, rest = page.read_text().split(_BEGIN)
    after = rest.split(_END)[1]
    page.write_text(f"{before}{_BEGIN}\n{table(measured)}\n{_END}{after}")
    return 0


def read(benchmarks: str) -> Measured:
    def number(row: str, pattern: str = r"\| ([\d,.]+)") -> float:
        found = re.search(rf"^\| {row}[^|]*{pattern}", benchmarks, re.MULTILINE)
        if not found:
            raise SystemExit(f"docs/design/benchmarks.md has no row {row!r}")
        return float(found.group(1).replace(",", ""))

    return Measured(
        number("redirects with a browser's 12 headers", r"\|.*?Waypost ([\d,]+)/s"),
        {
            "SQLite": number("drain rate on SQLite"),
            "PostgreSQL": number("drain rate on PostgreSQL"),
            "ClickHouse": number("drain rate into ClickHouse"),
        },
        {
            "SQLite": number("bytes for each of [\\d,]+ clicks in SQLite"),
            "PostgreSQL": number("bytes for each of [\\d,]+ clicks in PostgreSQL"),
            "ClickHouse": number("bytes for each of [\\d,]+ clicks in ClickHouse"),
        },
    )


def table(measured: Measured) -> str:
    lines = [
        (
            "| redirects in the busiest second | clicks a month | clicks in | redirect nodes | workers |"
            " spool after a peak hour | disk for clicks, 13 months | PostgreSQL row writes a second |"
        ),
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [_row(peak, measured) for peak in _PEAKS]
    return "\n".join(lines)


def _row(peak: int, measured: Measured) -> str:
    mean = peak / _PEAK
    clicks = mean * _SECONDS
    store = next((store for store, most in _UP_TO.items() if clicks <= most), "ClickHouse")
    cores = math.ceil(peak / (measured.redirects * _USE))
    nodes = 1 if store == "SQLite" else max(2, math.ceil(cores / _CORES_PER_NODE))
    workers = max(nodes, math.ceil(2 * mean / measured.drained[store]))
    drained = workers * measured.drained[store] * _USE
    spool = max(0.0, peak - drained) * _PEAK_SECONDS * _LINE
    disk = clicks * _KEPT_MONTHS * measured.stored[store]
    writes = mean * (_LINKS_PER_CLICK if store == "ClickHouse" else 1 + _LINKS_PER_CLICK)
    size = f"{nodes} of {min(cores, _CORES_PER_NODE)} core{'s' if cores > 1 else ''}"
    cells = (
        f"{peak:,}",
        _clicks(clicks),
        store,
        size,
        str(workers),
        _bytes(spool) if spool else "none",
        _bytes(disk),
        _short(writes),
    )
    return f"| {' | '.join(cells)} |"


def _short(number: float) -> str:
    return f"{number:.1f}" if number < 10 else f"{round(number):,}"


def _clicks(number: float) -> str:
    return f"{_short(number / 1e6)} million" if number < 1e9 else f"{_short(number / 1e9)} billion"


def _bytes(number: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if number >= size:
            return f"{_short(number / size)} {unit}"
    return "under 1 MB"


if __name__ == "__main__":
    sys.exit(main())
