"""What a failed command says and how it exits. A traceback goes into a log line, never bare onto a terminal."""

import sys

import structlog

from waypost import logs
from waypost.kit.errors import Conflict, Invalid, WaypostError
from waypost.settings import SettingsError

FAILED, WRONG_USAGE = 1, 2


def tell(error: Exception) -> int:
    """Says what went wrong and returns the exit code."""
    if isinstance(error, SettingsError | WaypostError):
        sys.stderr.write(f"{error if isinstance(error, SettingsError) else error.details}\n")
        is_wrong_usage = isinstance(error, SettingsError | Invalid) and not isinstance(error, Conflict)
        return WRONG_USAGE if is_wrong_usage else FAILED
    logs.configure()
    structlog.get_logger().critical("unexpected error", error=str(error), exc_info=error)
    return FAILED
