"""Runs `waypost …` in a process forked from one that has loaded all modules, because loading takes seconds.

Effects, exit code and output are the same as from a shell. Loading differs, so each command also runs once by `alone`.
"""

import atexit
import functools
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

WAYPOST = Path(sys.executable).parent / "waypost"
_PATIENCE = 60  # seconds
_LARGE = 1 << 17


def run(arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: str = "") -> Any:
    """As `subprocess.run` returns it; streams are read when the command is over."""
    files = [os.memfd_create(name) for name in ("stdin", "stdout", "stderr")]
    try:
        os.pwrite(files[0], stdin.encode(), 0)
        code = _ask({"arguments": list(arguments), "cwd": str(cwd), "env": dict(env)}, files)
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


def _ask(request: dict[str, Any], files: Sequence[int]) -> int:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        socket.send_fds(_loaded(), [json.dumps(request).encode()], [*files, theirs.fileno()])
        theirs.close()
        ours.settimeout(_PATIENCE)
        return int(ours.recv(16))


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
    for name in ("waypost.cli", "waypost.web_app", "waypost.worker_wiring", "waypost.database.migrations"):
        importlib.import_module(name)
    for each in pkgutil.iter_modules(commands.__path__, "waypost.commands."):
        importlib.import_module(each.name)
    gc.freeze()


def _attend(request: dict[str, Any], files: list[int]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    command = os.fork()
    if command:
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
    sys.argv = [str(WAYPOST), *request["arguments"]]


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
    importlib.import_module("waypost.cli").main()
