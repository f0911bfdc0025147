"""Logging to stderr, one `key=value` line per event, without secrets.

A line that cannot be written is dropped: a full disk must not stop the service.
"""

import io
import logging
import os
import re
import sys
from typing import Any

import structlog
from structlog.typing import EventDict, Processor

_SECRET_NAME = re.compile(r"secret|password|token|authorization|cookie|api_key", re.IGNORECASE)
_SECRET_TEXT = re.compile(r"(wp_live_|whsec_|Bearer )[\w+/-]+|(\[parameters: ).*|(?<=://)([^/@\s:]*:)[^/@\s]+(?=@)")
"""Keys, values of failed SQL statements, and passwords in URLs. The group before the secret is kept."""


def configure() -> None:
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        without_secrets,
    ]
    line = structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"], bool_as_flag=False)
    stderr = _stderr()
    structlog.configure(
        processors=[*shared, line],
        logger_factory=structlog.WriteLoggerFactory(stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stderr)  # for libraries that use the standard library's logging
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, line]
        )
    )
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)


class _Lossy(io.FileIO):
    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _stderr() -> io.TextIOWrapper:
    """Unbuffered: a buffer that cannot be flushed at exit would change the exit code."""
    fd = sys.stderr.fileno() if sys.stderr else os.open(os.devnull, os.O_WRONLY)  # None if closed at the start
    return io.TextIOWrapper(_Lossy(fd, "wb", closefd=False), "utf-8", "backslashreplace", write_through=True)


def without_secrets(_logger: Any, _method: str, event: EventDict) -> EventDict:
    return {name: "…" if _SECRET_NAME.search(name) else _redacted(value) for name, value in event.items()}


def _redacted(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return _SECRET_TEXT.sub(lambda found: f"{found[1] or found[2] or found[3]}…", value)
