"""Builds the image with buildah on a base of Debian 13, and runs it as a container runtime does.

buildah's own `run` starts programs with a new root directory and nothing else. So containers are made here: own
processes with the service as number 1, network, read-only root, numeric user without privileges, and everything else as
the image's configuration says.
"""

import functools
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from journeys.service import PATIENCE, Log, eventually
from nodes.network import Network

ROOT = Path(__file__).parents[2]
NAME = "localhost/waypost:test"
_BASE = "localhost/waypost-base:debian-13"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "waypost" / "containers"
_CERTIFICATES = os.environ.get("SSL_CERT_FILE", "")  # for the package index; a fixture of all tests sets another
_NETWORK = "container"

_ENTER = """
set -e
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mount --bind "$data" "$root$volume"
mount -o remount,bind,ro "$root"
exec "$@"
"""


class Image:
    """The built image, and its files in a directory. With IMAGE_IS_BUILT=1, that of the last run is used again."""

    def __init__(self) -> None:
        if "IMAGE_IS_BUILT" not in os.environ:
            self._build()
        self.configuration = json.loads(_buildah("inspect", "--type", "image", NAME))["Docker"]["config"]
        self._container = _buildah("from", "--pull-never", NAME)
        self.root = Path(_buildah("mount", self._container))

    def remove(self) -> None:
        _buildah("rm", self._container)

    def run_with_buildah(self) -> list[str]:
        command = [*self.configuration["Entrypoint"], *self.configuration["Cmd"]]
        return _command("run", "--isolation", "chroot", self._container, "--", *command)

    @staticmethod
    def _build() -> None:
        if not _run("images", "--quiet", _BASE).stdout:
            _make_base()
        environment = os.environ | {"CONTAINER_TOOL": "buildah", "BASE_IMAGE": _BASE, "IMAGE": NAME}
        environment |= {"CONTAINERS_STORAGE_CONF": str(_storage()), "BUILDAH_ISOLATION": "chroot"}
        environment |= {"SSL_CERT_FILE": _CERTIFICATES}
        done = subprocess.run(
            [ROOT / "scripts/build-image"], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        _run("rmi", "--prune")  # the image of the last run


class Container:
    """Runs the image until `remove`, with `arguments` instead of its default command."""

    def __init__(
        self, image: Image, network: Network, data: Path, *arguments: str, user: str = "", **settings: str
    ) -> None:
        self.log = Log()
        config = image.configuration
        [volume] = config["Volumes"]
        self._user = user or config["User"]
        self._environment = dict(each.split("=", 1) for each in config["Env"]) | settings
        chroot = ["chroot", f"--userspec={self._user}", "--groups=", str(image.root)]
        inside = self._inside(*config["Entrypoint"], *(arguments or config["Cmd"]))
        enter = ["unshare", "--mount", "--pid", "--fork", "setpriv", "--no-new-privs", "sh", "-c", _ENTER, "sh"]
        self._process = subprocess.Popen(
            network.on(_NETWORK, *enter, *chroot, *inside),
            env={"PATH": os.environ["PATH"], "root": str(image.root), "data": str(data), "volume": volume},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.log.follow(self._process)

    def remove(self) -> None:
        if self._process.poll() is None:
            os.kill(self.first_process, signal.SIGKILL)  # the kernel ends all others with it
        self.ended()

    @functools.cached_property
    def first_process(self) -> int:
        """Its number outside of the container."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        eventually(lambda: bool(children.read_text()))
        return int(children.read_text())

    def stop(self) -> int:
        """SIGTERM to process 1, as `podman stop` sends it. Returns the exit code."""
        os.kill(self.first_process, signal.SIGTERM)
        return self.ended()

    def ended(self) -> int:
        code = self._process.wait(PATIENCE)
        self.log.wait_for_end()
        return code

    def execute(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """As `podman exec` does."""
        user, group = self._user.split(":")
        enter = ["setpriv", "--no-new-privs", "nsenter", "--target", str(self.first_process)]
        enter += ["--mount", "--pid", "--net", "--root", f"--setuid={user}", f"--setgid={group}"]
        return subprocess.run(
            [*enter, *self._inside(*command)], capture_output=True, text=True, check=False, timeout=PATIENCE
        )

    def _inside(self, *command: str) -> list[str]:
        """The command with the image's environment. Who starts it has given up privileges."""
        variables = [f"{name}={value}" for name, value in self._environment.items()]
        return ["/usr/bin/env", "-i", *variables, *command]


def _make_base() -> None:
    """The smallest Debian 13 with apt, which reaches its servers as this machine does. Once: it takes a minute."""
    archive, apt = _CACHE / "debian-13.tar", _CACHE / "apt.conf"
    apt.write_text(subprocess.run(["apt-config", "dump", "Acquire"], check=True, capture_output=True, text=True).stdout)
    options = ["--variant=minbase", "--mode=root", "--include=ca-certificates", f"--aptopt={apt}"]
    subprocess.run(["mmdebstrap", *options, "trixie", archive], check=True, capture_output=True)
    container = _buildah("from", "scratch")
    _buildah("add", "--quiet", container, str(archive))
    _buildah("commit", "--quiet", container, _BASE)
    _buildah("rm", container)
    archive.unlink()


def _storage() -> Path:
    """The configuration of a storage of our own: other images on this machine are not touched."""
    file = _CACHE / "storage.conf"
    _CACHE.mkdir(parents=True, exist_ok=True)
    file.write_text(f'[storage]\ndriver = "vfs"\ngraphroot = "{_CACHE}/storage"\nrunroot = "{_CACHE}/run"\n')
    return file


def _command(*arguments: str) -> list[str]:
    return ["env", f"CONTAINERS_STORAGE_CONF={_storage()}", "buildah", *arguments]


def _run(*arguments: str) -> Any:
    return subprocess.run(_command(*arguments), capture_output=True, text=True, check=False)


def _buildah(*arguments: str) -> str:
    done = _run(*arguments)
    assert done.returncode == 0, f"buildah {' '.join(arguments)}: {done.stderr}"
    return str(done.stdout).strip()


def what_is_missing() -> str:
    """Why images cannot be built here; empty if they can."""
    if os.getuid() != 0:
        return "needs root: containers"
    missing = [program for program in ("buildah", "mmdebstrap", "ip", "nsenter") if not shutil.which(program)]
    if missing:
        return f"{', '.join(missing)} missing: apt-get install {' '.join(missing)} (make test-image does it)"
    return ""


needs_buildah = pytest.mark.skipif(bool(reason := what_is_missing()), reason=reason)
