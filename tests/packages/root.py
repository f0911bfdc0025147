"""New Debians in directories, as scripts/fresh-root makes them."""

import os
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deployments.first_click import api_key, count_a_click, first_click_of
from journeys.service import Website, eventually, free_port
from release.test_dist import tracked

ROOT = Path(__file__).parents[2]
UV_VERSION = next(
    line.split()[-1] for line in (ROOT / "Makefile").read_text().splitlines() if line.startswith("UV_VERSION")
)
_OF_TESTS = ("WAYPOST_", "PYTHON", "SSL_CERT_")  # these two of the certificates: a fixture of all tests sets them
_ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(_OF_TESTS)} | {
    name: value for name, value in os.environ.items() if name.startswith("SSL_CERT_")
}


class Root:
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def run(self, *command: str, **variables: str) -> str:
        inside = self._inside(*command, **variables)
        done = subprocess.run(inside, env=_ENVIRONMENT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}: {done.stdout[-4000:]}{done.stderr[-4000:]}"
        return done.stdout

    def copy_sources(self) -> None:
        for name in tracked():
            to = self.directory / "src" / name
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to, follow_symlinks=False)

    def count_a_click_of(self, program: str) -> None:
        """The service starts in an empty directory, and counts the first click of a first link."""
        data, port = self.directory / "data", free_port()
        shutil.rmtree(data, ignore_errors=True)
        settings = {"WAYPOST_DATA_DIR": "/data", "WAYPOST_OUTBOUND_ALLOW": "127.0.0.0/8"}
        command = self._inside(program, "serve", "--port", str(port), **settings)
        with Website() as page, subprocess.Popen(command, env=_ENVIRONMENT, stderr=subprocess.DEVNULL) as process:
            try:
                with first_click_of(program):
                    eventually(lambda: "curl -i" in _read(data / "first-start.txt"))
                    count_a_click(f"http://localhost:{port}", api_key(_read(data / "first-start.txt")), page.url)
            finally:
                process.kill()  # and with it all that is in its namespaces
        eventually(lambda: not _is_open(port))

    def _inside(self, *command: str, **variables: str) -> list[str]:
        given = [f"{name}={value}" for name, value in variables.items()]
        return [str(ROOT / "scripts/enter-root"), str(self.directory), "/usr/bin/env", *given, *command]


@contextmanager
def fresh_root(suite: str, *packages: str) -> Iterator[Root]:
    with tempfile.TemporaryDirectory(prefix="waypost-root-", dir="/var/tmp", ignore_cleanup_errors=True) as name:
        root = Root(Path(name) / "root")
        command = [ROOT / "scripts/fresh-root", suite, root.directory, *packages]
        done = subprocess.run(command, env=_ENVIRONMENT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        yield root


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _is_open(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://localhost:{port}/healthz", timeout=5)
    except OSError:
        return False
    return True
