"""What a failed command says and how it exits. A traceback goes into a log line, never bare onto a terminal."""

import sys

import structlog

from waypost import logs
from waypost.kit.errors import Invalid, WaypostError
from waypost.settings import SettingsError

FAILED, WRONG_USAGE = 1, 2


def tell(error: Exception) -> int:
    """Says what went wrong and returns the exit code."""
    if isinstance(error, SettingsError | WaypostError):
        sys.stderr.write(f"{_words(error)}\n")
        return WRONG_USAGE if isinstance(error, SettingsError) else FAILED
    logs.configure()
    structlog.get_logger().critical("unexpected error", error=str(error), exc_info=error)
    return FAILED


def _words(error: SettingsError | WaypostError) -> str:
    if isinstance(error, Invalid):
        return "\n".join(f"{name}: {' '.join(texts)}" for name, texts in error.errors.items())
    return str(error)
