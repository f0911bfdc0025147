"""A temporary PostgreSQL cluster on a Unix socket with default settings: each commit reaches the disk."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.report import Failed
from bench.servers import ALL_CORES

_PROGRAMS = Path("/usr/lib/postgresql")


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """The database URL."""
    directory = Path(tempfile.mkdtemp(prefix="waypost-bench-pg-"))  # short: a socket's path has 107 bytes at most
    directory.chmod(0o777)
    data = str(directory / "data")
    try:
        _run(directory, "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8")
        options = f"-k {directory} -c listen_addresses=''"
        _run(directory, "pg_ctl", "-D", data, "-l", str(directory / "log"), "-o", options, "-w", "start")
        try:
            yield f"postgresql://postgres@/postgres?host={directory}"
        finally:
            _run(directory, "pg_ctl", "-D", data, "-m", "fast", "-w", "stop")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _run(directory: Path, program: str, *arguments: str) -> None:
    found = next(iter(sorted(_PROGRAMS.glob(f"*/bin/{program}"), reverse=True)), None)
    if found is None:
        raise Failed("PostgreSQL is not installed")
    command = ["taskset", "-c", ALL_CORES, str(found), *arguments]
    if os.getuid() == 0:  # PostgreSQL refuses to run as root
        command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]
    with tempfile.TemporaryFile() as out:  # no pipe: the server keeps it open
        if subprocess.run(command, stdout=out, stderr=out, check=False, cwd=directory).returncode:
            out.seek(0)
            raise Failed(out.read().decode(errors="replace"))
