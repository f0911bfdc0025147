"""Rows with their targets, one Markdown table of them, and a description of the machine."""

import os
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from bench.published import is_published, short, target_of

FAILED = "failed"


class Failed(Exception):
    """The run is invalid: error responses, lost writes, a server that does not start."""


@dataclass(frozen=True)
class Row:
    what: str
    value: str
    detail: str = ""

    @property
    def is_met(self) -> bool | None:
        """None without a target."""
        if self.value == FAILED:
            return False
        target = target_of(self.what)
        return target.is_met(self.value) if target else None

    @property
    def target(self) -> str:
        target = target_of(self.what)
        return target.text(self.value) if target else ""

    @property
    def verdict(self) -> str:
        return "" if self.is_met is None else "yes" if self.is_met else "**no**"


def measured(what: str, value: float, detail: str = "", unit: str = "") -> Row:
    return Row(what, f"{short(value)}{unit}", detail)


def failed(what: str, why: object) -> Row:
    return Row(what, FAILED, " ".join(str(why).split())[:900])


def missing(names: Iterable[str], rows: Iterable[Row]) -> list[Row]:
    """Failed rows, for the published names that no row has."""
    measured_names = {row.what for row in rows}
    return [failed(name, "not measured") for name in names if name not in measured_names]


def published(rows: Iterable[Row]) -> list[Row]:
    """Those that documents show."""
    return [row for row in rows if row.value == FAILED or is_published(row.what)]


def table(rows: Sequence[Row]) -> str:
    lines = ["| Benchmark | Result | Target | Met | Details |", "|---|---|---|---|---|"]
    lines += [f"| {row.what} | {row.value} | {row.target} | {row.verdict} | {row.detail} |" for row in rows]
    return "\n".join(lines)


def machine() -> dict[str, str]:
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "kernel": platform.release(),
        "Python": platform.python_version(),
        "servers": ", ".join(f"{name} {version(name)}" for name in ("uvicorn", "uvloop", "starlette", "fastapi")),
    }


def nginx() -> dict[str, str]:
    output = subprocess.run(["nginx", "-v"], capture_output=True, text=True, check=True).stderr
    return {"nginx": output.strip().rpartition("/")[2]}


def now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"


def listed(parts: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {value}" for name, value in parts.items())


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
