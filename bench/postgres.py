"""A temporary PostgreSQL cluster on a Unix socket with default settings: each commit reaches the disk."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from bench.report import Failed
from bench.servers import ALL_CORES

_PROGRAMS = Path("/usr/lib/postgresql")


@contextlib.contextmanager
def postgres(kept: Path | None = None) -> Iterator[str]:
    """The database URL. `kept`: the directory of a cluster that stays, in one that all may write to. Its URL stays."""
    prefix = "waypost-bench-pg-"  # short: the path of its socket has 107 bytes at most
    if kept:
        directory = Path(tempfile.gettempdir(), prefix + sha256(bytes(kept)).hexdigest()[:8])
        directory.mkdir(exist_ok=True)
    else:
        directory = Path(tempfile.mkdtemp(prefix=prefix))
    directory.chmod(0o777)
    data = kept or directory / "data"
    try:
        if not data.exists():
            _run(directory, "initdb", "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8")
        stop(data)
        options = f"-k {directory} -c listen_addresses=''"
        _run(directory, "pg_ctl", "-D", str(data), "-l", str(directory / "log"), "-o", options, "-w", "start")
        try:
            yield f"postgresql://postgres@/postgres?host={directory}"
        finally:
            stop(data)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def stop(data: Path) -> None:
    """Stop the server of a cluster, also one that an interrupted run left."""
    if (data / "postmaster.pid").exists():
        _run(data, "pg_ctl", "-D", str(data), "-m", "fast", "-w", "stop")


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
