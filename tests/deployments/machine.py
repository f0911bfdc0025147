"""A machine that systemd has booted: namespaces over a copy-on-write view of a root, such as this machine's."""

import contextlib
import functools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from nodes.network import inside_namespace

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy" / "systemd" / "waypost.service"
_SYSTEMD = "/lib/systemd/systemd"
_BOOT = Path(__file__).with_name("boot")
_PATIENCE = 240  # seconds


class Machine:
    def __init__(self, boot: int) -> None:
        self._boot = boot
        """Of `unshare`, whose only child is systemd."""

    @functools.cached_property
    def _systemd(self) -> int:
        return int(Path(f"/proc/{self._boot}/task/{self._boot}/children").read_text())

    def run(self, *command: str, check: bool = True, stdin: str = "") -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            ["nsenter", f"--target={self._systemd}", "--all", "--root", "--wdns=/", *command],
            check=False,
            input=stdin,
            capture_output=True,
            text=True,
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        )
        assert done.returncode == 0 or not check, f"{command}: {done.stdout}{done.stderr}"
        return done

    def inside(self) -> contextlib.AbstractContextManager[None]:
        """This thread, and those it starts, open their sockets there."""
        return inside_namespace(Path(f"/proc/{self._systemd}/ns/net"))

    def write(self, path: str, text: str, *, mode: str = "644") -> None:
        self.run("sh", "-c", f"mkdir -p $(dirname {path}) && cat > {path} && chmod {mode} {path}", stdin=text)

    def property(self, name: str) -> str:
        return self.run("systemctl", "show", "--property", name, "--value", "waypost").stdout.strip()

    def log(self) -> str:
        return self.run("journalctl", "--no-pager", "--output=cat", "--unit=waypost").stdout

    def wait_until_booted(self) -> None:
        give_up = time.monotonic() + _PATIENCE
        while self._is_booting():
            assert time.monotonic() < give_up, "systemd did not reach its target"
            time.sleep(0.05)

    def _is_booting(self) -> bool:
        with contextlib.suppress(ValueError, OSError):  # unshare has not forked yet
            return self.run("systemctl", "is-active", "waypost-test.target", check=False).returncode != 0
        return True


def booted_machine() -> contextlib.AbstractContextManager[Machine]:
    """Waypost is installed in /opt/waypost, the unit and the command as the documentation says."""
    return booted(Path("/"), str(python_for_services()), str(ROOT), site_packages())


@contextlib.contextmanager
def booted(root: Path, *installation: str) -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="waypost-machine-") as directory:
        log = Path(directory) / "log"
        with log.open("wb") as output:
            command = ["unshare", *_NAMESPACES, str(_BOOT), directory, str(root), *installation]
            process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            machine = Machine(process.pid)
            machine.wait_until_booted()
            yield machine
        except BaseException:
            sys.stderr.write(log.read_text()[-4000:])
            raise
        finally:
            process.kill()  # and with it systemd, and with that everything else in its namespace
            process.wait()


_NAMESPACES = ("--mount", "--pid", "--fork", "--kill-child", "--cgroup", "--uts", "--ipc", "--net")


def site_packages() -> str:
    return str(Path(pytest.__file__).parents[1])


def python_for_services() -> Path | None:
    """An interpreter like this one that the service may read: `ProtectHome` hides /home and /root."""
    name = f"python3.{sys.version_info.minor}"
    candidates = (Path(sys.executable).resolve(), Path("/usr/local/bin") / name, Path("/usr/bin") / name)
    return next((path for path in candidates if path.exists() and path.parts[1] not in {"home", "root"}), None)


def what_is_missing() -> str:
    if os.getuid() != 0:
        return "needs root: namespaces"
    if not Path(_SYSTEMD).exists():
        return "systemd is missing"
    if python_for_services() is None:
        return "this version of Python is in a home directory, which the service cannot read"
    if subprocess.run(["unshare", *_NAMESPACES, "true"], check=False, capture_output=True).returncode:
        return "namespaces are not allowed here"
    return ""
