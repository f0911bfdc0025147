"""The states of an import, and the transitions between them, for a command and for the worker's turns alike.

A command only has `running`, `stopped` and `done`: it needs no plan that is confirmed. `store.switch` makes one.
"""

from typing import Literal, NamedTuple

State = Literal["uploading", "planning", "plan_stopped", "planned", "running", "stopped", "done", "given_up"]
"""`running`: a process has the lease, or is to continue it. `stopped`: see `message`."""

ACTIVE: tuple[State, ...] = ("planning", "running")
"""If it has a page, a job of the worker exists."""
BEGUN: tuple[State, ...] = ("running", "stopped")
"""It can be continued where it is."""
ENDED: tuple[State, ...] = ("done", "given_up")
"""Token and file are deleted."""
PLAN_ONLY: tuple[State, ...] = ("uploading", "planning", "plan_stopped", "planned")


class Transition(NamedTuple):
    before: tuple[State, ...]
    after: State


UPLOADED = Transition(("uploading",), "planning")
PLAN_AGAIN = Transition(("plan_stopped", "planned"), "planning")
KEEP_PLAN = Transition(("planned",), "planned")
START = Transition(("planning", "plan_stopped", "planned"), "running")
"""The plan may be skipped: sources with a small quota are then read only once."""
RESUME_PLAN = Transition(("plan_stopped",), "planning")
RESUME = Transition(("stopped",), "running")
CONTINUE = Transition(BEGUN, "running")
"""By the process that takes the lease."""
STOP_PLAN = Transition(("planning",), "plan_stopped")
STOP = Transition(("running",), "stopped")
FINISH = Transition(("running",), "done")
GIVE_UP = Transition((*PLAN_ONLY, *BEGUN), "given_up")


def stop_of(state: State) -> Transition:
    return STOP_PLAN if state == "planning" else STOP
