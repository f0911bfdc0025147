"""`make bench`, or `python -m bench [--short] [NAME …]`: run benchmarks, print one table, and write it for a commit.

It measures the compiled package, as installations have it. Without names, those run that the documents show
(`published.py`) and that have no results for this commit yet: an interrupted run continues, also after commits that
change only documents and tests. A short run, and one with uncommitted changes, only prints its table. `--out` writes
the table to a file, and nothing else. `python -m bench compare A B` compares two commits.
"""

import argparse
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from inspect import getdoc
from pathlib import Path
from types import ModuleType

from bench import (
    account_export,
    addresses,
    aliases,
    bulk_creates,
    clickhouse_store,
    clients,
    cold_redirects,
    compare,
    copies,
    creates,
    documents,
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
    published,
    qrcodes,
    redirect_latency,
    redirects,
    redirects_while_draining,
    report,
    route_memory,
    routing,
    shared_pages,
    small_machine,
    startup,
    stats,
    tls,
    webhooks,
    worker_memory,
)
from bench.compiled import run_compiled
from bench.disturbance import Watch
from bench.results import Measured, NotWritten, Results, of_all_commits, of_this_commit
from bench.run import Run, new_run
from bench.seed import say

BENCHMARKS: Mapping[str, ModuleType] = {
    "redirects": redirects,
    "domains": domains,
    "aliases": aliases,
    "addresses": addresses,
    "tls": tls,
    "pixel-pages": pixel_pages,
    "routing": routing,
    "cold-redirects": cold_redirects,
    "link-count": link_count,
    "route-memory": route_memory,
    "link-list": link_list,
    "link-by-id": link_by_id,
    "limiter": limiter,
    "redirects-while-draining": redirects_while_draining,
    "redirect-latency": redirect_latency,
    "creates": creates,
    "bulk-creates": bulk_creates,
    "clients": clients,
    "enrichment": enrichment,
    "imported-links": imported_links,
    "imported-visits": imported_visits,
    "stats": stats,
    "account-export": account_export,
    "drain": drain,  # uses up the stores that `stats` reads
    "clickhouse": clickhouse_store,
    "copies": copies,
    "worker-memory": worker_memory,
    "webhooks": webhooks,
    "qrcodes": qrcodes,
    "pages": pages,
    "operator-pages": operator_pages,
    "shared-pages": shared_pages,
    "small-machine": small_machine,
    "startup": startup,
}


def main() -> int:
    if sys.argv[1:2] == ["compare"]:
        return compare.main(sys.argv[2:])
    given = _arguments()
    run_compiled()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends servers, as an interruption by the keyboard does
    results = None if given.short or given.out else _results()
    names = given.names or [name for name in descriptions() if results is None or not results.has(name)]
    with new_run(short=given.short) as run:
        measured = {name: _measured(name, run, results) for name in names}
    rows = [row for each in measured.values() for row in each.rows]
    print(report.table(rows))
    print(report.listed(report.machine() | report.nginx()))
    if given.out:
        given.out.write_text(report.table(rows) + "\n")
    return int(any(row.value == report.FAILED for row in rows))


def _results() -> Results | None:
    try:
        return of_this_commit(report.machine() | report.nginx())
    except NotWritten as error:
        say(f"the results are printed only: {error}")
        return None


def _measured(name: str, run: Run, results: Results | None) -> Measured:
    """A failure becomes a row, and the other benchmarks still run. Results are written one by one."""
    began, watch = time.monotonic(), Watch()
    say(f"{name} …")
    try:
        rows = BENCHMARKS[name].measure(run)
        if results is not None:
            rows += report.missing(published.BENCHMARKS.get(name, ()), rows)
    except Exception as error:  # noqa: BLE001  # every error becomes a row
        traceback.print_exc()
        rows = [report.failed(name, error)]
    for row in rows:
        say(f"{row.what}: {row.value} {row.target} {row.verdict} ({row.detail})")
    measured = Measured(report.now(), str(watch.disturbance()), rows)
    say(f"{name} took {time.monotonic() - began:.0f} s; {measured.disturbance}")
    if results is not None and name in published.BENCHMARKS:
        results.benchmarks[name] = measured
        results.write()
        documents.DOCUMENT.write_text(documents.one_commit(results, descriptions()))
        documents.OVER_TIME.write_text(documents.over_time(of_all_commits()))
    return measured


def descriptions() -> dict[str, str]:
    """Return the docstrings of published benchmarks, in the order in which they run."""
    return {name: getdoc(module) or "" for name, module in BENCHMARKS.items() if name in published.BENCHMARKS}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Waypost.")
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--short", action="store_true", help="small and fast: checks that it works, not the speed")
    parser.add_argument("--out", type=Path, help="where to write the table")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
