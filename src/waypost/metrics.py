"""Counters of several processes, which any of them serves in Prometheus' text format.

Each counting process has its own files in one directory, in prometheus-client's multiprocess mode. The library is
loaded at the first count or scrape, so that idle processes save its 4 MB.
"""

import contextlib
import fcntl
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import structlog

if TYPE_CHECKING:
    from prometheus_client import Counter
    from prometheus_client.core import GaugeMetricFamily

# ruff: noqa: PLC0415  # see above

log = structlog.get_logger(__name__)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # the library reads it, too
_DIRECTORY = Path("run", "metrics")
_KINDS = ("counter", "histogram")
_SIZE = 65_536  # bytes of a file: hundreds of series; the library grows it if needed


class LazyCounter:
    """A counter that is created at the first count: most processes never load the library."""

    def __init__(self, name: str, help: str) -> None:  # noqa: A002  # the format's own word
        self._name = name
        self._help = help
        self._counter: Counter | None = None

    def add(self, count: int) -> None:
        """Do nothing if the disk is full."""
        if self._counter is None:
            try:
                start_counting()
            except OSError as error:
                log.warning("metric not counted until the process restarts", metric=self._name, error=str(error))
                return
            from prometheus_client import Counter

            self._counter = Counter(self._name, self._help, registry=None)
        self._counter.inc(count)


class Gauge(NamedTuple):
    name: str
    help: str
    value: float


def reset_counters(data_dir: Path) -> None:
    """Set counters to zero for the processes that this one will start. A running process keeps its own."""
    directory = data_dir / _DIRECTORY
    directory.mkdir(parents=True, exist_ok=True)
    for path in directory.glob("*.lock"):
        if (lock := _lock(path)) is not None:
            for kind in _KINDS:
                (directory / f"{kind}_{path.stem}.db").unlink(missing_ok=True)
            os.close(lock)
    os.environ[_VARIABLE] = str(directory)


def start_counting() -> None:
    """Call this before a process creates its first counter. Raise OSError if the disk is full.

    Without `reset_counters`, as in tests, counters are kept in memory.
    """
    if directory := os.environ.get(_VARIABLE):
        slot = _free_slot(Path(directory))
        for kind in _KINDS:
            _reserve(Path(directory) / f"{kind}_{slot}.db")
        from prometheus_client import values

        values.ValueClass = values.MultiProcessValue(lambda: slot)  # type: ignore[no-untyped-call]


def render(data_dir: Path, gauges: Sequence[Gauge]) -> bytes:
    """The counts of all processes since `reset_counters`, and these gauges."""
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector

    registry = CollectorRegistry()
    with contextlib.suppress(ValueError):  # no directory: no process has started on this machine
        MultiProcessCollector(registry, str(data_dir / _DIRECTORY))  # type: ignore[no-untyped-call]
    registry.register(_GaugeCollector(gauges))
    return generate_latest(registry)


def _free_slot(directory: Path) -> int:
    """Prefer the files of a process that has died, and continue its counters.

    Files named by process id would accumulate.
    """
    return next(slot for slot in itertools.count() if _lock(directory / f"{slot}.lock") is not None)


def _lock(path: Path) -> int | None:
    """Return a descriptor that holds the lock until it is closed, or None if another process holds it."""
    number = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(number)
        return None
    return number


def _reserve(path: Path) -> None:
    """Allocate the file: writing to a hole of a mapped file kills the process when the disk is full."""
    if not path.exists():
        new = path.with_suffix(".new")
        new.write_bytes(bytes(_SIZE))
        new.replace(path)


class _GaugeCollector:
    def __init__(self, gauges: Iterable[Gauge]) -> None:
        self._gauges = gauges

    def collect(self) -> Iterator["GaugeMetricFamily"]:
        from prometheus_client.core import GaugeMetricFamily

        for gauge in self._gauges:
            yield GaugeMetricFamily(gauge.name, gauge.help, value=gauge.value)
