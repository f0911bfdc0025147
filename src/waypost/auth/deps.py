"""Dependencies of sign-up and sign-in, set once by the composition root."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from waypost.auth.model import PlanChoice
from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.secret_key import derived_keys
from waypost.settings import Settings

Signup = Literal["open", "invite", "closed"]


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    base_url: str
    signup: Signup
    new_plan: PlanChoice
    trial_days: int
    sends_mail: bool
    """False: emails stay on this machine, so nobody can or has to confirm an email."""
    address_keys: Sequence[bytes]
    """For digests of past emails: written with the first, searched with all."""
    clock: Clock


def new_deps(settings: Settings, db: Database, clock: Clock) -> Deps:
    return Deps(
        db=db,
        base_url=settings.base_url,
        signup=settings.signup,
        new_plan=settings.default_plan,
        trial_days=settings.trial_days,
        sends_mail=bool(settings.smtp_url and settings.smtp_url.get_secret_value()),
        address_keys=derived_keys(settings, "addresses"),
        clock=clock,
    )
