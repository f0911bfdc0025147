"""The parent process of `waypost serve`: binds the port, starts the processes, restarts them and stops them.

It binds once for all web processes, so that a restart refuses no request.

It uses the standard library only: it stays in memory beside the others, and no error in our code may end it.
"""

import contextlib
import errno
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

GRACE = 15.0  # seconds the children get to end; more than the 12 they give to work in progress
LAST_CALL = 14  # seconds after which a child that hangs ends itself: without this process nothing kills it
WRONG_USAGE = 2
_SHORT_LIFE = 2.0  # seconds; a child that lives shorter twice in a row waits before its next start
_WAITS = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0)
_NICE = ("nice", "-n", "5")  # on the same core, redirects and the start of web processes go first
PATIENCE = 5.0  # seconds: children of a killed parent release the port within this time
_BACKLOG = 2048
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass
class Child:
    name: str
    command: Sequence[str]
    pass_fds: tuple[int, ...]
    is_restarted: bool = True
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    due: float = field(default_factory=time.monotonic)
    deaths: int = 0
    """How often in a row it died soon after its start."""

    def start(self) -> None:
        """Raises OSError when the machine has no memory for another process."""
        self.started = time.monotonic()
        self.process = subprocess.Popen(self.command, pass_fds=self.pass_fds)  # noqa: S603  # built by child_command

    def ended(self) -> int | None:
        """The exit code of a process that has ended since the last call."""
        code = self.process.poll() if self.process else None
        if code is not None:
            self.process = None
            self.wait()
        return code

    def wait(self) -> None:
        """Schedule the next start: the more often it died, the later."""
        lived = time.monotonic() - self.started
        self.deaths = self.deaths + 1 if lived < _SHORT_LIFE else 0
        self.due = time.monotonic() + _WAITS[min(max(0, self.deaths - 1), len(_WAITS) - 1)]


class Parent:
    def __init__(self, children: Sequence[Child]) -> None:
        self._children = list(children)
        self._ending = False
        self._code = 0
        self._signals, self._wake = os.pipe()

    def run(self) -> int:
        """Run until a signal to stop. Returns the exit code."""
        self._listen_to_signals()
        while not self._ending:
            self._start_due()
            self._wait(self._until_next_start())
            self._reap()
        self._stop()
        return self._code

    def _listen_to_signals(self) -> None:
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake)
        for number in (*_ENDING, signal.SIGCHLD):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # under nohup it is ignored
                signal.signal(number, lambda *_: None)  # the number arrives through the pipe

    def _start_due(self) -> None:
        for child in self._children:
            if child.process is None and child.due <= time.monotonic():
                self._start(child)

    def _start(self, child: Child) -> None:
        try:
            child.start()
        except OSError as error:  # too little memory, or too many processes: that passes
            child.wait()
            log("error", "process not started, trying again", child=child.name, error=f'"{error}"')

    def _until_next_start(self) -> float | None:
        due = [child.due for child in self._children if child.process is None]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _wait(self, seconds: float | None) -> None:
        """Wait for a signal; the death of a child is one too."""
        if select.select([self._signals], [], [], seconds)[0]:
            received = os.read(self._signals, 512)
            self._ending = self._ending or any(number in received for number in _ENDING)

    def _reap(self) -> None:
        for child in list(self._children):
            code = child.ended()
            if code is None or self._ending:
                continue
            if not child.is_restarted:
                self._children.remove(child)
            elif code == WRONG_USAGE:  # it has printed what is wrong, and the next one would do the same
                self._ending, self._code = True, code
            else:
                wait = max(0.0, child.due - time.monotonic())
                log("warning", "process died, starting it again", child=child.name, code=code, wait=f"{wait:.1f}s")

    def _stop(self) -> None:
        for process in self._alive():
            process.terminate()
        give_up = time.monotonic() + GRACE
        while self._alive() and (left := give_up - time.monotonic()) > 0:
            self._wait(left)
        for process in self._alive():
            log("error", "process did not end in time, killing it", pid=process.pid)
            process.kill()
            self._code = 1
        if any(child.process and child.process.returncode == -signal.SIGALRM for child in self._children):
            log("error", "process did not end in time and ended itself")
            self._code = 1

    def _alive(self) -> list[subprocess.Popen[bytes]]:
        running = [child.process for child in self._children if child.process]
        return [process for process in running if process.poll() is None]


class CannotListen(Exception):
    """The message is for the operator."""


def listen(host: str, port: int, *, option: str = "--port") -> socket.socket:
    """`option`: the command-line option for the port, named in errors. Raises CannotListen."""
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            return _bind(host, port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and time.monotonic() < give_up:
                time.sleep(0.1)
                continue
            raise CannotListen(_explain(error, host, port, option)) from None


def _bind(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(_BACKLOG)
    except OSError:
        bound.close()
        raise
    return bound


def _explain(error: OSError, host: str, port: int, option: str) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is in use by another program. Stop it, or choose another port with {option}."
    if error.errno == errno.EACCES:
        return f"Port {port} needs privileges that this user does not have. Choose a port above 1023 with {option}."
    return f"Cannot listen on {host} port {port}: {error.strerror}."


def serve(host: str, port: int, *, tls_port: int, workers: int, role: str, app: str, welcome: bool) -> int:
    """Run the processes of `role` until SIGTERM; `tls_port` 0 is none. Returns the exit code."""
    lifeline, _keep = os.pipe()  # never written to: its end of file shows the children that this process has exited
    common = ["--lifeline", str(lifeline), "--app", app, "--role", role, "--port", str(port), "--host", host]
    try:
        bound = [listen(host, port), *([listen(host, tls_port, option="--tls-port")] if tls_port else [])]
    except CannotListen as error:
        say(str(error))
        return 1
    fds = tuple(each.fileno() for each in bound)
    given = [text for pair in zip(("--socket", "--tls-socket"), map(str, fds), strict=False) for text in pair]
    children = []
    if role != "worker":
        web = child_command("web", *given, *common)
        children += [Child(f"web-{n}", web, (*fds, lifeline)) for n in range(1, workers + 1)]
    if role == "worker":  # no web process answers health checks for it
        worker = child_command("worker", *given, *common)
        children.append(Child("worker", [*_NICE, *worker], (*fds, lifeline)))
    if role == "all":
        children.append(Child("worker", [*_NICE, *child_command("worker", *common)], (lifeline,)))
    if welcome:
        welcoming = [*_NICE, *child_command("welcome", *common)]
        children.append(Child("welcome", welcoming, (lifeline,), is_restarted=False))
    log("info", "serving", host=host, port=port, role=role, processes=len(children), pid=os.getpid())
    return Parent(children).run()


def child_command(kind: str, *arguments: str) -> list[str]:
    # -P: a file in the working directory must not stand in for a module of the same name
    return [sys.executable, "-P", "-m", "waypost.child", kind, *arguments]


def parent_command(
    host: str, port: int, *, workers: int, role: str, app: str, welcome: bool, tls_port: int = 0
) -> list[str]:
    """What `waypost serve` replaces itself with, so that its imports do not stay in memory."""
    options = [host, str(port), str(tls_port), str(workers), role, app, "welcome" if welcome else "quiet"]
    return [sys.executable, "-P", "-m", "waypost.worker.parent", *options]


def log(level: str, event: str, **fields: object) -> None:
    """The line that structlog would write, without loading it."""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    rest = "".join(f" {name}={value}" for name, value in fields.items())
    say(f'timestamp={at} level={level} event="{event}" process=parent{rest}')


def say(line: str) -> None:
    """Write to stderr without its buffer: what cannot be written is lost, and the exit code stays right."""
    if sys.stderr:  # None when it was closed at the start
        with contextlib.suppress(OSError):
            os.write(sys.stderr.fileno(), f"{line}\n".encode())


if __name__ == "__main__":
    _host, _port, _tls, _workers, _role, _app, _welcome = sys.argv[1:]
    _ports = {"port": int(_port), "tls_port": int(_tls)}
    sys.exit(serve(_host, **_ports, workers=int(_workers), role=_role, app=_app, welcome=_welcome == "welcome"))
