"""A limit on the memory of all processes of a command, by a control group of version 1 or 2. Needs root."""

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

_ROOT = Path("/sys/fs/cgroup")
_JOIN = 'echo $$ > "$0" && exec "$@"'


class CannotLimit(Exception):
    """This machine has no control group that this user can create. The message says why."""


class MemoryLimit:
    """`with MemoryLimit(256) as limit:` start `limit.command(…)`. All its processes end before the block does."""

    def __init__(self, megabytes: int) -> None:
        """Raises CannotLimit."""
        self._is_v2 = (_ROOT / "cgroup.controllers").exists()
        self._group = (_ROOT if self._is_v2 else _ROOT / "memory") / f"waypost-{os.getpid()}"
        try:
            self._create(megabytes << 20)
        except OSError as error:
            raise CannotLimit(f"{error.filename}: {error.strerror}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for _attempt in range(100):  # the kernel removes ended processes from it a moment later
            with contextlib.suppress(OSError):
                self._group.rmdir()
                return
            time.sleep(0.05)

    def command(self, command: Sequence[str]) -> list[str]:
        """Return the command that runs `command` within the limit, under the same process id."""
        return ["sh", "-c", _JOIN, str(self._group / "cgroup.procs"), *command]

    def private_megabytes(self) -> float:
        """Memory of the processes, without files and their caches: what the kernel cannot free."""
        return self._read("memory.stat")["anon" if self._is_v2 else "total_rss"] / (1 << 20)

    def kills(self) -> int:
        """How often the kernel has killed a process because of the limit."""
        return self._read("memory.events" if self._is_v2 else "memory.oom_control")["oom_kill"]

    def _create(self, limit: int) -> None:
        if self._is_v2:
            (_ROOT / "cgroup.subtree_control").write_text("+memory")
        self._group.mkdir()
        limits = {"memory.max": limit, "memory.swap.max": 0} if self._is_v2 else {"memory.limit_in_bytes": limit}
        for name, value in limits.items():
            if name != "memory.swap.max" or (self._group / name).exists():  # absent in a kernel without swap
                (self._group / name).write_text(str(value))

    def _read(self, name: str) -> dict[str, int]:
        lines = (self._group / name).read_text().splitlines()
        return {key: int(value) for key, value in (line.split() for line in lines)}
