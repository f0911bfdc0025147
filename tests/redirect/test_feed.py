"""R21: changes reach the other processes of a machine."""

import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from stopped import resume, stop, stopped

from waypost.redirect import ChangeFeed

PUBLISH = """
import sys
from pathlib import Path
from waypost.redirect import ChangeFeed
feed = ChangeFeed(Path(sys.argv[1]))
for n in range(500):
    feed.publish([f"{sys.argv[2]}-{n}"])
"""


def test_a_reader_sees_published_changes(feed: ChangeFeed) -> None:
    seen = feed.published_bytes[0]
    feed.publish(["one", "two"])
    assert feed.since(seen) == (feed.published_bytes[0], [b"one", b"two"])


def test_many_processes_lose_no_changes_of_each_other(tmp_path: Path) -> None:
    feed = ChangeFeed(tmp_path / "changes")
    writers = [
        subprocess.Popen([sys.executable, "-c", PUBLISH, str(tmp_path / "changes"), name]) for name in ("a", "b", "c")
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    _, changed = feed.since(0)
    assert sorted(changed) == sorted(b"%s-%d" % (name, n) for name in (b"a", b"b", b"c") for n in range(500))
    feed.close()


def test_changes_survive_a_restart_and_missed_ones_are_reported(tmp_path: Path) -> None:
    first = ChangeFeed(tmp_path / "changes")
    first.publish(["x" * 255] * 2000)
    first.close()
    again = ChangeFeed(tmp_path / "changes")
    head = again.published_bytes[0]
    assert head == 256 * 2000
    assert again.since(0) == (head, None)
    assert again.since(head) == (head, [])
    again.close()


@given(st.lists(st.lists(st.from_regex(r"[A-Za-z0-9_-]{1,255}", fullmatch=True), max_size=50), max_size=40))
def test_every_reader_gets_all_changes_or_sees_that_it_missed_some(tmp_path_factory, batches: list[list[str]]) -> None:
    feed = ChangeFeed(tmp_path_factory.mktemp("feed") / "changes")
    seen = feed.published_bytes[0]
    for batch in batches:
        feed.publish(batch)
        seen, changed = feed.since(seen)
        assert changed == [slug.encode() for slug in batch]
    feed.close()


class StoppingFeed(ChangeFeed):
    def _write(self, at: int, changes: bytes) -> None:
        stop()
        super()._write(at, changes)


def test_changes_are_seen_while_a_process_is_stopped_in_the_middle_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "changes"
    feed, reader = ChangeFeed(path), ChangeFeed(path)
    feed.publish(["before"])
    with stopped(lambda: StoppingFeed(path).publish(["theirs"])) as process:
        seen, _ = reader.since(0)
        for _ in range(3):
            feed.publish(["ours"])
            assert seen != reader.published_bytes[0]
            seen, changed = reader.since(seen)
            assert changed is None, "all routes are read again"
        resume(process)
    assert reader.since(seen)[1] is None, "its position is lower than that of the others"
    seen = reader.published_bytes[0]
    feed.publish(["after"])
    assert reader.since(seen)[1] == [b"after"]
