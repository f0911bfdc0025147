"""The parent process with real children: restarts, signals, its own death."""

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import pytest

from waypost.worker import healthcheck, parent
from waypost.worker.parent import CannotListen, Child, listen, parent_command

APPS = Path(__file__).parent / "apps"


class Service:
    def __init__(self, directory: Path, port: int, app: str = "pid_app", **settings: str) -> None:
        self.port = port
        self.is_serving = False
        self.data = directory / "data"
        self.data.mkdir(exist_ok=True)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
        settings |= {"WAYPOST_DATA_DIR": str(self.data), "WAYPOST_SECRET_KEY": "k" * 40}
        self.process = subprocess.Popen(
            parent_command("127.0.0.1", port, workers=1, role="all", app=app, welcome=False),
            env=inherited | {"PYTHONPATH": str(APPS)} | settings,
            stderr=subprocess.PIPE,
            text=True,
            cwd=directory,
        )

    def web(self) -> int:
        """The pid of the web process. Once the parent listens, a connection waits until there is one."""
        if not self.is_serving:
            self.is_serving = any('event="processes started"' in line for line in self.lines())
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
            return int(connection.makefile().read().rpartition("\n")[2].split()[0])

    def worker(self, other_than: int = 0) -> int:
        note = self.data / "worker"
        until(lambda: note.exists() and int(note.read_text().split()[0]) != other_than)
        return int(note.read_text().split()[0])

    def lines(self) -> Iterator[str]:
        assert self.process.stderr
        return iter(self.process.stderr)

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(60)


def until(condition) -> None:
    give_up = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.01)


def await_end(pid_fd: int) -> None:
    assert select.select([pid_fd], [], [], 20)[0]
    os.close(pid_fd)


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def start(tmp_path: Path, port: int):
    services: list[Service] = []

    def begin(*arguments: str, **settings: str) -> Service:
        services.append(Service(tmp_path, port, *arguments, **settings))
        return services[-1]

    yield begin
    for service in services:
        if service.process.poll() is None:
            service.end()
        service.process.stderr.close()


def test_starts_and_stops_its_processes(start) -> None:
    service = start()
    children = [os.pidfd_open(service.web()), os.pidfd_open(service.worker())]
    assert service.end() == 0
    for child in children:
        await_end(child)
    assert (service.data / "worker.stopped").exists()  # it ended by itself, in order


@pytest.fixture
def hang_up() -> Iterator[None]:
    """As processes of a terminal have it, also where the tests run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_other_signals_end_it_too(hang_up, start, number: int) -> None:
    service = start()
    service.web()
    service.process.send_signal(number)
    assert service.process.wait(60) == 0


def test_under_nohup_it_outlives_the_terminal(hang_up, start) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # is inherited
    service = start()
    for pid in (service.web(), service.worker(), service.process.pid):
        ignored = Path(f"/proc/{pid}/status").read_text().partition("SigIgn:")[2].split()[0]
        assert int(ignored, 16) & 1 << signal.SIGHUP - 1


def test_reports_its_state_to_systemd(start, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.settimeout(60)
        systemd.bind(str(tmp_path / "notify"))
        service = start(NOTIFY_SOCKET=str(tmp_path / "notify"))
        assert systemd.recv(100) == b"READY=1"
        assert service.end() == 0
        assert systemd.recv(100) == b"STOPPING=1"


def test_what_died_is_started_again(start) -> None:
    service = start()
    web, worker = service.web(), service.worker()
    os.kill(web, signal.SIGKILL)
    assert service.web() != web
    os.kill(worker, signal.SIGKILL)
    assert service.worker(other_than=worker) != worker
    assert service.end() == 0


def test_a_killed_parent_takes_its_children_along(start) -> None:
    first = start()
    children = [os.pidfd_open(first.web()), os.pidfd_open(first.worker())]
    first.process.kill()
    first.process.wait()
    second = start()  # at once: it waits for the port
    for child in children:
        await_end(child)
    assert second.web()
    assert (first.data / "worker.stopped").exists()


def test_orphans_are_reaped_and_children_are_still_watched() -> None:
    """As process 1 of a container. A subreaper adopts orphans in the same way, and needs no privileges."""
    adopt = "import ctypes; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n"  # PR_SET_CHILD_SUBREAPER
    with parent_of("sh", "-c", "sh -c 'sleep 0.01 >&2 & echo $!'; exit 7", first=adopt) as process:
        for orphan in (process.stdout.readline().decode().strip() for _ in range(3)):
            assert b"code=7" in process.stderr.readline()
            until(lambda pid=orphan: not Path("/proc", pid).exists())  # a zombie would stay
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_the_health_check_asks_where_the_parent_listens(start, monkeypatch: pytest.MonkeyPatch) -> None:
    service = start()
    service.web()
    monkeypatch.setattr(os, "listdir", lambda _: ["self", "1", str(service.process.pid)])  # a container has no others
    assert healthcheck.main() is None
    service.end()
    assert healthcheck.main() == "waypost serve is not running"


def test_who_dies_at_once_is_started_again_ever_later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(parent, "time", SimpleNamespace(monotonic=lambda: now))
    child, waits = Child("web-1", ["false"], ()), []
    for uptime in (0.1, 0.1, 0.1, 0.1, 60, 0.1):
        child.start()
        child.process.wait()
        now += uptime
        assert child.reap() == 1
        waits.append(round(child.due - now, 3))
        now = child.due
    assert waits == [0.0, 0.2, 0.5, 1.0, 0.0, 0.0]


def test_who_cannot_even_begin_is_started_again(start) -> None:
    service = start("no_such_app")
    reported = (line for line in service.lines() if "child=web-1" in line)
    assert all("process died, restarting" in line and "code=1" in line for line in (next(reported), next(reported)))
    assert service.end() == 0


def test_wrong_settings_end_it(start) -> None:
    service = start(WAYPOST_BASE_ULR="http://localhost")
    assert service.process.wait(60) == 2
    assert any("Did you mean WAYPOST_BASE_URL?" in line for line in service.lines())


def test_it_stays_small_and_its_worker_steps_aside(start) -> None:
    service = start()
    service.web()
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    assert int(status.partition("VmRSS:")[2].split()[0]) < 30_000  # kB
    service.worker()
    own = os.nice(0)
    assert int((service.data / "worker").read_text().split()[1]) == min(19, own + 5)


def test_a_stubborn_child_is_killed() -> None:
    script = (
        "import sys; from waypost.worker import parent; parent.KILL_TIMEOUT = 0.2\n"
        "deaf = 'import signal; signal.signal(15, 1); print(1, flush=True); signal.pause()'\n"
        "sys.exit(parent.Parent([parent.Child('deaf', [sys.executable, '-c', deaf], ())]).run())"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        process.terminate()
        assert b"killing it" in process.communicate(timeout=60)[1]
    assert process.returncode == 1


def test_a_child_that_ends_itself_at_last_is_told(tmp_path: Path) -> None:
    hanging = (
        "import signal; signal.signal(15, lambda *_: signal.raise_signal(14)); print(1, flush=True); signal.pause()"
    )
    with parent_of(sys.executable, "-c", hanging) as process:
        process.stdout.readline()
        process.terminate()
        assert b"ended itself" in process.communicate(timeout=60)[1]
    assert process.returncode == 1


def test_what_cannot_be_started_is_tried_again(tmp_path: Path) -> None:
    """A program that is not there yet stands for a machine that has no memory for another process."""
    program = tmp_path / "program"
    with parent_of(str(program)) as process:
        for _ in range(3):
            assert b"process not started" in process.stderr.readline()
        draft = tmp_path / "draft"
        draft.write_text("#!/bin/sh\necho started\nexec sleep 60\n")
        draft.chmod(0o700)
        draft.rename(program)
        assert process.stdout.readline() == b"started\n"
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_a_log_that_cannot_be_written_stops_nothing() -> None:
    with Path("/dev/full").open("wb") as full, parent_of("sh", "-c", "echo; exit 7", stderr=full) as process:
        for _ in range(3):
            assert process.stdout.readline() == b"\n"
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 0


def parent_of(*command: str, stderr: int | IO[bytes] = subprocess.PIPE, first: str = "") -> subprocess.Popen[bytes]:
    script = first + (
        "import sys; from waypost.worker.parent import Child, Parent\n"
        "sys.exit(Parent([Child('child', sys.argv[1:], ())]).run())"
    )
    return subprocess.Popen([sys.executable, "-c", script, *command], stdout=subprocess.PIPE, stderr=stderr)


def test_a_port_in_use_is_named(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parent, "PORT_TIMEOUT", 0)
    with listen("127.0.0.1", port), pytest.raises(CannotListen, match=f"Port {port} on 127.0.0.1 is in use"):
        listen("127.0.0.1", port)


def test_a_host_that_is_not_ours_is_named() -> None:
    with pytest.raises(CannotListen, match=r"192\.0\.2\.1"):
        listen("192.0.2.1", 8000)
