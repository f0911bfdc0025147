"""Results are of one commit and one machine, can be continued, and are compared over commits."""

import re
from pathlib import Path

import pytest

import bench.__main__
from bench import documents, published, report, results
from bench.compare import table_of_both
from bench.report import Row, failed
from bench.results import Measured, NotWritten, Results

_REDIRECTS = "redirects from memory, relative to nginx"
_TLS = "redirects over built-in TLS, relative to nginx over TLS"
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
    first.benchmarks["redirects"] = _measured(_REDIRECTS, 0.8)
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
    measured = {"tls": _measured(_TLS, 0.9), "redirects": _measured(_REDIRECTS, 0.7, other="redirects of cats")}
    about = {"tls": "What TLS costs.", "redirects": "How fast they are.", "drain": "How many clicks."}
    text = documents.one_commit(_results("b", measured), about)
    assert f"commit `{'b' * 12}` and of one machine:\nA, 2 cores, 24 GiB." in text
    assert f"1 of 2 targets are met. These are missed:\n\n- {_REDIRECTS}: **0.7** instead of ≥ 0.8\n" in text
    head = "| Benchmark | Result | Target | Met | Details |\n|---|---|---|---|---|\n"
    assert (
        f"## Redirects\n\n### `redirects`\n\nHow fast they are.\n\n{head}| {_REDIRECTS} | 0.7 | ≥ 0.8 | **no** |"
        in text
    )
    assert f"\n\n### `tls`\n\nWhat TLS costs.\n\n{head}| {_TLS} | 0.9 | ≥ 0.5 | yes |" in text
    assert "cats" not in text, "only published rows"
    assert "## Clicks" not in text
    assert "Not run for this commit: `drain`." in text


def test_targets_are_compared_with_the_numbers_of_rows() -> None:
    rate, time = (f"32 concurrent creates, {what}" for what in ("rate", "p99"))
    verdicts = {
        Row(rate, "1,250/s"): (True, "≥ 300/s"),
        Row(rate, "299/s"): (False, "≥ 300/s"),
        Row(time, "150 ms"): (True, "≤ 150 ms"),
        Row("10 x a: a visitor's redirect, p99", "50.1 ms"): (False, "≤ 50 ms"),
        Row(time, report.FAILED): (False, "≤ 150"),
        Row("what nobody publishes", "1"): (None, ""),
    }
    assert {row: (row.is_met, row.target) for row in verdicts} == verdicts


def test_published_rows_are_those_of_benchmarks_and_few() -> None:
    assert set(published.BENCHMARKS) <= set(bench.__main__.BENCHMARKS)
    assert all(bench.__main__.descriptions().values())
    attacks = re.findall(
        r"^\| [^|]+: ([^|:]+) \|", (documents.DOCUMENT.parent / "security.md").read_text(), re.MULTILINE
    )
    assert set(attacks) == set(published.ATTACKS)
    assert sum(map(len, published.BENCHMARKS.values())) + len(attacks) <= 60


def test_a_published_row_that_was_not_measured_fails() -> None:
    assert report.missing([_TLS, _REDIRECTS], [Row(_TLS, "0.9")]) == [failed(_REDIRECTS, "not measured")]


def test_rows_are_compared_over_commits() -> None:
    old = _results("a", {"redirects": _measured(_REDIRECTS, 0.5), "tls": _measured(_TLS, 0.7)}, day="2026-11-19")
    new = _results("b", {"redirects": _measured(_REDIRECTS, 0.8, other="redirects of cats")}, day="2026-11-20")
    for each in (old, new):
        each.write()
    text = documents.over_time(results.of_all_commits())
    assert f"| Benchmark | `{'b' * 12}`<br>2026-11-20 | `{'a' * 12}`<br>2026-11-19 |" in text
    assert f"| {_REDIRECTS} | 0.8 | 0.5 |" in text
    assert f"| {_TLS} |  | 0.7 |" in text
    assert "cats" not in text


def test_two_commits_are_compared_by_the_medians_of_their_runs() -> None:
    text = table_of_both("A", "B", [{"rate": "1,000/s"}, {"rate": "1,200/s", "old": "x"}], [{"rate": "2,200/s"}] * 2)
    assert "| rate | 1,000/s / 1,200/s | 2,200/s / 2,200/s | 2.000 |" in text
    assert "| old | x |  |  |" in text


def _results(letter: str, benchmarks: dict[str, Measured], *, day: str = "2026-11-20") -> Results:
    return Results(letter * 40, f"{day}T10:00:00+00:00", _MACHINE, benchmarks)


def _measured(what: str, value: float, *, other: str = "") -> Measured:
    rows = [report.measured(each, value, "detail") for each in (what, other) if each]
    return Measured("2026-11-20 10:00 UTC", "other programs 0% of a core", rows)
