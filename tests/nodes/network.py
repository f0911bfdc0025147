"""Machines as network namespaces on one bridge. The bridge is in a namespace, too: nothing else of the host changes."""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pytest

_NAMESPACES = Path("/run/netns")
_CLONE_NEWNET = 0x40000000
_NOWHERE = "02:00:00:00:00:01"
"""A hardware address that no machine has: packets to it are lost without an error."""


class Network:
    def __init__(self) -> None:
        self._prefix = f"waypost-{os.getpid()}"
        self._bridge = f"{self._prefix}-bridge"

    def __enter__(self) -> Self:
        _ip("netns", "add", self._bridge)
        _ip("-n", self._bridge, "link", "add", "br0", "type", "bridge")
        _ip("-n", self._bridge, "link", "set", "br0", "up")
        return self

    def __exit__(self, *_: object) -> None:
        for path in _NAMESPACES.glob(f"{self._prefix}-*"):
            _ip("netns", "delete", path.name)

    def add(self, machine: str, address: str) -> None:
        name = self._name(machine)
        _ip("netns", "add", name)
        _ip("-n", self._bridge, "link", "add", machine, "type", "veth", "peer", "name", "eth0", "netns", name)
        _ip("-n", self._bridge, "link", "set", machine, "master", "br0", "up")
        _ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _ip("-n", name, "link", "set", device, "up")

    def on(self, machine: str, *command: str) -> list[str]:
        """The command that runs `command` there, as the same process."""
        return ["nsenter", f"--net={_NAMESPACES / self._name(machine)}", *command]

    def run(self, machine: str, *command: str) -> None:
        done = subprocess.run(self.on(machine, *command), check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def process(self, machine: str, argument: str) -> int:
        """The process there that has this argument."""
        pids = subprocess.run(["ip", "netns", "pids", self._name(machine)], capture_output=True, text=True, check=True)
        return next(
            int(pid) for pid in pids.stdout.split() if argument in Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        )

    def disconnect(self, machine: str) -> None:
        _ip("-n", self._bridge, "link", "set", machine, "down")

    def reconnect(self, machine: str) -> None:
        _ip("-n", self._bridge, "link", "set", machine, "up")

    def block(self, machine: str, address: str) -> None:
        """Lose all that the machine sends to the address."""
        _ip(
            "-n",
            self._name(machine),
            "neigh",
            "replace",
            address,
            "lladdr",
            _NOWHERE,
            "nud",
            "permanent",
            "dev",
            "eth0",
        )

    def unblock(self, machine: str, address: str) -> None:
        _ip("-n", self._name(machine), "neigh", "delete", address, "dev", "eth0")

    @contextmanager
    def inside(self, machine: str) -> Iterator[None]:
        """This thread, and those it starts, open their sockets there."""
        with inside_namespace(_NAMESPACES / self._name(machine)):
            yield

    def _name(self, machine: str) -> str:
        return f"{self._prefix}-{machine}"


@contextmanager
def inside_namespace(namespace: Path) -> Iterator[None]:
    """This thread, and those it starts, open their sockets there."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        _enter(namespace)
        yield
    finally:
        _enter(Path(f"/proc/self/fd/{before}"))
        os.close(before)


def _enter(namespace: Path) -> None:
    with namespace.open() as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"


def what_is_missing() -> str:
    """Why these tests cannot run here; empty if they can."""
    if os.getuid() != 0:
        return "needs root: network namespaces"
    for program in ("ip", "nsenter", "haproxy", "faketime"):
        if not shutil.which(program):
            return f"{program} is missing: apt-get install haproxy iproute2 faketime (make test-nodes does it)"
    probe = f"waypost-{os.getpid()}-probe"
    if subprocess.run(["ip", "netns", "add", probe], check=False, capture_output=True).returncode:
        return "network namespaces are not allowed here"
    _ip("netns", "delete", probe)
    return ""


needs_namespaces = pytest.mark.skipif(bool(reason := what_is_missing()), reason=reason)
