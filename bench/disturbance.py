"""What other programs, and other guests of the host, took from a measurement.

Other programs are all processes but this one, its descendants and the kernel's threads. `adopt_orphans` makes servers
that fork into the background descendants, too.
"""

import ctypes
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")
_LARGEST = 0.05
"""Of a core, for each of both."""
_CHILD_SUBREAPER = 36  # <linux/prctl.h>
_KERNEL_THREADS = 2  # the process id of their parent


@dataclass(frozen=True)
class Disturbance:
    others: float
    """Processor time of other programs, as a share of one core."""
    stolen: float
    """Time for which the host ran other guests, as a share of one core."""

    @property
    def is_large(self) -> bool:
        return max(self.others, self.stolen) > _LARGEST

    def __str__(self) -> str:
        return f"other programs {self.others:.0%} of a core, stolen by the host {self.stolen:.0%}"


class Watch:
    """Counts from its creation on."""

    def __init__(self) -> None:
        self._began, self._others, self._stolen = time.monotonic(), _seconds_of_others(), _stolen_seconds()

    def disturbance(self) -> Disturbance:
        seconds = max(time.monotonic() - self._began, 1 / _TICKS)
        others = max(_seconds_of_others() - self._others, 0)
        return Disturbance(others / seconds, (_stolen_seconds() - self._stolen) / seconds)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends."""
    ctypes.CDLL(None).prctl(_CHILD_SUBREAPER, 1)


class Process(NamedTuple):
    parent: int
    seconds: float
    """Its processor time, with that of ended children it has waited for. So the sum includes those that end."""


def of_others(processes: Mapping[int, Process], own: int) -> float:
    """Return the seconds of all that descend neither from `own` nor from the kernel."""

    def is_other(pid: int) -> bool:
        while pid in processes and pid not in (own, _KERNEL_THREADS):
            pid = processes[pid].parent
        return pid not in (own, _KERNEL_THREADS)

    return sum(process.seconds for pid, process in processes.items() if is_other(pid))


def _seconds_of_others() -> float:
    return of_others(dict(_processes()), os.getpid())


def _processes() -> Iterator[tuple[int, Process]]:
    for directory in Path("/proc").glob("[0-9]*"):
        try:  # the name, in parentheses, may contain anything
            fields = (directory / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # ended meanwhile
            continue
        yield int(directory.name), Process(int(fields[1]), sum(map(int, fields[11:15])) / _TICKS)


def _stolen_seconds() -> float:
    return int(Path("/proc/stat").read_text().split(maxsplit=9)[8]) / _TICKS
