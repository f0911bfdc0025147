"""Containers of Waypost's image without a container runtime: namespaces over this machine's files."""

import contextlib
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from deployments.machine import ROOT, python_for_services, site_packages
from deployments.machine import what_is_missing as what_a_machine_lacks
from journeys.service import PATIENCE
from nodes.network import Network, what_is_missing

needs_containers = pytest.mark.skipif(bool(why := what_is_missing() or what_a_machine_lacks()), reason=why)
USER = 10001
_SCRIPTS = Path(__file__).parent
_NAMESPACES = ("--mount", "--pid", "--fork", "--kill-child", "--uts", "--ipc")
_ENVIRONMENT = {
    "PATH": "/opt/waypost/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "PYTHONUNBUFFERED": "1",
    "WAYPOST_DATA_DIR": "/data",
}
"""That of the image."""


class Image:
    """Its files, and the volumes of its containers."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "image"
        for name in ("root", "files/data", "files/run/waypost", "files/run/secrets/waypost", "files/etc"):
            (self.directory / name).mkdir(parents=True)
        for name in ("hosts", "haproxy.cfg"):
            (self.directory / "files" / "etc" / name).touch()
        self._volumes = directory / "volumes"
        self._volumes.mkdir()
        self.hosts = directory / "hosts"
        self.hosts.write_text("127.0.0.1 localhost\n")
        script = f". {_SCRIPTS}/installation.sh && install_waypost {self.directory}/files {python_for_services()}"
        subprocess.run(["bash", "-euc", script], check=True)

    def volume(self, name: str, owner: int = USER) -> Path:
        """As a runtime creates it from the image's directory, which belongs to the service's user."""
        path = self._volumes / name
        if not path.exists():
            path.mkdir(mode=0o700 if owner else 0o755)
            os.chown(path, owner, owner)
        return path


class Container:
    def __init__(
        self,
        image: Image,
        network: Network,
        machine: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        mounts: Sequence[str],
        user: int = USER,
        capabilities: str = "",
    ) -> None:
        """`mounts`: SOURCE:TARGET:OPTIONS."""
        variables = [f"{name}={value}" for name, value in (_ENVIRONMENT | environment).items()]
        self.command = network.on(
            machine,
            *("unshare", *_NAMESPACES, str(_SCRIPTS / "container"), str(image.directory), str(ROOT), site_packages()),
            *(str(user), capabilities, f"{image.hosts}:/etc/hosts:ro", *mounts, "--"),
            *("env", "--ignore-environment", *variables, *command),
        )
        self.name = f"{machine}: {' '.join(command)}"
        self._log = image.directory / f"{uuid.uuid4()}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> str:
        return self._log.read_text()

    def start(self) -> None:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(self.command, stdout=log, stderr=log)

    def run(self) -> None:
        """Run until it ends by itself, successfully."""
        self.start()
        assert self._process
        assert self._process.wait(PATIENCE) == 0, self.log

    def stop(self) -> int:
        """SIGTERM to its first process, as a runtime does. Returns the exit code."""
        assert self._process
        self._signal(signal.SIGTERM)
        return self._process.wait(PATIENCE)

    def kill(self) -> None:
        if self._process and self._process.poll() is None:
            self._signal(signal.SIGKILL)  # `unshare --kill-child` forgets it when it changes its user
            self._process.kill()
            self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        assert self._process
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        for child in children:
            os.kill(int(child), number)


@contextlib.contextmanager
def running(*containers: Container) -> Iterator[None]:
    try:
        for container in containers:
            container.start()
        yield
    except BaseException:
        for container in containers:
            sys.stderr.write(f"--- {container.name}\n{container.log[-2000:]}\n")
        raise
    finally:
        for container in containers:
            container.kill()
