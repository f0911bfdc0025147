"""Under which URLs the service of a data directory runs, for commands that are called beside it.

The parent process of `waypost serve` holds a lock on the file, which the kernel releases however that process ends. A
file without a lock was left behind by an earlier service and says nothing.
"""

import fcntl
from pathlib import Path

from waypost.settings.model import Settings

_NAMES = "base_url", "shared_domain"


def running_file(data_dir: Path) -> Path:
    return data_dir / "run" / "service"


def running_text(settings: Settings) -> str:
    """Return the content of the file."""
    return "".join(f"{getattr(settings, name)}\n" for name in _NAMES)


def find_running(data_dir: Path) -> dict[str, str]:
    """Return the settings of the service that runs now; none if that is unknown."""
    try:
        with running_file(data_dir).open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return dict(zip(_NAMES, file.read().split(), strict=False))
    except OSError:  # there is no file, or another user's
        pass
    return {}
