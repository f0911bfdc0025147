"""Runs `waypost …` in a process forked from one that has loaded all modules, because loading takes seconds.

Effects, exit code and output are the same as from a shell. Loading differs, so each command also runs once by `alone`.
The processes of `waypost serve` are forked as well, where they would be started; what else a process inherits is that
of the loaded one, such as its umask.
"""

import atexit
import functools
import gc
import importlib
import itertools
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

WAYPOST = Path(sys.executable).parent / "waypost"
APP = "TEST_APP"
"""The environment variable that names a module to serve in place of `waypost.app`."""

_PATIENCE = 240  # seconds
_LARGE = 1 << 17


def run(
    arguments: Sequence[str],
    *,
    cwd: Path = Path(),
    env: Mapping[str, str] = os.environ,
    stdin: str = "",
    program: Path = WAYPOST,
) -> Any:
    """As `subprocess.run` returns it; streams are read when the command is over. `program` is one in Python."""
    files = [os.memfd_create(name) for name in ("stdin", "stdout", "stderr")]
    try:
        os.pwrite(files[0], stdin.encode(), 0)
        with _begin([str(program), *arguments], cwd, env, files) as notes:
            notes.settimeout(_PATIENCE)
            notes.recv(16)
            code = int(notes.recv(16))
        texts = [os.pread(each, os.fstat(each).st_size, 0).decode() for each in files[1:]]
    finally:
        for each in files:
            os.close(each)
    return subprocess.CompletedProcess(arguments, code, *texts)


def alone(arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: str = "") -> Any:
    """The installed program, which loads what it needs by itself."""
    command = [str(WAYPOST), *arguments]
    return subprocess.run(
        command, cwd=cwd, env=env, input=stdin, capture_output=True, text=True, check=False, timeout=_PATIENCE
    )


class Serving:
    """A command, with what tests use of `subprocess.Popen`. Its processes write to `stdout`."""

    def __init__(self, arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], program: Path = WAYPOST) -> None:
        nothing = os.open(os.devnull, os.O_RDONLY)
        read, write = os.pipe()
        try:
            self._notes = _begin([str(program), *arguments], cwd, env, [nothing, write, write])
        finally:
            os.close(nothing)
            os.close(write)
        self.stdout = os.fdopen(read)
        self.pid = int(self._notes.recv(16))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._notes], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._notes.settimeout(timeout)
            self.returncode = int(self._notes.recv(16))
            self._notes.close()
        return self.returncode

    def terminate(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)


def _begin(command: Sequence[str], cwd: Path, env: Mapping[str, str], files: Sequence[int]) -> socket.socket:
    """Start a command. What is returned receives its process id, and when it has ended, its exit code."""
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    request = {"command": list(command), "cwd": str(cwd.absolute()), "env": dict(env)}
    with theirs:
        socket.send_fds(_loaded(), [json.dumps(request).encode()], [*files, theirs.fileno()])
    return ours


@functools.cache
def _loaded() -> socket.socket:
    """The way to the process that has loaded everything; it ends when nobody holds this any more."""
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    process = subprocess.Popen([sys.executable, "-P", __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()])
    theirs.close()
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def _serve(asked: socket.socket) -> None:
    """Returns in the process of a command."""
    _load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # of those who attend nobody wants to know how they ended
    while True:
        text, files, _, _ = socket.recv_fds(asked, _LARGE, 4)
        if not text:
            os._exit(0)
        if not os.fork():
            asked.close()
            return _attend(json.loads(text), files)
        for each in files:
            os.close(each)


def _load() -> None:
    commands = importlib.import_module("waypost.commands")
    for name in ("cli", "web_app", "web_process", "worker_process", "database.migrations"):
        importlib.import_module(f"waypost.{name}")
    importlib.import_module("waypost.packages").load_tables()  # loads all packages
    for each in pkgutil.iter_modules(commands.__path__, "waypost.commands."):
        importlib.import_module(each.name)
    importlib.import_module("waypost.resources.clicks.intake.bots").detect_bot(b"")  # compiles its patterns
    gc.freeze()


def _attend(request: dict[str, Any], files: list[int]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    command = os.fork()
    if command:
        os.write(files[3], str(command).encode())
        for each in files[:3]:
            os.close(each)
        code = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
        os.write(files[3], str(code).encode())
        os._exit(0)
    for number, each in enumerate(files[:3]):
        os.dup2(each, number)
    for each in files:
        os.close(each)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ |= request["env"]
    sys.path += filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    sys.argv = request["command"]
    if sys.argv[:2] == [str(WAYPOST), "serve"]:
        os.execv = _become_parent
        subprocess.Popen = _Child  # type: ignore[misc]


def _become_parent(_program: str, command: Sequence[str]) -> NoReturn:
    """As `execv` does with `parent_command`."""
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    app = os.environ.get(APP, "waypost.app")
    _, _, _, module, *sys.argv[1:] = [app if each == "waypost.app" else each for each in command]
    sys.path.append(str(Path(__file__).parent))
    _end_with(lambda: runpy.run_module(module, run_name="__main__"))


class _Child(subprocess.Popen[bytes]):
    """A process of `child_command`."""

    def _execute_child(
        self, command: Sequence[str], _program: Any, _first: Any, _close: Any, fds: Any, *_: Any
    ) -> None:
        self.pid = os.fork()
        if not self.pid:
            _end_with(lambda: _be_child(command, fds))
        self._child_created = True


_Started = subprocess.Popen


def _be_child(command: Sequence[str], fds: Sequence[int]) -> NoReturn:
    subprocess.Popen = _Started  # type: ignore[misc]
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    limits = [2, *sorted(fds), os.sysconf("SC_OPEN_MAX")]
    for before, after in itertools.pairwise(limits):
        os.closerange(before + 1, after)
    _, *arguments = command[list(command).index("-m") :][1:]
    sys.argv[1:] = arguments
    Path("/proc/self/comm").write_text(arguments[0])  # for who looks for processes of a kind
    sys.exit(importlib.import_module("waypost.child").main())


def _end_with(last: Callable[[], object]) -> NoReturn:
    """The process ends with the exit code of `last`, without what the process that it was forked from does then.

    To free all that was loaded would take 0.1 s.
    """
    code: Any = 0
    try:
        last()
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
    _end_with(functools.partial(runpy.run_path, sys.argv[0], run_name="__main__"))
