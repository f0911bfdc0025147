"""Counters that several processes keep, told by any of them in Prometheus' text format.

Each process that counts has files of its own in one directory, by prometheus-client's multiprocess mode. The library is
loaded by whoever first counts or is first asked: idle processes do without its 4 MB.
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
_PLACE = Path("run", "metrics")
_KINDS = ("counter", "histogram")
_SIZE = 65_536  # bytes of a file: hundreds of series; the library would make a larger one larger


class LazyCounter:
    """A counter that is made when there is something to count: most processes never load the library."""

    def __init__(self, name: str, help: str) -> None:  # noqa: A002  # the format's own word
        self._name = name
        self._help = help
        self._counter: Counter | None = None

    def add(self, count: int) -> None:
        """Does nothing where there is no room for the counter's file."""
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
    """Sets counters to zero, for the processes that this one will start. A process that still counts keeps its own."""
    directory = data_dir / _PLACE
    directory.mkdir(parents=True, exist_ok=True)
    for path in directory.glob("*.lock"):
        if (lock := _lock(path)) is not None:
            for kind in _KINDS:
                (directory / f"{kind}_{path.stem}.db").unlink(missing_ok=True)
            os.close(lock)
    os.environ[_VARIABLE] = str(directory)


def start_counting() -> None:
    """To be called before a process makes its first counter. Raises OSError when there is no room for its files.

    Where nothing has begun, in a test for one, counters are kept in memory.
    """
    if directory := os.environ.get(_VARIABLE):
        seat = _free_seat(Path(directory))
        for kind in _KINDS:
            _reserve(Path(directory) / f"{kind}_{seat}.db")
        from prometheus_client import values

        values.ValueClass = values.MultiProcessValue(lambda: seat)  # type: ignore[no-untyped-call]


def render(data_dir: Path, gauges: Sequence[Gauge]) -> bytes:
    """What all processes have counted since `reset_counters`, and these gauges."""
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector

    registry = CollectorRegistry()
    with contextlib.suppress(ValueError):  # no directory: nothing has begun on this machine
        MultiProcessCollector(registry, str(data_dir / _PLACE))  # type: ignore[no-untyped-call]
    registry.register(_GaugeCollector(gauges))
    return generate_latest(registry)


def _free_seat(directory: Path) -> int:
    """That of a process that has died, whose counters are counted on, before a new one.

    Named by process ids, files would be left behind at each death.
    """
    return next(seat for seat in itertools.count() if _lock(directory / f"{seat}.lock") is not None)


def _lock(path: Path) -> int | None:
    """Held until the number returned is closed or this process ends. None: another process holds it."""
    number = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(number)
        return None
    return number


def _reserve(path: Path) -> None:
    """All of the file: writing to a hole of a mapped one kills the process once the disk is full."""
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
