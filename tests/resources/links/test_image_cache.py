"""The files of images that a node has read from the database."""

import contextlib
import hashlib
import multiprocessing
import os
import time
from pathlib import Path

import pytest
from stopped import stop, stopped

from waypost.resources.links.images.cache import PreviewCache
from waypost.resources.links.images.media import new_name


def add(cache: PreviewCache, content: bytes) -> tuple[str, bytes]:
    name = new_name("png")
    cache.add(name, content, modified_at=1_000_000.0)
    return name, hashlib.sha256(content).digest()


def used(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.glob("*.png"))


def test_finds_what_was_added(tmp_path: Path) -> None:
    cache = PreviewCache(tmp_path / "images", limit=1_000)
    name, digest = add(cache, b"content")
    path = cache.find(name, digest)
    assert path
    assert (path.read_bytes(), path.stat().st_mtime) == (b"content", 1_000_000.0)
    assert PreviewCache(tmp_path / "images", limit=1_000).find(name, digest) == path
    cache.remove(name)
    cache.remove(name)
    assert (cache.find(name, digest), cache.names()) == (None, [])


def test_evicts_the_least_recently_used(tmp_path: Path) -> None:
    cache = PreviewCache(tmp_path, limit=1_000)
    added = [add(cache, bytes([n]) * 100) for n in range(10)]
    for age, (name, _) in enumerate(reversed(added)):
        os.utime(tmp_path / name, (time.time() - 100 * (age + 1), 0))
    assert cache.find(*added[0])  # the oldest one is the newest now
    add(cache, b"x" * 100)
    assert [cache.find(*each) is not None for each in added] == [True, *[False] * 3, *[True] * 6]
    assert used(tmp_path) == 800


@pytest.mark.parametrize("damaged", [b"", b"\0" * 7, b"content and more"])
def test_a_damaged_file_is_not_found_and_replaced(tmp_path: Path, damaged: bytes) -> None:
    cache = PreviewCache(tmp_path, limit=1_000)
    name, digest = add(cache, b"content")
    (tmp_path / name).write_bytes(damaged)
    assert cache.find(name, digest) is None
    cache.add(name, b"content", modified_at=0)
    assert cache.find(name, digest)


def test_corrects_the_size_after_a_crash(tmp_path: Path) -> None:
    cache = PreviewCache(tmp_path, limit=1_000)
    (tmp_path / ".size").write_bytes((5_000).to_bytes(8))
    (tmp_path / f".{new_name('png')}.part").write_bytes(b"half of")
    name, digest = add(cache, b"x" * 100)
    assert cache.find(name, digest)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".size", name]
    assert int.from_bytes((tmp_path / ".size").read_bytes()) == 100


def test_counts_the_files_that_are_there_already(tmp_path: Path) -> None:
    for _ in range(20):
        add(PreviewCache(tmp_path, limit=10_000), b"x" * 100)
    (tmp_path / ".size").unlink()
    add(PreviewCache(tmp_path, limit=1_000), b"x" * 100)
    assert used(tmp_path) <= 1_000


def _fill(directory: Path, number: int) -> None:
    cache = PreviewCache(directory, limit=10_000)
    for _ in range(200):
        add(cache, bytes([number]) * 300)
        assert used_now(directory) <= 10_000


def used_now(directory: Path) -> int:
    """Other processes evict files at the same time."""
    total = 0
    for entry in os.scandir(directory):
        with contextlib.suppress(FileNotFoundError):
            total += entry.stat().st_size if entry.name.endswith(".png") else 0
    return total


def test_several_processes_stay_below_the_limit(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_fill, args=(tmp_path, number)) for number in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert used(tmp_path) <= 10_000


def test_nothing_is_added_while_a_stopped_process_has_the_lock(tmp_path: Path) -> None:
    cache = PreviewCache(tmp_path, limit=1_000)

    def add_and_stop() -> None:
        with cache._space_for(5):
            stop()

    with stopped(add_and_stop), pytest.raises(BlockingIOError):
        add(cache, b"content")
    assert cache.find(*add(cache, b"content"))
