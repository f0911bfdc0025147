"""A command of Waypost, measured from its start to its end.

Memory is what it has allocated at its peak, without the pages of the database that it maps.
"""

import re
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bench.report import Failed
from bench.servers import ALL_CORES, WAYPOST, clean_environment

_INTERVAL = 0.05  # seconds


class Finished(NamedTuple):
    seconds: float
    mb: float
    output: str


class Command:
    def __init__(self, *arguments: str, environment: Mapping[str, str], cores: str = ALL_CORES) -> None:
        self._began = time.monotonic()
        self._process = subprocess.Popen(
            ["taskset", "-c", cores, WAYPOST, *arguments],
            env={**clean_environment(), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._peak = 0.0
        self._watching = threading.Thread(target=self._watch)
        self._watching.start()

    def finish(self) -> Finished:
        """Raises Failed."""
        output, errors = self._process.communicate()
        seconds = time.monotonic() - self._began
        self._watching.join()
        if self._process.returncode:
            raise Failed((output + errors)[-1_000:])
        return Finished(seconds, self._peak, output)

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._watching.join()

    def _watch(self) -> None:
        status = Path(f"/proc/{self._process.pid}/status")
        while self._process.poll() is None:
            try:
                found = re.search(r"RssAnon:\s+(\d+) kB", status.read_text())
            except OSError:
                return
            self._peak = max(self._peak, int(found[1]) / 1_000 if found else 0)
            time.sleep(_INTERVAL)
