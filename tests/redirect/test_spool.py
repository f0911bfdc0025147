"""R19, R22: what is spooled stays spooled, and a full disk stops no redirect."""

import os
import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from waypost.redirect import Spool
from waypost.redirect.spool import HEADER, Visit, decode, encode, is_finished, read_lines, segments

VISIT = Visit(b"01" * 16, b"1763690000000000", b"ab" * 16, peer=b"192.0.2.1", user_agent=b"curl/8")


def lines_of(directory: Path) -> list[bytes]:
    return [line for path in segments(directory) for line in read_lines(path, 0, 1 << 24)[0]]


def test_it_works(tmp_path: Path) -> None:
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


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from waypost.redirect import Spool
from waypost.redirect.spool import HEADER
spool = Spool(Path(sys.argv[1]), limit=1 << 30)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (len(HEADER) + 25, hard))
for _ in range(4):
    spool.append(b"0123456789\\n")
spool.sync()
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
spool.append(b"after\\n")
print("dropped", spool.dropped)
"""


def test_a_full_disk_drops_and_counts_and_goes_on(tmp_path: Path) -> None:
    """A limit on the size of files stands for the full disk: the same short write, then the same refusal."""
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(tmp_path)], check=True, capture_output=True, text=True)
    assert "dropped 2" in done.stdout
    assert "a visit could not be recorded" in done.stdout
    assert lines_of(tmp_path) == [b"0123456789", b"0123456789", b"after"]


def test_it_is_bounded(tmp_path: Path) -> None:
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


def test_a_read_only_directory_is_told_and_survived(tmp_path: Path, capsys) -> None:
    spool = Spool(tmp_path / "spool", limit=1 << 30)
    spool.close()
    (tmp_path / "spool").rename(tmp_path / "gone")
    spool.append(b"lost\n")
    spool.sync()
    assert spool.dropped == 1
    assert "visits not recorded" in capsys.readouterr().out
    (tmp_path / "gone").rename(tmp_path / "spool")
    spool.sync()
    spool.append(b"kept\n")
    assert b"kept" in lines_of(tmp_path / "spool")
    spool.close()


def test_of_long_forwarding_headers_the_end_is_kept() -> None:
    """What the visitor sends comes first, what our own proxies add comes last."""
    visit = decode(
        encode(VISIT._replace(forwarded_for=b"a" * 9000 + b", 1.1.1.1", forwarded=b"b" * 9000 + b", for=x"))[:-1]
    )
    assert visit
    assert visit.forwarded_for.endswith(b"a, 1.1.1.1")
    assert visit.forwarded.endswith(b"b, for=x")


@given(st.tuples(*[st.binary(max_size=3000)] * 9))
def test_whatever_headers_hold_a_line_is_a_visit(fields: tuple[bytes, ...]) -> None:
    """The parser lets no line end into a header, and nothing but that is relied on."""
    fields = tuple(field.replace(b"\n", b"").replace(b"\r", b"") for field in fields)
    line = encode((*VISIT[:3], *fields))
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    visit = decode(line[:-1])
    assert visit is not None
    assert visit[:3] == VISIT[:3]
    assert len(line) <= 9 * 1024 + 200


@given(st.binary(max_size=200))
def test_no_line_is_too_broken_to_read(line: bytes) -> None:
    assert decode(line) is None or line.count(b"\t") == 11
