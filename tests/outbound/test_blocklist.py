"""The file of the blocklist: it is read again when it changes, and no state of it stops the service."""

import os
from pathlib import Path

import pytest

from waypost.kit.errors import SettingsError, Unavailable
from waypost.kit.urls import canonical
from waypost.outbound.blocklist import Blocklist, read_blocklist


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "blocklist.txt"
    path.write_text("bad.example\n")
    return path


async def has(blocklist: Blocklist, url: str) -> bool:
    return await blocklist.has(canonical(url))


async def test_it_is_read_again_when_it_changes(path: Path) -> None:
    blocklist = Blocklist(path)
    path.write_text("bad.example\nnew.example\n")
    assert await has(blocklist, "https://new.example/")


async def test_also_when_it_is_replaced_by_one_of_the_same_size_and_time(path: Path) -> None:
    blocklist = Blocklist(path)
    other = path.with_suffix(".new")
    other.write_text("new.example\n")
    stat = path.stat()
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.rename(path)
    assert await has(blocklist, "https://new.example/")
    assert not await has(blocklist, "https://bad.example/")


@pytest.mark.parametrize(
    "content", [None, b"not a host\n", b"\xff\xfeb\0a\0d\0", b"<!doctype html>\n<title>404</title>\n", b"http://\n"]
)
def test_a_file_that_is_no_list_stops_the_start(path: Path, content: bytes | None) -> None:
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingsError, match=r"WAYPOST_BLOCKLIST: .*blocklist\.txt cannot be read: "):
        read_blocklist(path)


@pytest.mark.parametrize("content", [b"", b"# nothing yet\n", b"\xef\xbb\xbfbad.example\n", b"bad.example\r\n"])
def test_a_list_may_be_empty_or_come_from_windows(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert not read_blocklist(path).problems


@pytest.mark.parametrize(
    "broken",
    [b"not a host\n", b"\xff\xfe\n", b"caf\xe9.example\n", b"https://\n", b"/banner/*\n", b"a" * 9_000 + b"\n"],
)
async def test_a_line_that_cannot_be_used_is_reported_and_left_out(
    path: Path, capsys: pytest.CaptureFixture[str], broken: bytes
) -> None:
    blocklist = Blocklist(path)
    path.write_bytes(b"first.example\n" + broken + broken + b"last.example # bad \xff\n")
    for host in ("first", "last"):
        assert await has(blocklist, f"https://{host}.example/")
    assert not await has(blocklist, "https://bad.example/")
    [logged] = capsys.readouterr().out.splitlines()
    assert "lines of the blocklist left out" in logged
    assert "count=2" in logged
    assert "line 2: " in logged


async def test_the_last_good_list_stays_in_use(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocklist = Blocklist(path)
    path.unlink()
    for _ in range(3):
        assert await has(blocklist, "https://bad.example/")
    path.write_text("<html>")
    assert await has(blocklist, "https://bad.example/")
    assert capsys.readouterr().out.count("stays in use") == 2
    path.write_text("new.example\n")
    assert await has(blocklist, "https://new.example/")
    assert not await has(blocklist, "https://bad.example/")


async def test_a_process_that_starts_without_a_readable_list_accepts_nothing_until_there_is_one(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = path.read_bytes()
    path.unlink()
    blocklist = Blocklist(path)
    assert "destinations are not accepted" in capsys.readouterr().out
    with pytest.raises(Unavailable, match="blocklist cannot be read"):
        await has(blocklist, "https://good.example/")
    path.write_bytes(content)
    assert not await has(blocklist, "https://good.example/")
    assert await has(blocklist, "https://bad.example/")
