"""Traffic on three nodes with a fault every 20 s in random order; then every single visit is looked for.

`make test-nodes MINUTES=30`. Prints the seed, a table of the faults, and what was compared. Exit code 1 if a visit was
lost or counted twice, or if counters, lists, statistics and events differ.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from random import Random

from nodes.accounting import compare, settle
from nodes.cluster import Cluster, running_cluster
from nodes.faults import FAULTS, name_of
from nodes.network import what_is_missing
from nodes.traffic import Answers, Period, Site, Traffic

_SLOT = 20.0  # seconds from fault to fault
_ACCOUNTS = ("hooked", "ada", "ben", "cleo")


async def run(
    cluster: Cluster, site: Site, *, minutes: float, rate: float, random: Random, faults: Sequence[str]
) -> bool:
    """Whether everything agrees in the end."""
    async with site.running():
        traffic = Traffic(await cluster.new_keys(*_ACCOUNTS), rate=rate, random=random)
        async with traffic.running(cluster):
            periods = await _strike(cluster, traffic, random, minutes * 60, faults)
        started = time.monotonic()
        await asyncio.to_thread(settle, cluster)
        say(f"all visits drained and all events delivered {time.monotonic() - started:.0f} s after the last request")
        _print_table(periods)
        findings = await compare(cluster, site, traffic)
        await traffic.close()
    for finding in findings:
        say(f"{'ok    ' if finding.is_right else 'FAILED'} {finding.text}")
    return all(finding.is_right for finding in findings)


async def _strike(
    cluster: Cluster, traffic: Traffic, random: Random, seconds: float, only: Sequence[str]
) -> dict[str, list[Period]]:
    periods = defaultdict[str, list[Period]](list)
    chosen = [fault for fault in FAULTS if not only or fault.__name__ in only]
    order = list(chosen)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if order == chosen:
            random.shuffle(order)
        fault = order.pop()
        order = order or list(chosen)
        started = time.monotonic()
        traffic.start_period()
        say(f"{name_of(fault)}")
        struck = fault(cluster, random)
        await asyncio.to_thread(struck.__enter__)
        await asyncio.sleep(random.uniform(4, 10))
        await asyncio.to_thread(struck.__exit__, None, None, None)
        await asyncio.sleep(max(0.0, started + _SLOT - time.monotonic()))
        visits, writes = traffic.period.visits, traffic.period.writes
        say(
            f"    visits: {visits.answered} answered, {visits.refused} not, longest gap {visits.longest_gap:.1f} s;"
            f" writes: {writes.answered} answered, {writes.refused} not, longest gap {writes.longest_gap:.1f} s"
        )
        periods[name_of(fault)].append(traffic.period)
    return periods


def _print_table(periods: dict[str, list[Period]]) -> None:
    print(
        "| fault | times | visits not answered | longest without redirects | writes refused | longest without writes |"
    )
    print("|---|--:|--:|--:|--:|--:|")
    for name, times in sorted(periods.items()):
        visits, writes = ([getattr(each, kind) for each in times] for kind in ("visits", "writes"))
        print(f"| {name} | {len(times)} | {_summary(visits, digits=2)} | {_summary(writes, digits=0)} |")


def _summary(times: Sequence[Answers], *, digits: int) -> str:
    refused = sum(each.refused for each in times)
    share = refused / max(1, refused + sum(each.answered for each in times))
    return f"{share:.{digits}%} | {max(each.longest_gap for each in times):.1f} s"


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=float, default=200, help="visits per second")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--fault", action="append", default=[], help="only this one; can be repeated")
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else Random().randrange(1 << 32)
    say(f"seed {seed}, {given.rate:g} visits/s for {given.minutes:g} minutes")
    if reason := what_is_missing():
        say(reason)
        return 1
    with tempfile.TemporaryDirectory(prefix="waypost-site-") as name:
        site = Site(Path(name))
        with running_cluster(ca_file=site.ca_file, WAYPOST_WEBHOOK_BACKOFF="1,2,5,10") as cluster:
            say("three nodes are ready")
            options = {"minutes": given.minutes, "rate": given.rate, "random": Random(seed)}
            is_right = asyncio.run(run(cluster, site, **options, faults=given.fault))
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
