"""A process that is stopped (SIGSTOP) where it holds a lock."""

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess

_FORK = multiprocessing.get_context("fork")


def stop() -> None:
    """Stop this process."""
    os.kill(os.getpid(), signal.SIGSTOP)


@contextlib.contextmanager
def stopped(run: Callable[[], object]) -> Iterator[BaseProcess]:
    """Run it in a process of its own until it calls `stop`. Afterwards, the process is killed if it has not ended."""
    process = _FORK.Process(target=run)
    process.start()
    assert process.pid
    try:
        assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
        yield process
    finally:
        process.kill()
        process.join()


def resume(process: BaseProcess) -> None:
    """Continue the process, and wait for its end."""
    assert process.pid
    os.kill(process.pid, signal.SIGCONT)
    process.join()
