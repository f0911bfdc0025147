"""What comes after a turn of an import, as the process of the turn reports it to the worker."""

import json
from dataclasses import dataclass
from datetime import timedelta

from waypost.resources.imports.states import State

BUSY = timedelta(seconds=1)
"""Until the next turn, if it had no place or gave it to another account."""


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
