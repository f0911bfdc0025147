"""`make bench`, or `python -m bench [--short] [--out FILE] [NAME …]`: runs benchmarks, prints and writes one table.

A short run, or one of only some benchmarks, is printed only, unless a file is named.
"""

import argparse
import contextlib
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

from bench import (
    codes,
    creates,
    delivering,
    domains,
    drain,
    draining,
    enriching,
    figures,
    finds,
    firing,
    lists,
    memory,
    misses,
    pages,
    redirects,
    report,
    sizes,
    startup,
    tls,
    working,
)
from bench.report import Row
from bench.run import Run
from bench.seed import say
from bench.servers import LOAD_CORE

BENCHMARKS = {
    "redirects": redirects.measure,
    "domains": domains.measure,
    "tls": tls.measure,
    "firing": firing.measure,
    "misses": misses.measure,
    "sizes": sizes.measure,
    "memory": memory.measure,
    "lists": lists.measure,
    "finds": finds.measure,
    "draining": draining.measure,  # writes clicks into the store that the benchmarks before it share
    "creates": creates.measure,
    "enriching": enriching.measure,
    "figures": figures.measure,
    "drain": drain.measure,  # adds clicks to the stores that `figures` asks
    "working": working.measure,
    "delivering": delivering.measure,
    "codes": codes.measure,
    "pages": pages.measure,
    "startup": startup.measure,
}
_DOCUMENT = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def main() -> int:
    given, load = _arguments(), os.getloadavg()[0]
    os.sched_setaffinity(0, {int(LOAD_CORE)})  # servers are put on cores of their own
    with (
        tempfile.TemporaryDirectory(prefix="waypost-bench-", ignore_cleanup_errors=True) as directory,
        contextlib.ExitStack() as lasting,
    ):
        Path(directory).chmod(0o755)  # PostgreSQL runs as a user of its own
        run = (Run.short if given.short else Run.full)(Path(directory), lasting)
        rows = [row for name in given.names or BENCHMARKS for row in _measured(name, run)]
    print(report.table(rows))
    print(report.machine(load))
    if out := given.out or (None if given.short or given.names else _DOCUMENT):
        out.write_text(report.document(rows, " ".join(["python -m bench", *sys.argv[1:]]), load))
        print(f"written to {out}")
    return int(any(row.figure == report.FAILED for row in rows))


def _measured(name: str, run: Run) -> list[Row]:
    """A benchmark that fails is a row of the table: the others are still worth knowing."""
    began = time.monotonic()
    say(f"{name} …")
    try:
        rows = BENCHMARKS[name](run)
    except Exception as error:  # noqa: BLE001  # whatever it is, it is told
        traceback.print_exc()
        rows = [report.failed(name, error)]
    for row in rows:
        say(f"{row.what}: {row.figure} {row.target} {row.verdict} ({row.detail})")
    say(f"{name} took {time.monotonic() - began:.0f} s")
    return rows


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Waypost.")
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--short", action="store_true", help="small and quick: to see that it works, not to judge")
    parser.add_argument("--out", type=Path, help="where to write the report")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
