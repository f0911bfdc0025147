"""Metrics of several processes, which any of them serves in Prometheus' text format.

A process counts in memory, in plain numbers. Once a second it writes its totals to a file of its own; a scrape adds the
files up. prometheus-client is loaded at the first scrape only: it takes 4 MB and a tenth of a second.
"""

import contextlib
import fcntl
import itertools
import json
import os
from bisect import bisect_left
from collections import Counter as Counts
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import structlog

from waypost.kit.file_locks import try_lock

if TYPE_CHECKING:
    from prometheus_client.core import Metric

# ruff: noqa: PLC0415  # see above

log = structlog.get_logger(__name__)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
LATENCY_BUCKETS = (
    *(0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01),
    *(0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0),
)
"""Seconds: from a redirect out of memory to a request that waits for the database."""
_DIRECTORY = Path("run", "metrics")
_SIZE = 65_536  # bytes of a file: thousands of numbers

Labels = tuple[str, ...]
Series = list[float]
"""One number, or of a histogram the count of each bucket and then the sum."""


class _Family(NamedTuple):
    """All series of a metric."""

    name: str
    type: Literal["counter", "gauge", "histogram"]
    help: str
    labels: Labels
    buckets: tuple[float, ...]
    """Upper bounds."""
    is_maximum: bool
    """The highest value of all processes instead of their sum."""
    series: dict[Labels, Series]


_counted: dict[str, _Family] = {}
"""The counters and histograms of this process by name."""


class Counter:
    """Create it in a module: its series without labels, and those of `starts`, are zero from the start of a process.

    A series that appears with its first event hides that event: Prometheus would see no increase.
    """

    def __init__(self, name: str, help: str, labels: Labels = (), *, starts: Iterable[Labels] = ()) -> None:  # noqa: A002  # the format's own word
        self._series = _register(_Family(name, "counter", help, labels, (), False, {}))
        for values in starts if labels else [()]:
            self.series(*values)

    def add(self, count: float, *labels: str) -> None:
        self.series(*labels)[0] += count

    def series(self, *labels: str) -> Series:
        """Return a list with one number, for code that adds to it without a call."""
        return self._series.setdefault(labels, [0.0])


class Histogram:
    """See `Counter`."""

    def __init__(
        self,
        name: str,
        help: str,  # noqa: A002  # the format's own word
        labels: Labels = (),
        *,
        buckets: tuple[float, ...] = LATENCY_BUCKETS,
        starts: Iterable[Labels] = (),
    ) -> None:
        self._buckets = buckets
        self._series = _register(_Family(name, "histogram", help, labels, buckets, False, {}))
        for values in starts if labels else [()]:
            self.series(*values)

    def observe(self, value: float, *labels: str) -> None:
        series = self.series(*labels)
        series[bisect_left(self._buckets, value)] += 1
        series[-1] += value

    def series(self, *labels: str) -> Series:
        """Return the list of numbers, for code that adds to it without a call."""
        return self._series.setdefault(labels, [0.0] * (len(self._buckets) + 2))


class Gauge(NamedTuple):
    """A value at this moment."""

    name: str
    help: str
    value: float
    labels: Mapping[str, str] = {}
    is_maximum: bool = False
    """Of several processes, the highest value is shown instead of the sum."""


ReadGauges = Callable[[], Iterable[Gauge]]


def _register(family: _Family) -> dict[Labels, Series]:
    _counted[family.name] = family
    return family.series


def reset_counters(data_dir: Path) -> None:
    """Set counters to zero for the processes that this one will start. A running process keeps its own."""
    directory = data_dir / _DIRECTORY
    directory.mkdir(parents=True, exist_ok=True)
    for path in directory.glob("*.lock"):
        if (lock := _lock(path)) is not None:
            path.with_suffix(".json").unlink(missing_ok=True)
            os.close(lock)


class MetricsFile:
    """The file in which a process shares its metrics. It continues the counters of a process that has died.

    Files named by process id would accumulate, and counters would fall when they are deleted.
    """

    def __init__(self, data_dir: Path, kind: str, read_gauges: Sequence[ReadGauges] = ()) -> None:
        """`kind`: of the process, such as "web". `read_gauges` are called for each `write`."""
        self._directory = data_dir / _DIRECTORY
        self._kind = kind
        self._read_gauges = read_gauges
        self._before: list[_Family] = []
        self._lock: int | None = None
        self._file: int | None = None
        self._has_failed = False

    def write(self) -> None:
        """Call it once a second, off the event loop. Never raises: on a full disk, counting continues in memory."""
        try:
            if self._file is None:
                self._file = self._open()
            gauges = itertools.chain.from_iterable(read() for read in self._read_gauges)
            _replace(self._file, _merge([*self._before, *_counted.values(), *map(_family_of, gauges)]))
        except OSError as error:
            if not self._has_failed:
                log.warning("metrics not written, retrying", directory=str(self._directory), error=error.strerror)
            self._has_failed = True
        else:
            self._has_failed = False

    def close(self) -> None:
        """Write for the last time. The next process of this kind continues the counters."""
        self.write()
        for fd in (self._file, self._lock):
            if fd is not None:
                os.close(fd)
        self._file = self._lock = None

    def _open(self) -> int:
        """Prefer the file of a process of this kind that has died."""
        self._directory.mkdir(parents=True, exist_ok=True)
        if self._lock is None:
            self._path, self._lock = next(
                (path, lock)
                for number in itertools.count()
                if (lock := _lock(path := self._directory / f"{self._kind}-{number}.lock")) is not None
            )
        file = os.open(self._path.with_suffix(".json"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._before = [family for family in _read(file) if family.type != "gauge"]
            os.posix_fallocate(file, 0, _SIZE)  # from now on a full disk does not matter
        except OSError:
            os.close(file)
            raise
        return file


def render(data_dir: Path, gauges: Iterable[Gauge]) -> bytes:
    """The counts of all processes since `reset_counters`, the gauges of live processes, and these gauges."""
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry()
    registry.register(_Collector(_merge([*_read_files(data_dir), *map(_family_of, gauges)])))
    return generate_latest(registry)


def read_gauges(data_dir: Path) -> list[Gauge]:
    """Return the gauges of the live processes of this machine, and how many there are of each kind."""
    return [
        Gauge(family.name, family.help, numbers[0], dict(zip(family.labels, values, strict=True)))
        for family in _merge(_read_files(data_dir))
        if family.type == "gauge"
        for values, numbers in family.series.items()
    ]


def _read_files(data_dir: Path) -> list[_Family]:
    families, processes = [], Counts[str]()
    for path in sorted((data_dir / _DIRECTORY).glob("*-*.lock")):
        is_live = _is_locked(path)
        if is_live:
            processes[path.stem.rpartition("-")[0]] += 1
        with contextlib.suppress(FileNotFoundError), path.with_suffix(".json").open("rb") as file:
            families += [family for family in _read(file.fileno()) if is_live or family.type != "gauge"]
    kinds = [
        Gauge("waypost_processes", "Running processes by kind.", n, {"kind": kind}) for kind, n in processes.items()
    ]
    return [*families, *map(_family_of, kinds)]


def _merge(families: Iterable[_Family]) -> list[_Family]:
    """Add up the families of each name."""
    merged: dict[str, _Family] = {}
    for family in families:
        total = merged.setdefault(family.name, family._replace(series={}))
        if total[:-1] != family[:-1]:
            continue  # counted by a process of another version, with other buckets
        for labels, numbers in list(family.series.items()):  # a copy: the event loop may add a series
            present = total.series.get(labels)
            combine = max if family.is_maximum else add
            total.series[labels] = list(map(combine, present, numbers)) if present else list(numbers)
    return list(merged.values())


def _family_of(gauge: Gauge) -> _Family:
    series = {tuple(gauge.labels.values()): [float(gauge.value)]}
    return _Family(gauge.name, "gauge", gauge.help, tuple(gauge.labels), (), gauge.is_maximum, series)


def _replace(file: int, families: Iterable[_Family]) -> None:
    """Skip it while another process reads: never wait for one that may be stopped. Raises OSError."""
    line = json.dumps([[*family[:-1], list(family.series.items())] for family in families]) + "\n"
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    try:
        os.pwrite(file, line.encode(), 0)
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def _read(file: int) -> list[_Family]:
    """Return nothing from a file that its process was killed in the middle of writing.

    That of a stopped process, which keeps its lock, is read without one.
    """
    try_lock(file, fcntl.LOCK_SH, seconds=0.1)
    try:
        line = os.pread(file, os.fstat(file).st_size, 0).partition(b"\n")[0]
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
    try:
        rows = json.loads(line)
    except ValueError:
        return []
    return [
        _Family(
            name, type_, help_, tuple(labels), tuple(buckets), is_maximum, {tuple(key): each for key, each in series}
        )
        for name, type_, help_, labels, buckets, is_maximum, series in rows
    ]


def _lock(path: Path) -> int | None:
    """Return a descriptor that holds the lock until it is closed, or None if another process holds it."""
    number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(number)
        return None
    return number


def _is_locked(path: Path) -> bool:
    lock = _lock(path)
    if lock is not None:
        os.close(lock)
    return lock is None


class _Collector:
    def __init__(self, families: Iterable[_Family]) -> None:
        self._families = families

    def collect(self) -> Iterator["Metric"]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        for name, type_, help_, labels, buckets, _, series in self._families:
            if type_ == "histogram":
                histogram = HistogramMetricFamily(name, help_, labels=labels)
                bounds = [*map(str, buckets), "+Inf"]
                for values, numbers in series.items():
                    counts = itertools.accumulate(numbers[:-1])
                    histogram.add_metric(values, list(zip(bounds, counts, strict=True)), numbers[-1])
                yield histogram
                continue
            family = (CounterMetricFamily if type_ == "counter" else GaugeMetricFamily)(name, help_, labels=labels)
            for values, (number,) in series.items():
                family.add_metric(values, number)
            yield family
