"""Results are of one commit and one machine, can be continued, and are compared over commits."""

from pathlib import Path

import pytest

import bench.__main__
from bench import documents, results
from bench.compare import table_of_both
from bench.report import at_least, failed
from bench.results import Measured, NotWritten, Results

_MACHINE = {"processor": "A, 2 cores", "memory": "24 GiB"}


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(results, "_DIRECTORY", tmp_path)
    return tmp_path


@pytest.fixture
def git(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What its commands print: no changes, and one commit."""
    answers = {"status": "", "log": f"{'a' * 40} 2026-11-20T10:00:00+00:00"}
    monkeypatch.setattr(results, "_git", lambda command, *_: answers[command])
    return answers


def test_an_interrupted_run_continues(git: dict[str, str]) -> None:
    first = results.of_this_commit(_MACHINE)
    first.benchmarks["redirects"] = _measured("redirects", 0.8)
    first.benchmarks["tls"] = Measured("now", "", [failed("tls", "no nginx")])
    first.write()
    again = results.of_this_commit(_MACHINE)
    assert again == first
    assert again.has("redirects")
    assert not again.has("tls"), "what failed runs again"
    assert not again.has("drain")


def test_uncommitted_changes_and_another_machine_are_refused(git: dict[str, str]) -> None:
    results.of_this_commit(_MACHINE).write()
    with pytest.raises(NotWritten, match="another machine"):
        results.of_this_commit(_MACHINE | {"memory": "8 GiB"})
    git["status"] = " M src/waypost/cli.py"
    with pytest.raises(NotWritten, match="commit first: M src"):
        results.of_this_commit(_MACHINE)


def test_only_commits_that_change_what_is_measured_begin_new_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "_ROOT", tmp_path)

    def write(name: str) -> str:
        """Return the commit of the results while the file is not committed. Raises NotWritten."""
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("new")
        return results.of_this_commit(_MACHINE).commit

    def commit() -> str:
        results._git("add", ".")
        results._git("-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "Change")
        return results.of_this_commit(_MACHINE).commit

    results._git("init", "-q")
    with pytest.raises(NotWritten):
        write("src/waypost/cli.py")
    first = commit()
    for name in ("docs/a.svg", "README.md", "clients/python/README.md", "tests/test_a.py", "bench/results/a.json"):
        assert write(name) == commit() == first, name
    with pytest.raises(NotWritten):
        write("bench/drain.py")
    assert commit() != first


def test_the_document_is_of_one_commit_and_names_what_was_not_run() -> None:
    measured = {"tls": _measured("TLS", 0.9), "redirects": _measured("redirects", 0.5)}
    about = {"tls": "What TLS costs.", "redirects": "How fast they are.", "drain": "How many clicks."}
    text = documents.one_commit(_results("b", measured), about)
    assert f"commit `{'b' * 12}` and of one machine:\nA, 2 cores, 24 GiB." in text
    assert "1 of 2 targets are met. These are missed:\n\n- redirects: **0.5** instead of ≥ 0.8\n" in text
    head = "| Benchmark | Result | Target | Met | Details |\n|---|---|---|---|---|\n"
    assert (
        f"## Redirects\n\n### `redirects`\n\nHow fast they are.\n\n{head}| redirects | 0.5 | ≥ 0.8 | **no** |" in text
    )
    assert f"\n\n### `tls`\n\nWhat TLS costs.\n\n{head}| TLS | 0.9 | ≥ 0.8 | yes |" in text
    assert "## Clicks" not in text
    assert "Not run for this commit: `drain`." in text


def test_each_benchmark_is_described_in_one_section() -> None:
    descriptions = bench.__main__.descriptions()
    assert sorted(name for names in documents.SECTIONS.values() for name in names) == sorted(descriptions)
    assert all(descriptions.values())


def test_rows_are_compared_over_commits() -> None:
    old = _results("a", {"redirects": _measured("redirects", 0.5), "tls": _measured("tls", 0.7)}, day="2026-11-19")
    new = _results("b", {"redirects": _measured("redirects", 0.8)}, day="2026-11-20")
    for each in (old, new):
        each.write()
    text = documents.over_time(results.of_all_commits())
    assert f"| Benchmark | `{'b' * 12}`<br>2026-11-20 | `{'a' * 12}`<br>2026-11-19 |" in text
    assert "| redirects | 0.8 | 0.5 |" in text
    assert "| tls |  | 0.7 |" in text


def test_two_commits_are_compared_by_the_medians_of_their_runs() -> None:
    text = table_of_both("A", "B", [{"rate": "1,000/s"}, {"rate": "1,200/s", "old": "x"}], [{"rate": "2,200/s"}] * 2)
    assert "| rate | 1,000/s / 1,200/s | 2,200/s / 2,200/s | 2.000 |" in text
    assert "| old | x |  |  |" in text


def _results(letter: str, benchmarks: dict[str, Measured], *, day: str = "2026-11-20") -> Results:
    return Results(letter * 40, f"{day}T10:00:00+00:00", _MACHINE, benchmarks)


def _measured(what: str, value: float) -> Measured:
    return Measured("2026-11-20 10:00 UTC", "other programs 0% of a core", [at_least(what, value, 0.8, "detail")])
