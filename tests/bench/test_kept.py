"""Seeded databases are kept for further runs, until they are outdated or changed."""

from functools import partial
from pathlib import Path

import pytest

from bench.kept import KeptStores, Seed

_SQLITE = "SQLite"


@pytest.fixture
def seeded() -> list[str]:
    """The URLs that were seeded."""
    return []


def test_the_next_run_uses_what_was_seeded(tmp_path: Path, seeded: list[str]) -> None:
    for _ in range(2):
        kept = KeptStores(tmp_path)
        assert kept.get(_seed(seeded), _SQLITE) == kept.get(_seed(seeded), _SQLITE) == 1
        kept.close()
    assert len(seeded) == 1


def test_another_size_replaces_it(tmp_path: Path, seeded: list[str]) -> None:
    for count in (1, 2):
        kept = KeptStores(tmp_path)
        kept.get(_seed(seeded, count), _SQLITE)
        kept.close()
    first, second = (Path(url.removeprefix("sqlite:///")) for url in seeded)
    assert not first.exists()
    assert second.exists()


def test_what_was_not_finished_is_seeded_again(tmp_path: Path, seeded: list[str]) -> None:
    async def interrupted(url: str) -> int:
        Path(url.removeprefix("sqlite:///")).write_text("partly")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        KeptStores(tmp_path).get(Seed("clicks", (1,), interrupted), _SQLITE)
    assert KeptStores(tmp_path).get(_seed(seeded), _SQLITE) == 1
    assert Path(seeded[0].removeprefix("sqlite:///")).read_text() == "seeded"


def test_what_a_benchmark_changes_is_removed(tmp_path: Path, seeded: list[str]) -> None:
    kept = KeptStores(tmp_path)
    with pytest.raises(ValueError, match="failed"), kept.used_up(_seed(seeded), _SQLITE):
        raise ValueError("failed")
    assert not list(tmp_path.iterdir())
    kept.get(_seed(seeded), _SQLITE)
    assert len(seeded) == 2


def test_midnight_changes_nothing_in_a_run(tmp_path: Path, seeded: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    kept = KeptStores(tmp_path)
    kept.get(_seed(seeded), _SQLITE)
    monkeypatch.setattr("bench.kept._key", lambda _: "of the next day")
    with kept.used_up(_seed(seeded), _SQLITE) as store:
        assert store == 1
    assert not list(tmp_path.iterdir())


def _seed(seeded: list[str], count: int = 1) -> Seed[int]:
    return Seed("clicks", (count,), partial(_write, seeded, count))


async def _write(seeded: list[str], count: int, url: str) -> int:
    Path(url.removeprefix("sqlite:///")).write_text("seeded")
    seeded.append(url)
    return count
