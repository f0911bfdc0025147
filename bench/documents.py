"""Writes the pages of the documentation that have results: those of one commit, and the same rows over commits."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench import report
from bench.published import PUBLISHED
from bench.report import Row
from bench.results import Measured, Results

_DESIGN = Path(__file__).parent.parent / "docs" / "design"
DOCUMENT, OVER_TIME = _DESIGN / "benchmarks.md", _DESIGN / "benchmarks-over-time.md"
_COMMITS = 6


def one_commit(results: Results, descriptions: Mapping[str, str]) -> str:
    """`descriptions`: of the published benchmarks."""
    measured = results.benchmarks
    missing = [f"`{name}`" for name in descriptions if name not in measured]
    sections = [
        "\n\n".join([f"## {heading}", *(_described(name, descriptions[name], measured[name]) for name in some)])
        for heading, names in PUBLISHED.items()
        if (some := [name for name in names if name in measured])
    ]
    return f"""# Benchmarks

Written by `make bench`; do not edit. All rows are of commit `{results.commit[:12]}` and of one machine:
{", ".join(list(results.machine.values())[:2])}. [The same rows over commits](benchmarks-over-time.md).

The package is compiled, as in the image and in wheels; rows that say "not compiled" are of Python. A
ratio compares two servers in the same run, on the same core, in alternating rounds: it is the median
of at least seven rounds after one to warm up, and of up to 21 until its standard error is at most
1 %. Rounds in which other programs or other guests of the host took more than a twentieth of a
core are left out, and the details count them. `python -m bench NAME` measures the rows below a name, and
more; `python -m bench --help` lists all benchmarks.

{_missed(_rows(results))}

{chr(10).join(f"{section}{chr(10)}" for section in sections)}
## Environment

{report.listed(results.machine)}

When each benchmark ran, and what was taken from its whole time, preparations included:

{report.listed({name: _run(measured[name]) for name in descriptions if name in measured})}
{_not_run(missing)}"""


def _described(name: str, description: str, measured: Measured) -> str:
    return f"### `{name}`\n\n{description}\n\n{report.table(report.published(measured.rows))}"


def _missed(rows: Sequence[Row]) -> str:
    with_target = [row for row in rows if row.is_met is not None]
    missed = [row for row in with_target if not row.is_met]
    lines = [f"- {row.what}: **{row.value}**{row.target and f' instead of {row.target}'}" for row in missed]
    begin = f"{len(with_target) - len(missed)} of {len(with_target)} targets are met."
    return "\n".join([f"{begin} These are missed:\n", *lines]) if missed else begin


def over_time(all_results: Sequence[Results]) -> str:
    """`all_results`: the newest first."""
    shown = all_results[:_COMMITS]
    rows = dict.fromkeys(row.what for results in shown for row in _rows(results))
    values = [{row.what: row.value for row in _rows(results)} for results in shown]
    heads = [f"`{results.commit[:12]}`<br>{results.committed[:10]}" for results in shown]
    lines = [_line(["Benchmark", *heads]), _line(["---"] * (len(shown) + 1))]
    lines += [_line([what, *(each.get(what, "") for each in values)]) for what in rows]
    machines = {f"`{results.commit[:12]}`": ", ".join(list(results.machine.values())[:4]) for results in shown}
    return f"""# Benchmarks over time

Written by `make bench`; do not edit. Compare columns of the same machine only, and ratios rather
than milliseconds. `python -m bench compare A B` measures two commits in alternation.

{chr(10).join(lines)}

## Machines

{report.listed(machines)}
"""


def _rows(results: Results) -> list[Row]:
    return [row for each in results.benchmarks.values() for row in report.published(each.rows)]


def _run(measured: Measured) -> str:
    return f"{measured.when}, {measured.disturbance}"


def _not_run(missing: Sequence[str]) -> str:
    return f"\nNot run for this commit: {', '.join(missing)}.\n" if missing else ""


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
