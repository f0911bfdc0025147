"""Results by commit, in `bench/results/`: what `make bench` continues, and what the documents are written from."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.report import FAILED, Row

_ROOT = Path(__file__).parent.parent
_DIRECTORY = Path(__file__).parent / "results"
_MEASURED = [".", ":!docs", ":!*.md", ":!tests", ":!bench/results"]
"""Changes of other files change no result."""


@dataclass(frozen=True)
class Measured:
    """One benchmark."""

    when: str
    disturbance: str
    rows: Sequence[Row]


@dataclass(frozen=True)
class Results:
    commit: str
    committed: str
    """ISO 8601"""
    machine: dict[str, str]
    benchmarks: dict[str, Measured] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return _DIRECTORY / f"{self.commit[:12]}.json"

    def has(self, benchmark: str) -> bool:
        """Whether it ran to its end."""
        measured = self.benchmarks.get(benchmark)
        return measured is not None and all(row.value != FAILED for row in measured.rows)

    def write(self) -> None:
        _DIRECTORY.mkdir(exist_ok=True)
        self.path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n")


class NotWritten(Exception):
    """The results would be of no single commit, or of no single machine."""


def of_this_commit(machine: dict[str, str]) -> Results:
    """Those measured before on this machine, or none. Raises NotWritten.

    They are of the last commit that changed what is measured, so a run continues after documents were committed.
    """
    if changed := _git("status", "--porcelain", "--", *_MEASURED):
        raise NotWritten(f"commit first: {changed.splitlines()[0].strip()}")
    commit, committed = _git("log", "-1", "--format=%H %cI", "--", *_MEASURED).split()
    results = Results(commit, committed, machine)
    if not results.path.exists():
        return results
    before = _read(results.path)
    if before.machine != machine:
        raise NotWritten(f"{results.path.name} has results of another machine: delete it")
    return before


def of_all_commits() -> list[Results]:
    """The newest commit first."""
    return sorted(map(_read, _DIRECTORY.glob("*.json")), key=lambda each: each.committed, reverse=True)


def _read(path: Path) -> Results:
    found: dict[str, Any] = json.loads(path.read_text())
    benchmarks = {
        name: Measured(
            each["when"], each["disturbance"], [Row(row["what"], row["value"], row["detail"]) for row in each["rows"]]
        )
        for name, each in found.pop("benchmarks").items()
    }
    return Results(**found, benchmarks=benchmarks)


def _git(*arguments: str) -> str:
    return subprocess.check_output(["git", "-C", str(_ROOT), *arguments], text=True).strip()
