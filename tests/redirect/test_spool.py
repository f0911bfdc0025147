"""R19, R22: what is spooled stays spooled, and a full disk stops no redirect."""

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.redirect import Spool
from waypost.redirect import spool as spool_module
from waypost.redirect.spool import HEADER, UnknownFormat, Visit, decode, encode, is_finished, read_lines, segments

VISIT = Visit(b"01" * 16, b"1763690000000000", b"ab" * 16, peer=b"192.0.2.1", user_agent=b"curl/8")


def lines_of(directory: Path) -> list[bytes]:
    return [line for path in segments(directory) for line in read_lines(path, 0, 1 << 24)[0]]


def test_writes_one_line_per_visit(tmp_path: Path) -> None:
    spool = Spool(tmp_path, limit=1 << 30)
    spool.append(encode(VISIT))
    assert [decode(line) for line in lines_of(tmp_path)] == [VISIT]
    spool.close()


def test_a_segment_is_finished_when_its_writer_is_gone(tmp_path: Path) -> None:
    spool = Spool(tmp_path, limit=1 << 30)
    (segment,) = segments(tmp_path)
    assert not is_finished(segment)
    spool.close()
    assert is_finished(segment)


def test_a_killed_writer_leaves_every_line(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from waypost.redirect import Spool\n"
        "spool = Spool(Path(sys.argv[1]), limit=1 << 30)\n"
        "for n in range(1000): spool.append(b'%d\\n' % n)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == -9
    assert lines_of(tmp_path) == [b"%d" % n for n in range(1000)]
    assert is_finished(segments(tmp_path)[0])


SMALL_DISK = """
import os, resource, signal, sys
from pathlib import Path
from waypost.redirect import Spool
from waypost.redirect.spool import HEADER
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
def limit_file_size(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
"""


def on_a_small_disk(directory: Path, code: str, **streams: int) -> str:
    """A limit on the size of files stands for the full disk: the same short write, then the same refusal."""
    command = [sys.executable, "-c", SMALL_DISK + code, str(directory)]
    done = subprocess.run(command, check=True, text=True, **({"stdout": subprocess.PIPE} | streams))
    return done.stdout or ""


def test_a_full_disk_drops_and_counts_visits(tmp_path: Path) -> None:
    code = """
spool = Spool(Path(sys.argv[1]), limit=1 << 30)
limit_file_size(len(HEADER) + 25)
for _ in range(4):
    spool.append(b"0123456789\\n")
spool.sync()
limit_file_size(hard)
spool.append(b"after\\n")
print("dropped", spool.dropped)
"""
    said = on_a_small_disk(tmp_path, code)
    assert "dropped 2" in said
    assert "visit could not be recorded" in said
    assert lines_of(tmp_path) == [b"0123456789", b"0123456789", b"after"]


def test_keeps_complete_lines_of_a_short_write(tmp_path: Path) -> None:
    """They may have been drained by now: to take them back would let the next ones be skipped."""
    code = """
spool = Spool(Path(sys.argv[1]), limit=1 << 30)
limit_file_size(len(HEADER) + 25)
spool.append(b"0123456789\\n" * 4)
limit_file_size(hard)
spool.append(b"after\\n")
print("dropped", spool.dropped)
"""
    assert "dropped 2" in on_a_small_disk(tmp_path, code)
    assert lines_of(tmp_path) == [b"0123456789", b"0123456789", b"after"]


def test_a_segment_that_cannot_be_created_leaves_no_file(tmp_path: Path) -> None:
    code = """
limit_file_size(0)
spool = Spool(Path(sys.argv[1]), limit=1 << 30)
before = len(os.listdir("/proc/self/fd"))
for _ in range(5):
    spool.append(b"lost\\n")
    spool.sync()
print("leaked", len(os.listdir("/proc/self/fd")) - before, os.listdir(sys.argv[1]))
limit_file_size(hard)
spool.sync()
spool.append(b"kept\\n")
print("dropped", spool.dropped)
"""
    said = on_a_small_disk(tmp_path, code)
    assert "leaked 0 []" in said
    assert said.count("spool segment could not be created") == 1
    assert "dropped 5" in said
    assert lines_of(tmp_path) == [b"kept"]


def test_a_failing_log_stops_nothing(tmp_path: Path) -> None:
    code = """
from waypost import logs
logs.configure()
spool = Spool(Path(sys.argv[1]), limit=1 << 30)
limit_file_size(len(HEADER) + 5)
spool.append(b"0123456789\\n")
spool.sync()
limit_file_size(hard)
spool.append(b"after\\n")
spool.close()
print("dropped", spool.dropped)
"""
    with Path("/dev/full").open("wb") as full:
        assert on_a_small_disk(tmp_path, code, stderr=full.fileno()) == "dropped 1\n"
    assert lines_of(tmp_path) == [b"after"]


def test_drops_visits_beyond_the_limit(tmp_path: Path) -> None:
    spool = Spool(tmp_path, limit=1000)
    spool.append(b"x" * 999 + b"\n")
    spool.sync()
    spool.append(b"too much\n")
    assert spool.dropped == 1
    segment = segments(tmp_path)[0]
    os.truncate(segment, len(HEADER))  # drained
    spool.sync()
    spool.append(b"room again\n")
    assert spool.dropped == 1
    assert lines_of(tmp_path) == [b"room again"]
    spool.close()


def test_removes_unnamed_files_of_dead_writers(tmp_path: Path) -> None:
    old, young = tmp_path / "old.new", tmp_path / "young.new"
    old.touch()
    young.touch()
    os.utime(old, (0, 0))
    Spool(tmp_path, limit=1 << 30).close()
    assert (old.exists(), young.exists()) == (False, True)  # the young one may be another writer's, about to be locked


def test_a_full_segment_is_followed_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "_MAX_SEGMENT_SIZE", 40)
    spool = Spool(tmp_path, limit=1 << 30)
    spool.append(b"first " * 10 + b"\n")
    assert len(segments(tmp_path)) == 1  # not in the event loop, which must not wait for the disk
    spool.sync()
    spool.append(b"second\n")
    old, new = segments(tmp_path)
    assert (is_finished(old), is_finished(new)) == (True, False)
    assert lines_of(tmp_path) == [b"first " * 10, b"second"]
    spool.close()


def test_stays_with_a_full_segment_if_no_other_can_be_created(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(spool_module, "_MAX_SEGMENT_SIZE", 0)
    spool = Spool(tmp_path / "spool", limit=1 << 30)
    (tmp_path / "spool").rename(tmp_path / "gone")
    for _ in range(3):
        spool.append(b"kept\n")
        spool.sync()
    assert capsys.readouterr().out.count("spool segment could not be created") == 1
    assert (spool.dropped, lines_of(tmp_path / "gone")) == (0, [b"kept"] * 3)
    (tmp_path / "gone").rename(tmp_path / "spool")
    spool.sync()
    assert len(segments(tmp_path / "spool")) == 2
    spool.close()


def test_records_visits_without_free_descriptors(tmp_path: Path) -> None:
    """Connections may take the last one. Neither the loop that syncs ends, nor is a visit lost."""
    code = """
spool = Spool(Path(sys.argv[1]), limit=1 << 30)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
for _ in range(2):
    spool.append(b"0123456789\\n")
    spool.sync()
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
spool.sync()
print("dropped", spool.dropped)
"""
    said = on_a_small_disk(tmp_path, code)
    assert "dropped 0" in said
    assert said.count("spool size could not be measured") == 1
    assert lines_of(tmp_path) == [b"0123456789"] * 2


def test_many_syncs_beside_many_appends_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "_MAX_SEGMENT_SIZE", 100)
    spool, count = Spool(tmp_path, limit=1 << 30), 3000

    def append() -> None:
        for n in range(count):
            spool.append(b"%d\n" % n)

    appending = Thread(target=append)
    appending.start()
    while appending.is_alive():
        spool.sync()
    spool.close()
    spool.sync()  # one that was under way at the end opens nothing anew
    assert lines_of(tmp_path) == [b"%d" % n for n in range(count)]
    assert all(is_finished(path) for path in segments(tmp_path))


def test_keeps_the_end_of_long_forwarding_headers() -> None:
    """What the visitor sends comes first, what our own proxies add comes last."""
    visit = decode(
        encode(VISIT._replace(forwarded_for=b"a" * 9000 + b", 1.1.1.1", forwarded=b"b" * 9000 + b", for=x"))[:-1]
    )
    assert visit
    assert visit.forwarded_for.endswith(b"a, 1.1.1.1")
    assert visit.forwarded.endswith(b"b, for=x")


VERSION_2 = (
    b"waypost-spool 2\n"
    b"0193a1b2c3d47e5f8a9b0c1d2e3f4a5b\t1763690000123456\t0193a1b2c3d47e5f8a9b0c1d2e3f4a00\t\t192.0.2.1\t\t\tMozilla/5.0\t"
    b"\t\t\t\tf0193a1b2c3d47e5f8a9b0c1d2e3f4aaa,g0193a1b2c3d47e5f8a9b0c1d2e3f4aab\n"
    b"0193a1b2c3d47e5f8a9b0c1d2e3f4a5c\t1763690000123456\t0193a1b2c3d47e5f8a9b0c1d2e3f4a00\t\t::1\t\t\t\t\t\t\t1\t\n"
    b"0193a1b2c3d47e5f8a9b0c1d2e3f4a5d\t17636900"
)
"""A segment as version 2 leaves it when it is killed. Every later version has to read it."""


def test_reads_a_segment_of_format_2(tmp_path: Path) -> None:
    path = tmp_path / "0193a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b.visits"
    path.write_bytes(VERSION_2)
    lines, end = read_lines(path, 0, 1 << 20)
    assert VERSION_2[end:] == b"0193a1b2c3d47e5f8a9b0c1d2e3f4a5d\t17636900"
    with_tags, without = [decode(line) for line in lines]
    assert with_tags.pixels == b"f0193a1b2c3d47e5f8a9b0c1d2e3f4aaa,g0193a1b2c3d47e5f8a9b0c1d2e3f4aab"
    assert (with_tags.peer, with_tags.user_agent, with_tags.privacy) == (b"192.0.2.1", b"Mozilla/5.0", b"")
    assert (without.peer, without.privacy, without.pixels) == (b"::1", b"1", b"")
    assert encode(with_tags[:-1]) + encode(without[:-1]) == VERSION_2[len(HEADER) : end]


def test_keeps_all_pixels() -> None:
    pixels = b",".join([b"f" + b"ab" * 16] * 200)
    visit = decode(encode(VISIT._replace(pixels=pixels, user_agent=b"a" * 5000))[:-1])
    assert visit
    assert (visit.pixels, len(visit.user_agent)) == (pixels, 1024)


def test_reads_nothing_of_an_unknown_format(tmp_path: Path) -> None:
    path = tmp_path / "a.visits"
    path.write_bytes(VERSION_2.replace(b"spool 2", b"spool 9"))
    with pytest.raises(UnknownFormat):
        read_lines(path, 0, 1 << 20)


@given(st.tuples(*[st.binary(max_size=3000)] * 9))
def test_any_header_bytes_make_one_visit(fields: tuple[bytes, ...]) -> None:
    """The parser lets no line end into a header, and nothing but that is relied on."""
    fields = tuple(field.replace(b"\n", b"").replace(b"\r", b"") for field in fields)
    line = encode((*VISIT[:3], *fields, b""))
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    visit = decode(line[:-1])
    assert visit is not None
    assert visit[:3] == VISIT[:3]
    assert len(line) <= 9 * 1024 + 200


@given(st.binary(max_size=200))
def test_decodes_any_bytes(line: bytes) -> None:
    assert decode(line) is None or line.count(b"\t") == 12
