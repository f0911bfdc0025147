"""`make bench`, or `python -m bench [--short] [--out FILE] [NAME …]`: run benchmarks, print and write one table.

A short or partial run only prints its table, unless `--out` names a file.
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
    account_export,
    aliases,
    bulk_creates,
    clickhouse_store,
    clients,
    cold_redirects,
    copies,
    creates,
    domains,
    drain,
    enrichment,
    imported_links,
    imported_visits,
    limiter,
    link_by_id,
    link_count,
    link_list,
    operator_pages,
    pages,
    pixel_pages,
    qrcodes,
    redirects,
    redirects_while_draining,
    report,
    route_memory,
    routing,
    small_machine,
    startup,
    stats,
    tls,
    webhooks,
    worker_memory,
)
from bench.report import Row
from bench.run import Run
from bench.seed import say
from bench.servers import LOAD_CORE

BENCHMARKS = {
    "redirects": redirects.measure,
    "domains": domains.measure,
    "aliases": aliases.measure,
    "tls": tls.measure,
    "pixel-pages": pixel_pages.measure,
    "routing": routing.measure,
    "cold-redirects": cold_redirects.measure,
    "link-count": link_count.measure,
    "route-memory": route_memory.measure,
    "link-list": link_list.measure,
    "link-by-id": link_by_id.measure,
    "limiter": limiter.measure,
    # Writes clicks into the store that the benchmarks before it share.
    "redirects-while-draining": redirects_while_draining.measure,
    "creates": creates.measure,
    "bulk-creates": bulk_creates.measure,
    "clients": clients.measure,
    "enrichment": enrichment.measure,
    "imported-links": imported_links.measure,
    "imported-visits": imported_visits.measure,
    "stats": stats.measure,
    "account-export": account_export.measure,
    "drain": drain.measure,  # adds clicks to the stores that `stats` reads
    "clickhouse": clickhouse_store.measure,
    "copies": copies.measure,
    "worker-memory": worker_memory.measure,
    "webhooks": webhooks.measure,
    "qrcodes": qrcodes.measure,
    "pages": pages.measure,
    "operator-pages": operator_pages.measure,
    "small-machine": small_machine.measure,  # adds clicks, too
    "startup": startup.measure,
}
_DOCUMENT = Path(__file__).parent.parent / "docs" / "design" / "benchmarks.md"


def main() -> int:
    given, load = _arguments(), os.getloadavg()[0]
    os.sched_setaffinity(0, {int(LOAD_CORE)})  # servers run on other cores
    with (
        tempfile.TemporaryDirectory(prefix="waypost-bench-", ignore_cleanup_errors=True) as directory,
        contextlib.ExitStack() as cleanup,
    ):
        Path(directory).chmod(0o755)  # PostgreSQL runs as a different user
        run = (Run.short if given.short else Run.full)(Path(directory), cleanup)
        rows = [row for name in given.names or BENCHMARKS for row in _measured(name, run)]
    print(report.table(rows))
    print(report.machine(load))
    if out := given.out or (None if given.short or given.names else _DOCUMENT):
        out.write_text(report.document(rows, " ".join(["python -m bench", *sys.argv[1:]]), load))
        print(f"written to {out}")
    return int(any(row.value == report.FAILED for row in rows))


def _measured(name: str, run: Run) -> list[Row]:
    """Rows of one benchmark. A failure becomes a row, and the others still run."""
    began = time.monotonic()
    say(f"{name} …")
    try:
        rows = BENCHMARKS[name](run)
    except Exception as error:  # noqa: BLE001  # every error becomes a row
        traceback.print_exc()
        rows = [report.failed(name, error)]
    for row in rows:
        say(f"{row.what}: {row.value} {row.target} {row.verdict} ({row.detail})")
    say(f"{name} took {time.monotonic() - began:.0f} s")
    return rows


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Waypost.")
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--short", action="store_true", help="small and fast: checks that it works, not the speed")
    parser.add_argument("--out", type=Path, help="where to write the report")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
