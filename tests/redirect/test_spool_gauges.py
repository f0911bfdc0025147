"""The size of the spool and the age of its oldest pending visit, from its files alone."""

from collections.abc import Callable
from pathlib import Path

import pytest
from wire import LINK

from waypost.redirect import Spool
from waypost.redirect.segment import HEADER
from waypost.redirect.spool import encode, segments
from waypost.redirect.spool_gauges import SpoolGauges
from waypost.resources.clicks.intake.positions import erase_drained

NOW = 1_900_000_000


@pytest.fixture
def gauges(tmp_path: Path) -> Callable[[], dict[str, float]]:
    read = SpoolGauges(tmp_path, limit=1_000, time_ns=lambda: NOW * 1_000_000_000)
    return lambda: {gauge.name.removeprefix("waypost_spool_"): gauge.value for gauge in read()}


def line(age: int, user_agent: bytes = b"") -> bytes:
    empty = (b"",) * 4
    return encode((b"0" * 32, b"%d" % ((NOW - age) * 1_000_000), LINK, *empty, user_agent, *empty, b""))


def write(directory: Path, *lines: bytes) -> Path:
    spool = Spool(directory, limit=1 << 30)
    spool.append(b"".join(lines))
    spool.close()
    return segments(directory)[-1]


def test_there_is_no_spool(gauges) -> None:
    assert gauges() == {"bytes": 0, "limit_bytes": 1_000, "pending_bytes": 0, "oldest_visit_seconds": 0}


def test_the_oldest_visit_of_all_segments(tmp_path: Path, gauges) -> None:
    pending = [line(30), line(20)], [line(50)], []
    for lines in pending:
        write(tmp_path, *lines)
    size = sum(len(text) for lines in pending for text in lines)
    found = gauges()
    assert (found["bytes"], found["pending_bytes"]) == (size + 3 * len(HEADER), size)
    assert found["oldest_visit_seconds"] == 50


@pytest.mark.parametrize("count", [1, 2, 50, 1_000, 1_001, 9_999, 10_000])
def test_drained_visits_are_left_out(tmp_path: Path, gauges, count: int) -> None:
    lines = [line(10_000 - number, b"x" * (number % 500)) for number in range(10_000)]
    path = write(tmp_path, *lines)
    drained = sum(map(len, lines[:count]))
    erase_drained(tmp_path, {path.name: len(HEADER) + drained}, {})
    found = gauges()
    assert found["pending_bytes"] == sum(map(len, lines)) - drained
    assert found["oldest_visit_seconds"] == 10_000 - count


def test_a_damaged_line_hides_no_visit(tmp_path: Path, gauges) -> None:
    write(tmp_path, b"damaged\n", line(7))
    assert gauges()["oldest_visit_seconds"] == 7


def test_a_visit_of_the_future_has_no_age(tmp_path: Path, gauges) -> None:
    write(tmp_path, line(-5))
    assert gauges()["oldest_visit_seconds"] == 0
