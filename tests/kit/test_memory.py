"""How much memory a process may use: of the machine, or of the control groups that it is in."""

import os
from pathlib import Path

import pytest

from waypost.kit.memory import scaled, usable_memory

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(
    ("membership", "limits", "expected"),
    [
        ("0::/a/b\n", {"a/b/memory.max": "max", "a/memory.max": "268435456"}, 268_435_456),
        ("0::/\n", {"memory.max": "1048576"}, 1_048_576),
        ("5:cpu:/x\n3:memory:/w\n0::/\n", {"memory/w/memory.limit_in_bytes": "4096"}, 4_096),
        ("3:memory:/w\n", {"memory/w/memory.limit_in_bytes": str(1 << 62)}, MACHINE),
        ("0::/../../other\n", {}, MACHINE),
        ("", {}, MACHINE),
    ],
)
def test_the_smallest_limit_counts(tmp_path: Path, membership: str, limits: dict[str, str], expected: int) -> None:
    groups, own = tmp_path / "groups", tmp_path / "own"
    own.write_text(membership)
    for name, limit in limits.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(limit)
    assert usable_memory(groups, own) == expected


def test_without_control_groups_the_machine_counts(tmp_path: Path) -> None:
    assert usable_memory(tmp_path, tmp_path / "none") == MACHINE


def test_sizes_shrink_with_the_memory() -> None:
    assert [scaled(-64_000, memory << 20) for memory in (256, 1_024, 24_000)] == [-16_000, -64_000, -64_000]
