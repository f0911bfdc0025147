"""Which rounds of a benchmark count, and when there are enough of them."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench import wrk
from bench.disturbance import Disturbance, Process, Watch, of_others
from bench.run import Run
from bench.servers import Server
from bench.wrk import Contender, Round


def test_disturbed_rounds_are_left_out_and_counted_in_the_details() -> None:
    rounds = [_round(100), _round(10, is_disturbed=True), _round(102)]
    others = [_round(50), _round(50, is_disturbed=True), _round(51)]
    assert wrk.rate(rounds) == 101
    assert wrk.rate_ratio(rounds, others) == 2
    assert "1 of 3 rounds disturbed, left out" in wrk.spread(rounds)


def test_rounds_count_where_most_are_disturbed() -> None:
    rounds = [_round(100), _round(10, is_disturbed=True), _round(10, is_disturbed=True)]
    assert wrk.rate(rounds) == 10
    assert "2 of 3 rounds disturbed, all counted" in wrk.spread(rounds)


def test_servers_are_compared_until_the_ratio_is_precise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rates = iter([1, 1, *[100, 100, 100, 120, 100, 80, 100, 100, 100, 101, 100, 100] * 9])
    monkeypatch.setattr(wrk, "run_wrk", lambda *_, **__: _round(next(rates)))
    monkeypatch.setattr(Watch, "disturbance", lambda _: Disturbance(0, 0))
    run = Run.short(tmp_path, cleanup=None, kept=None)  # type: ignore[arg-type]  # neither is used
    nobody = [Contender(Server("x", 0, 0, tmp_path), "", [])] * 2
    monkeypatch.setattr(Server, "processes", lambda _: [])
    rounds, _ = wrk.alternate(run, nobody)
    assert run.rounds < len(rounds) <= 3 * run.rounds
    assert len(wrk.alternate(run, nobody[:1])[0]) == run.rounds


def test_time_of_other_programs_is_that_of_neither_descendants_nor_the_kernel() -> None:
    own, child, grandchild, kernel_thread, service, shell = 100, 101, 102, 7, 50, 51
    processes = {
        1: Process(0, 1),
        2: Process(0, 2),
        kernel_thread: Process(2, 4),
        service: Process(1, 8),
        shell: Process(service, 16),
        own: Process(shell, 32),
        child: Process(own, 64),
        grandchild: Process(child, 128),
    }
    assert of_others(processes, own) == 1 + 8 + 16


def test_servers_that_go_into_the_background_stay_descendants() -> None:
    program = """
import os, subprocess
from bench.disturbance import adopt_orphans
adopt_orphans()
read, write = os.pipe()
subprocess.run(["sh", "-c", "(echo started >&%d; exec cat) &" % write], pass_fds=[write], stdin=subprocess.PIPE)
os.read(read, 8)
print(open(f"/proc/self/task/{os.getpid()}/children").read().split() != [])
"""
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "True"


def _round(rate: float, *, is_disturbed: bool = False) -> Round:
    return Round(rate, 1, 2, 0.5, is_disturbed=is_disturbed)
