"""Mixed load on three nodes with a fault every 20 s in random order; then every single visit is looked for.

`make test-nodes MINUTES=30`. Prints the seed, a table of the requests, one of the faults, and what was compared. Exit
code 1 if a visit was lost or counted twice, or if counters, lists, statistics, imports and events differ.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from nodes.accounting import compare, deliveries, settle, sum_up
from nodes.cluster import Cluster, running_cluster
from nodes.faults import FAULTS, name_of
from nodes.network import what_is_missing
from nodes.traffic import VISITS, WRITES, Answers, Site, Traffic

_SLOT = 20.0  # seconds from fault to fault
_ACCOUNTS = ("hooked", "ada", "ben", "cleo")


@dataclass(frozen=True)
class Struck:
    """One fault."""

    visits: Answers
    writes: Answers
    seconds: float
    """From its end until all nodes were ready."""


async def run(
    cluster: Cluster, site: Site, *, minutes: float, rate: float, random: Random, faults: Sequence[str]
) -> bool:
    """Whether everything agrees in the end."""
    async with site.running():
        traffic = Traffic(await cluster.new_keys(*_ACCOUNTS), rate=rate, random=random)
        async with traffic.running(cluster):
            struck = await _strike(cluster, traffic, random, minutes * 60, faults)
        started = time.monotonic()
        await asyncio.to_thread(settle, cluster)
        say(f"all visits drained and all events delivered {time.monotonic() - started:.0f} s after the last request")
        _print_requests(sum_up(traffic) | {"webhook deliveries": deliveries(site, traffic)})
        _print_faults(struck)
        findings = await compare(cluster, site, traffic)
        await traffic.close()
    for finding in findings:
        say(f"{'ok    ' if finding.is_right else 'FAILED'} {finding.text}")
    return all(finding.is_right for finding in findings)


async def _strike(
    cluster: Cluster, traffic: Traffic, random: Random, seconds: float, only: Sequence[str]
) -> dict[str, list[Struck]]:
    struck = defaultdict[str, list[Struck]](list)
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
        lasting = fault(cluster, random)
        await asyncio.to_thread(lasting.__enter__)
        await asyncio.sleep(random.uniform(4, 10))
        ended = time.monotonic()
        await asyncio.to_thread(lasting.__exit__, None, None, None)
        await asyncio.to_thread(cluster.wait_until_ready)
        recovery = time.monotonic() - ended
        await asyncio.sleep(max(0.0, started + _SLOT - time.monotonic()))
        period = traffic.periods[-1]
        for kind, answers in period.items():
            gap = f"longest gap {answers.longest_gap:.1f} s"
            say(f"    {kind}: {answers.answered} answered, {gap}, not answered: {_reasons(answers)}")
        struck[name_of(fault)].append(Struck(period[VISITS], period[WRITES], recovery))
    return struck


def _print_requests(requests: Mapping[str, Answers]) -> None:
    print("| kind | answered | not answered | median | p95 | p99 | worst |")
    print("|---|--:|---|--:|--:|--:|--:|")
    for kind, answers in requests.items():
        times = sorted(answers.seconds) or [0.0]
        shown = [_time(times[min(len(times) - 1, int(len(times) * share))]) for share in (0.5, 0.95, 0.99, 1)]
        print(f"| {kind} | {answers.answered:,} | {_reasons(answers)} | {' | '.join(shown)} |")
    print()


def _reasons(answers: Answers) -> str:
    return ", ".join(f"{reason} {count:,} times" for reason, count in answers.refused.most_common()) or "none"


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _print_faults(struck: Mapping[str, Sequence[Struck]]) -> None:
    print(
        "| fault | times | visits not answered | longest without redirects | writes refused | longest without writes |"
        " until all nodes were ready |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, times in sorted(struck.items()):
        visits = _summary([each.visits for each in times], digits=2)
        writes = _summary([each.writes for each in times], digits=0)
        print(f"| {name} | {len(times)} | {visits} | {writes} | {max(each.seconds for each in times):.1f} s |")


def _summary(times: Sequence[Answers], *, digits: int) -> str:
    refused = sum(each.refused.total() for each in times)
    share = refused / max(1, refused + sum(each.answered for each in times))
    return f"{share:.{digits}%} | {max(each.longest_gap for each in times):.1f} s"


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=float, default=150, help="visits per second")
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
