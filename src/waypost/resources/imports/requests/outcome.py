"""What comes after a turn of an import, as the process of the turn reports it to the worker."""

import json
from dataclasses import dataclass
from datetime import timedelta

from waypost.resources.imports.model import Import
from waypost.resources.imports.states import State, stop_of

BUSY = timedelta(seconds=1)
"""Until the next turn, if it had no place or gave it to another account."""
MAX_FAILURES = 10
"""Turns in a row in which nothing could be read: then the import stops."""
FAILED = "Something went wrong on our side. The administrator finds the reason in the log."


@dataclass(frozen=True, slots=True)
class Outcome:
    """`state`: of the import from now on. Its next turn comes after `delay` if it is still active."""

    state: State
    message: str | None = None
    delay: timedelta = timedelta(0)
    failures: int = 0

    def to_json(self) -> str:
        return json.dumps([self.state, self.message, self.delay.total_seconds(), self.failures])

    @staticmethod
    def from_json(text: bytes) -> "Outcome":
        state, message, seconds, failures = json.loads(text)
        return Outcome(state, message, timedelta(seconds=seconds), failures)


def pause(import_: Import, reason: str, seconds: float = 0.0) -> Outcome:
    """Return the outcome of a turn that has read nothing. Each such turn in a row doubles the pause."""
    if import_.failures + 1 >= MAX_FAILURES:
        stopped = f"{reason} Tried {MAX_FAILURES} times. Continue to try again."
        return Outcome(stop_of(import_.state).after, stopped)
    delay = timedelta(seconds=max(seconds, min(5.0 * 2**import_.failures, 900.0)))
    return Outcome(import_.state, f"Waiting: {reason}", delay, import_.failures + 1)
