"""Metrics of several processes: each writes its own file, and a scrape adds them up."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from measured import read
from stopped import stop, stopped
from structlog.testing import capture_logs

from waypost import metrics
from waypost.metrics import Counter, Gauge, Histogram, MetricsFile, render


@pytest.fixture(autouse=True)
def nothing_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_counted", {})


@pytest.fixture
def visits() -> Counter:
    return Counter("visits_total", "Visits.", ("result",), starts=[("found",)])


@pytest.fixture
def first(tmp_path: Path) -> Iterator[MetricsFile]:
    file = MetricsFile(tmp_path, "web")
    file.write()
    yield file
    file.close()


def scrape(data_dir: Path, *gauges: Gauge) -> dict[str, float]:
    found = read(render(data_dir, gauges).decode())
    return {name: value for name, value in found.items() if not name.startswith("waypost_processes")}


def test_shows_series_before_their_first_event(tmp_path: Path, visits: Counter, first: MetricsFile) -> None:
    Counter("errors_total", "Errors.")
    first.write()
    assert scrape(tmp_path) == {"visits_total found": 0, "errors_total": 0}


def test_a_histogram_has_cumulative_buckets(tmp_path: Path, first: MetricsFile) -> None:
    latency = Histogram("seconds", "Time.", ("kind",), buckets=(0.1, 1.0))
    latency.observe(0.1, "api")
    for seconds in (0.5, 0.6, 0.7, 2):
        latency.observe(seconds, "api")
    first.write()
    assert scrape(tmp_path) == {
        "seconds_bucket api 0.1": 1,
        "seconds_bucket api 1.0": 4,
        "seconds_bucket api +Inf": 5,
        "seconds_count api": 5,
        "seconds_sum api": pytest.approx(3.9),
    }


def test_adds_up_processes(tmp_path: Path, visits: Counter, first: MetricsFile) -> None:
    visits.add(2, "found")
    gauges = [Gauge("pool", "Connections.", 3, {"pool": "read"}), Gauge("lag", "Lag.", 5, is_maximum=True)]
    second = MetricsFile(tmp_path, "web", [lambda: gauges])
    third = MetricsFile(tmp_path, "worker", [lambda: [gauge._replace(value=gauge.value - 1) for gauge in gauges]])
    for file in (first, second, third):
        file.write()
    assert read(render(tmp_path, [Gauge("pending", "Pending.", 7)]).decode()) == {
        "visits_total found": 6,
        "pool read": 5,
        "lag": 5,
        "waypost_processes web": 2,
        "waypost_processes worker": 1,
        "pending": 7,
    }
    second.close()
    third.close()


def test_continues_the_counters_of_a_process_that_has_ended(tmp_path: Path, visits: Counter) -> None:
    before = MetricsFile(tmp_path, "web", [lambda: [Gauge("pool", "Connections.", 3)]])
    before.write()
    visits.add(2, "found")
    before.close()
    assert scrape(tmp_path) == {"visits_total found": 2}  # and no gauge of a process that has ended
    metrics._counted.clear()
    errors = Counter("errors_total", "Errors.")
    errors.add(1)
    after = MetricsFile(tmp_path, "web")
    for _ in range(2):
        after.write()
        assert scrape(tmp_path) == {"visits_total found": 2, "errors_total": 1}
    after.close()
    assert len(list(tmp_path.rglob("*.json"))) == 1


def test_a_killed_process_loses_no_written_count(tmp_path: Path) -> None:
    program = (
        "import os, sys, pathlib; from waypost.metrics import *\n"
        "Counter('visits_total', 'Visits.').add(5); file = MetricsFile(pathlib.Path(sys.argv[1]), 'web')\n"
        "file.write(); os.kill(os.getpid(), 9)"
    )
    for rounds in (1, 2, 3):
        subprocess.run([sys.executable, "-c", program, tmp_path], check=False)
        assert scrape(tmp_path) == {"visits_total": 5 * rounds}


def test_ignores_a_damaged_file(tmp_path: Path, visits: Counter, first: MetricsFile) -> None:
    path = tmp_path / "run" / "metrics" / "web-1.json"
    for content in (b"", b'[["visits_total", "coun', b"\xff\n"):
        path.with_suffix(".lock").touch()
        path.write_bytes(content)
        assert scrape(tmp_path) == {"visits_total found": 0}


def test_ignores_other_buckets_of_the_same_metric(tmp_path: Path) -> None:
    Histogram("seconds", "Time.", buckets=(0.1, 1.0)).observe(0.5)
    MetricsFile(tmp_path, "web").close()
    Histogram("seconds", "Time.", buckets=(0.1,)).observe(0.5)
    MetricsFile(tmp_path, "worker").close()
    assert scrape(tmp_path)["seconds_count"] == 1


def test_counting_goes_on_without_a_disk(tmp_path: Path, visits: Counter) -> None:
    (tmp_path / "run").write_text("not a directory")
    file = MetricsFile(tmp_path, "web")
    with capture_logs() as logs:
        for _ in range(3):
            visits.add(1, "found")
            file.write()
        (tmp_path / "run").unlink()
        file.write()
    assert scrape(tmp_path) == {"visits_total found": 3}
    assert [line["event"] for line in logs] == ["metrics not written, retrying"]
    file.close()


def test_never_waits_for_a_reader(tmp_path: Path, visits: Counter, first: MetricsFile) -> None:
    reader = os.open(tmp_path / "run" / "metrics" / "web-0.json", os.O_RDONLY)
    fcntl.flock(reader, fcntl.LOCK_SH)
    visits.add(1, "found")
    first.write()
    os.close(reader)
    assert scrape(tmp_path) == {"visits_total found": 0}
    first.write()
    assert scrape(tmp_path) == {"visits_total found": 1}


def test_a_reset_keeps_the_counters_of_running_processes(tmp_path: Path, visits: Counter, first: MetricsFile) -> None:
    visits.add(1, "found")
    MetricsFile(tmp_path, "worker").close()
    first.write()
    assert scrape(tmp_path) == {"visits_total found": 2}
    metrics.reset_counters(tmp_path)
    assert scrape(tmp_path) == {"visits_total found": 1}


def test_without_processes_there_are_the_gauges_of_the_scrape(tmp_path: Path) -> None:
    assert scrape(tmp_path, Gauge("pending", "Pending.", 7)) == {"pending": 7}


def test_a_stopped_process_is_scraped_and_stops_nothing(tmp_path: Path, visits: Counter, first: MetricsFile) -> None:
    visits.add(2, "found")
    first.write()
    [path] = (tmp_path / "run" / "metrics").glob("web*.json")

    def write() -> None:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            stop()

    with stopped(write):
        assert scrape(tmp_path) == {"visits_total found": 2}
