"""Memory of the process, and how much it may use."""

import contextlib
import ctypes
import os
import resource
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_ENOUGH = 1 << 30


def scaled(size: int, memory: int | None = None) -> int:
    """Return `size` where a process may use a gigabyte or more, and less in proportion on a smaller machine.

    For caches and batches, so that enough is left for everything else. `memory`: of the machine, by default.
    """
    return round(size * min(1, (memory or usable_memory()) / _ENOUGH))


@cache
def usable_memory(groups: Path = _CGROUPS, own: Path = Path("/proc/self/cgroup")) -> int:
    """Return the bytes that this machine has, or fewer if a control group (a container, a systemd unit) limits them."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min([machine, *_limits(groups, own.read_text())])
    except OSError:
        return machine


def _limits(groups: Path, memberships: str) -> Iterator[int]:
    """Yield the limits of control groups of version 2 and 1 that contain this process, from the innermost outwards."""
    for line in memberships.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers in {"", "memory"}:
            root, name = (groups / "memory", "memory.limit_in_bytes") if controllers else (groups, "memory.max")
            group = root / path.lstrip("/")
            for each in (group, *group.parents):
                with contextlib.suppress(OSError, ValueError):  # not there, or `max`
                    yield int((each / name).read_text())
                if each == root:
                    break


@contextlib.contextmanager
def limited_memory(extra: int) -> Iterator[None]:
    """Let this process take so many bytes more than it has. What needs more of them raises MemoryError.

    Files that are mapped into memory do not count: the system takes them back when it needs their memory.
    """
    used = int(Path("/proc/self/status").read_text().partition("VmData:")[2].split()[0]) << 10
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = used + extra if hard == resource.RLIM_INFINITY else min(used + extra, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))


def prefer_to_be_killed() -> None:
    """Let the system kill this process before others when the machine has no memory left."""
    with contextlib.suppress(OSError):  # a system without /proc
        Path("/proc/self/oom_score_adj").write_text("1000")


def release_free_memory() -> None:
    """Return free memory to the system, some megabytes after all imports: the C library (glibc) keeps it otherwise."""
    with contextlib.suppress(AttributeError, OSError):  # another C library, or none to load
        ctypes.CDLL(None).malloc_trim(0)
