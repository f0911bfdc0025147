"""The parent process of `waypost serve`: binds the port, starts the processes, restarts them and stops them.

It binds once for all web processes, so that a restart refuses no request.

It uses the standard library only: it stays in memory beside the others, and no error in our code may end it.
"""

import contextlib
import errno
import fcntl
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence

KILL_TIMEOUT = 15.0  # seconds until children are killed; more than the 12 that they give to work in progress
HARD_EXIT_TIMEOUT = 14  # seconds until a hanging child ends itself: if the parent has died, nothing else kills it
EXIT_USAGE = 2
_MIN_UPTIME = 2.0  # seconds; after two shorter runs in a row, a child waits before its next start
_RESTART_DELAYS = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0)
PORT_TIMEOUT = 5.0  # seconds to wait for the port: children of a killed parent release it within this time
_BACKLOG = 2048
_CAPABILITY = "AmbientCapabilities=CAP_NET_BIND_SERVICE"
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Child:
    """A process. Not a data class: that would load 2 MB of modules."""

    def __init__(self, name: str, command: Sequence[str], pass_fds: tuple[int, ...]) -> None:
        self.name = name
        self.command = command
        self.pass_fds = pass_fds
        self.process: subprocess.Popen[bytes] | None = None
        self.started = 0.0
        self.due = time.monotonic()
        self.early_exits = 0
        """Number of runs in a row that ended soon after their start."""

    def start(self) -> None:
        """Start the process. Raises OSError when the machine has no memory for it."""
        self.started = time.monotonic()
        self.process = subprocess.Popen(self.command, pass_fds=self.pass_fds)  # noqa: S603  # built by child_command

    def reap(self) -> int | None:
        """Return the exit code if the process has ended since the last call, and schedule its restart."""
        code = self.process.poll() if self.process else None
        if code is not None:
            self.process = None
            self.schedule_restart()
        return code

    def schedule_restart(self) -> None:
        """Schedule the next start: the more early exits, the later."""
        uptime = time.monotonic() - self.started
        self.early_exits = self.early_exits + 1 if uptime < _MIN_UPTIME else 0
        self.due = time.monotonic() + _RESTART_DELAYS[min(max(0, self.early_exits - 1), len(_RESTART_DELAYS) - 1)]


class Parent:
    def __init__(self, children: Sequence[Child]) -> None:
        self._children = list(children)
        self._is_stopping = False
        self._code = 0
        self._signals, self._wakeup = os.pipe()

    def run(self) -> int:
        """Run until a signal to stop. Returns the exit code."""
        self._listen_to_signals()
        notify_systemd("READY=1")  # connections wait until a web process accepts them
        while not self._is_stopping:
            self._start_due()
            self._wait(self._until_next_start())
            self._reap()
            self._reap_orphans()
        self._stop()
        log("info", "processes stopped", code=self._code)
        return self._code

    def _listen_to_signals(self) -> None:
        os.set_blocking(self._wakeup, False)
        signal.set_wakeup_fd(self._wakeup)
        for number in (*_STOP_SIGNALS, signal.SIGCHLD):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # under nohup it is ignored
                signal.signal(number, lambda *_: None)  # the number arrives through the pipe
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)  # `waypost serve` blocks them as process 1

    def _start_due(self) -> None:
        for child in self._children:
            if child.process is None and child.due <= time.monotonic():
                self._start(child)

    def _start(self, child: Child) -> None:
        try:
            child.start()
        except OSError as error:  # too little memory, or too many processes: a temporary condition
            child.schedule_restart()
            log("error", "process not started, retrying", child=child.name, error=f'"{error.strerror}"')

    def _until_next_start(self) -> float | None:
        due = [child.due for child in self._children if child.process is None]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _wait(self, seconds: float | None) -> None:
        """Wait for a signal; the end of a child sends one, too."""
        if select.select([self._signals], [], [], seconds)[0]:
            received = os.read(self._signals, 512)
            self._is_stopping = self._is_stopping or any(number in received for number in _STOP_SIGNALS)

    def _reap(self) -> None:
        for child in self._children:
            code = child.reap()
            if code is None or self._is_stopping:
                continue
            if code == EXIT_USAGE:  # it has printed what is wrong, and the next one would do the same
                self._is_stopping, self._code = True, code
            else:
                wait = max(0.0, child.due - time.monotonic())
                log("warning", "process died, restarting", child=child.name, code=code, wait=f"{wait:.1f}s")

    def _reap_orphans(self) -> None:
        """Reap processes that others left behind: in a container, this process is their new parent."""
        own = {child.process.pid for child in self._children if child.process}
        with contextlib.suppress(ChildProcessError):  # none is left
            while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and ended.si_pid not in own:
                os.waitpid(ended.si_pid, 0)

    def _stop(self) -> None:
        notify_systemd("STOPPING=1")
        for process in self._running():
            process.terminate()
        deadline = time.monotonic() + KILL_TIMEOUT
        while self._running() and (left := deadline - time.monotonic()) > 0:
            self._wait(left)
        for process in self._running():
            log("error", "process did not end in time, killing it", pid=process.pid)
            process.kill()
            self._code = 1
        if any(child.process and child.process.returncode == -signal.SIGALRM for child in self._children):
            log("error", "process did not end in time and ended itself")
            self._code = 1

    def _running(self) -> list[subprocess.Popen[bytes]]:
        processes = [child.process for child in self._children if child.process]
        return [process for process in processes if process.poll() is None]


class CannotListen(Exception):
    """The port cannot be bound. The message is for the operator."""


def all_addresses() -> str:
    """Return the address that means all of this machine, of IPv6 and IPv4 if there is IPv6."""
    return "::" if socket.has_dualstack_ipv6() else "0.0.0.0"  # noqa: S104  # only with --tls


def listen(host: str, port: int, *, option: str = "--port") -> socket.socket:
    """Bind the port. `option`: the command-line option for it, named in errors. Raises CannotListen."""
    deadline = time.monotonic() + PORT_TIMEOUT
    while True:
        try:
            return _bind(host, port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and time.monotonic() < deadline:
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
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)  # `::` includes IPv4, whatever the system's
        bound.bind(address)
        bound.listen(_BACKLOG)
    except OSError:
        bound.close()
        raise
    return bound


def _explain(error: OSError, host: str, port: int, option: str) -> str:
    if error.errno == errno.EADDRINUSE:
        advice = f"Stop it, or choose another port with {option}. As root, this shows it: ss -ltnp 'sport = :{port}'"
        return f"Port {port} on {host} is in use by another program. {advice}"
    if error.errno == errno.EACCES:
        advice = f"Choose a port above 1023 with {option}, or allow it: in a systemd unit, {_CAPABILITY}"
        return f"Port {port} needs privileges that this user does not have. {advice}"
    return f"Cannot listen on {host} port {port}: {error.strerror}. Correct --host: 0.0.0.0 means all addresses."


def serve(
    host: str, port: int, *, tls_port: int, workers: int, role: str, app: str, welcome: bool, running: Sequence[str]
) -> int:
    """Run the processes of `role` until SIGTERM and return the exit code. `tls_port`: 0 for none.

    `running`: a file and its content, for commands. It is locked while this process lives. Empty for none.
    """
    parent_pipe, _keep = os.pipe()  # never written to: its end of file shows the children that this process has exited
    common = ["--parent-pipe", str(parent_pipe), "--app", app, "--role", role]
    try:
        bound = [listen(host, port), *([listen(host, tls_port, option="--tls-port")] if tls_port else [])]
    except CannotListen as error:
        write_stderr(str(error))
        return 1
    if running:
        _hold(*running)
    fds = tuple(listener.fileno() for listener in bound)
    socket_options = [text for pair in zip(("--socket", "--tls-socket"), map(str, fds), strict=False) for text in pair]
    children = []
    if role != "worker":
        token = [_welcome_token()] if welcome else []
        welcome_option = [text for fd in token for text in ("--welcome", str(fd))]
        web = child_command("web", *socket_options, *welcome_option, *common)
        children += [Child(f"web-{n}", web, (*fds, *token, parent_pipe)) for n in range(1, workers + 1)]
    if role in {"all", "worker"}:  # without web processes it answers health checks itself
        sockets, held = (socket_options, fds) if role == "worker" else ([], ())
        children.append(Child("worker", child_command("worker", *sockets, *common), (*held, parent_pipe)))
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")  # otherwise threads of the children keep freed memory of their own
    log("info", "processes started", host=host, port=port, role=role, processes=len(children), pid=os.getpid())
    return Parent(children).run()


def _hold(path: str, text: str) -> None:
    """Replace the file by one that stays open and locked. Failing, it is logged: nothing that runs needs the file.

    The file of another service that runs stays.
    """
    draft = f"{path}.{os.getpid()}"  # without `private_files`, which would stay in memory
    try:
        with contextlib.suppress(FileNotFoundError), open(path) as held:  # noqa: PTH123  # as above
            fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    except OSError:
        pass
    try:
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(fd, text.encode())
        os.replace(draft, path)  # noqa: PTH105  # as above
    except OSError as error:
        log("warning", "commands cannot find the running service", error=f'"{error.strerror}"')


def notify_systemd(state: str) -> None:
    """Report to systemd, if it started this process as `Type=notify`."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.sendto(state.encode(), address.replace("@", "\0", 1) if address[0] == "@" else address)


def _welcome_token() -> int:
    """Return the read end of a pipe with one byte: the web process that reads it shows the message, once per start."""
    token, writer = os.pipe()
    os.write(writer, b"1")
    os.set_blocking(token, False)
    return token


def child_command(kind: str, *arguments: str) -> list[str]:
    # -P: a file in the working directory must not shadow a module
    return [sys.executable, "-P", "-m", "waypost.child", kind, *arguments]


def parent_command(
    host: str,
    port: int,
    *,
    workers: int,
    role: str,
    app: str,
    welcome: bool,
    tls_port: int = 0,
    running: Sequence[str] = (),
) -> list[str]:
    """Return the command by which `waypost serve` replaces itself, so that its imports do not stay in memory."""
    options = [host, str(port), str(tls_port), str(workers), role, app, "welcome" if welcome else "quiet"]
    return [sys.executable, "-P", "-m", "waypost.worker.parent", *options, *running]


def log(level: str, event: str, **fields: object) -> None:
    """Write the line that structlog would write, without loading it."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    at = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{nanoseconds // 1000:06}Z"
    rest = "".join(f" {name}={value}" for name, value in fields.items())
    write_stderr(f'timestamp={at} level={level} event="{event}" process=parent{rest}')


def write_stderr(line: str) -> None:
    """Write to stderr without its buffer. A failed write is ignored, so that the exit code stays right."""
    if sys.stderr:  # None when it was closed at the start
        with contextlib.suppress(OSError):
            os.write(sys.stderr.fileno(), f"{line}\n".encode())


if __name__ == "__main__":
    _host, _port, _tls, _workers, _role, _app, _welcome, *_running = sys.argv[1:]
    _ports = {"port": int(_port), "tls_port": int(_tls)}
    _greets = _welcome == "welcome"
    sys.exit(serve(_host, **_ports, workers=int(_workers), role=_role, app=_app, welcome=_greets, running=_running))
