"""CPU time of enrichment: spooled lines become clicks on one core, without storing them.

There are two thousand user agents with realistic frequencies. Most IP addresses are new.
"""

import itertools
import statistics
import time

from bench.report import Row, measured
from bench.run import Run
from bench.visits import new_intake_settings, new_lines
from waypost.kit.ids import new_id
from waypost.redirect.spool import decode
from waypost.resources.clicks.intake.build import IntakeSettings, build_click

_ROUNDS = 5
_ACCOUNT = bytes(16)


def measure(run: Run) -> list[Row]:
    lines, settings = new_lines([new_id() for _ in range(10_000)]), new_intake_settings()
    rounds = [_round(list(itertools.islice(lines, run.visits // _ROUNDS)), settings) for _ in range(_ROUNDS)]
    detail = f"{run.visits:,} visits; from {min(rounds):.2f} to {max(rounds):.2f} µs; the first round fills the caches"
    return [measured("enrichment per click", statistics.median(rounds), detail, " µs")]


def _round(lines: list[bytes], settings: IntakeSettings) -> float:
    began = time.perf_counter()
    for line in lines:
        visit = decode(line[:-1])
        if visit:
            build_click(visit, _ACCOUNT, settings)
    return (time.perf_counter() - began) / len(lines) * 1e6
