"""Dependencies of sign-up and sign-in."""

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
    """False: emails are written to a file or the log, and users do not confirm their email."""
    email_digest_keys: Sequence[bytes]
    """The first key makes new digests; all of them are used to search."""
    clock: Clock
    has_passwords: bool = True
    """Whether people can sign in with passwords and passkeys, and sign up."""


def new_deps(settings: Settings, db: Database, clock: Clock) -> Deps:
    return Deps(
        db=db,
        base_url=settings.base_url,
        signup=settings.signup if settings.password_sign_in else "closed",
        new_plan=settings.default_plan,
        trial_days=settings.trial_days,
        sends_mail=bool(settings.smtp_url and settings.smtp_url.get_secret_value()),
        email_digest_keys=derived_keys(settings, "addresses"),
        clock=clock,
        has_passwords=settings.password_sign_in,
    )
