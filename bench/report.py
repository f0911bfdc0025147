"""Rows with their targets, one Markdown table of them, and a description of the machine."""

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

FAILED = "failed"


class Failed(Exception):
    """The run is invalid: error responses, lost writes, a server that does not start."""


@dataclass(frozen=True)
class Row:
    what: str
    value: str
    target: str = ""
    is_met: bool | None = None
    detail: str = ""

    @property
    def verdict(self) -> str:
        return "" if self.is_met is None else "yes" if self.is_met else "**no**"


def at_least(what: str, value: float, bound: float, detail: str = "", unit: str = "") -> Row:
    return Row(what, f"{_short(value)}{unit}", f"≥ {_short(bound)}{unit}", value >= bound, detail)


def at_most(what: str, value: float, bound: float, detail: str = "", unit: str = "") -> Row:
    return Row(what, f"{_short(value)}{unit}", f"≤ {_short(bound)}{unit}", value <= bound, detail)


def without_target(what: str, value: str, detail: str = "") -> Row:
    return Row(what, value, detail=detail)


def failed(what: str, why: object) -> Row:
    return Row(what, FAILED, is_met=False, detail=" ".join(str(why).split())[:900])


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


def _short(value: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
