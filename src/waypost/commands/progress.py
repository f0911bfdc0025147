"""A progress bar on stderr while a command works, for those who sit in front of it; nothing for scripts and logs."""

import contextlib
import sys
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Told = Callable[[int, int], None]
"""Takes how much is done, and how much there is."""


@contextlib.contextmanager
def progress(label: str) -> Iterator[Told | None]:
    """Gives None when nobody would see it, so that nothing is counted in vain."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
