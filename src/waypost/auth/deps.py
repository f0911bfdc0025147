"""Dependencies of signing up and in, set once by the composition root."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from waypost.auth.model import PlanChoice
from waypost.database import Database
from waypost.kit.clock import Clock

Signup = Literal["open", "invite", "closed"]


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    base_url: str
    signup: Signup
    new_plan: PlanChoice
    trial_days: int
    sends_mail: bool
    """Whether mail gets further than the log. If not, nobody can confirm an address, and nobody needs to."""
    address_keys: Sequence[bytes]
    """What the addresses that accounts have left are kept under: the first writes, all find."""
    clock: Clock
